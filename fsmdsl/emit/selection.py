"""Which transition an event leads to: `if` chains over the state and the guards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from fsmdsl import model as m
from fsmdsl.emit.expressions import python
from fsmdsl.emit.names import snake
from fsmdsl.emit.place import Place
from fsmdsl.emit.rows import Level, comes_before, levels, recurring, rivals
from fsmdsl.emit.text import indented, literal, outermost_text
from fsmdsl.emit.traits import may_fail

IGNORED = ["pass  # ignored"]

Code = tuple[str, ...]
"""Statements, as the key of the states that share them."""

Follow = Callable[[Place, str, m.Transition], list[str]]
"""The statements that follow a transition from a leaf."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """What transitions are looked for, and how the code goes on."""

    name: str
    place: Place
    parameters: Sequence[str]
    """What an event's parameters are called in the code."""
    follow: Follow
    otherwise: Sequence[str]
    """When none is enabled. Not reached where the state ignores the trigger."""

    def at(self, t: m.Transition) -> Place:
        """Where guard and effects of a transition stand."""
        match t.trigger:
            case m.OnEvent(arguments=names):
                bound = {**self.place.locals, **dict(zip(names, self.parameters, strict=False))}
                return Place(self.place.file, self.place.machine, locals=bound)
            case _:
                return self.place


def dispatch(trigger: Trigger, passed: Mapping[str, Sequence[str]] | None = None, fast: bool = False) -> list[str]:
    """The whole choice: by state, then by guard. States with the same code share it.

    `passed` says what states do in which no transition is enabled, where it is not what `otherwise` says. `fast`: the
    likely states come first, and tests are written as comparisons.
    """
    machine = trigger.place.machine
    assert machine is not None
    groups: dict[Code, list[str]] = {}
    for leaf in machine.leaves:
        last = (passed or {}).get(leaf.name, trigger.otherwise)
        code = chosen(trigger, leaf.name, levels(machine, leaf.name, trigger.name), last)
        if code != list(trigger.otherwise):
            groups.setdefault(tuple(code), []).append(leaf.name)
    if not fast and len(groups) == 1 and len(next(iter(groups.values()))) == len(machine.leaves):
        return list(next(iter(groups)))
    ordered = _likely_first(machine, groups) if fast else list(groups.items())
    complete = sum(map(len, groups.values())) == len(machine.leaves)
    parts = [_part(trigger, code, leaves, fast) for code, leaves in ordered]
    guarded = any(guard for _, guard, _ in parts)
    lines: list[str] = []
    for n, (test, guard, inner) in enumerate(parts):
        if n and complete and not guarded and n == len(parts) - 1:
            lines.append("else:")
        else:
            both = f"{bracketed(test)} and {bracketed(guard)}" if guard else test
            lines.append(f"{'elif' if lines else 'if'} {both}:")
        lines += indented(inner)
    if trigger.otherwise and (guarded or not complete):
        lines += ["else:", *indented(trigger.otherwise)] if lines else trigger.otherwise
    return ["state = self._state", *lines] if len(groups) > 1 or fast else _directly(lines)


def _likely_first(machine: m.Machine, groups: dict[Code, list[str]]) -> list[tuple[Code, list[str]]]:
    """States that a machine comes back to are asked for before those that it passes once, many before few."""
    often = recurring(machine)
    sorted_ = [(code, sorted(leaves, key=lambda x: x not in often)) for code, leaves in groups.items()]
    return sorted(sorted_, key=lambda group: -sum(1000 if x in often else 1 for x in group[1]))


def _part(trigger: Trigger, code: Sequence[str], leaves: Sequence[str], fast: bool) -> tuple[str, str, Sequence[str]]:
    """A test of the state, a guard if it can be asked in the same line, and the code behind both."""
    guard, inner = _guarded(code, trigger.otherwise)
    return (_compared(trigger.place, leaves) if fast else state_in(trigger.place, leaves)), guard, inner


def _guarded(code: Sequence[str], otherwise: Sequence[str]) -> tuple[str, Sequence[str]]:
    """A guard that can be asked together with the state, as nothing else comes into question; and what it leads to."""
    rest = ["else:", *indented(otherwise)]
    body = code[1 : len(code) - len(rest)]
    alone = code[0].startswith("if ") and list(code[len(code) - len(rest) :]) == rest
    if not alone or not body or any(not x.startswith(" ") for x in body):
        return "", code
    return code[0][3:-1], [x[4:] for x in body]


def bracketed(condition: str) -> str:
    """A condition that can stand beside `and`."""
    loose = any(word in f" {text} " for text in outermost_text(condition) for word in (" or ", " if ", " lambda "))
    return f"({condition})" if loose else condition


def _directly(lines: Sequence[str]) -> list[str]:
    """One test alone needs no variable."""
    return [line.replace("if state ", "if self._state ") if not n else line for n, line in enumerate(lines)]


def state_in(place: Place, leaves: Sequence[str]) -> str:
    """Is `state` one of these?"""
    assert place.machine is not None
    names = [place.names.states[x] for x in leaves]
    if len(names) == 1:
        return f"state is {names[0]}"
    for composite in place.names.composites:
        if set(place.machine.leaves_of(composite)) == set(leaves):
            return f"state in {place.names.states[composite]}"
    others = [x.name for x in place.machine.leaves if x.name not in leaves]
    if len(others) == 1:
        return f"state is not {place.names.states[others[0]]}"
    return f"state in ({', '.join(names)})"


def _compared(place: Place, leaves: Sequence[str]) -> str:
    """The same as comparisons, which are faster, where they are few."""
    if len(leaves) > 4:
        return state_in(place, leaves)
    return " or ".join(f"state is {place.names.states[x]}" for x in leaves)


def chosen(trigger: Trigger, leaf: str, found: Sequence[Level], otherwise: Sequence[str]) -> list[str]:
    """The choice among the transitions that may leave one leaf, level by level."""
    if not found:
        return list(otherwise)
    level, rest = found[0], found[1:]
    tests, lines = _tests(trigger, level)
    word = "if"
    for t in level:
        known = [t.guard] if t.guard is not None and not lines else []
        code = trigger.follow(trigger.at(t).knowing(*known), leaf, t)
        if t.guard is None:
            return [*lines, *(["else:", *indented(code)] if word == "elif" else code)]
        lines += [f"{word} {tests[t.index]}:", *indented(code or ["pass"])]
        word = "elif"
    last = chosen(trigger, leaf, rest, otherwise)
    return [*lines, "# Otherwise ignored."] if last == IGNORED else [*lines, *_else(last)]


def _else(code: Sequence[str]) -> list[str]:
    """`else`, or `elif` where nothing but a condition stands in it."""
    if not code:
        return []
    alone = code[0].startswith("if ") and all(x.startswith((" ", "elif ", "else:")) for x in code[1:])
    return [f"el{code[0]}", *code[1:]] if alone else ["else:", *indented(code)]


def _tests(trigger: Trigger, level: Level) -> tuple[dict[int, str], list[str]]:
    """The guard of each transition, and what must stand before the choice.

    Where the choice cannot be made one by one, all guards are computed first: two that nothing tells apart may not
    both hold, and one that has no value makes the step impossible, whether or not it would be asked.
    """
    disputed = _disputed(trigger, level)
    guards = {t.index: (python(trigger.at(t), t.guard) if t.guard else "True") for t in level}
    model = trigger.place.file.context.model
    risky = len(level) > 1 and any(t.guard is not None and may_fail(model, t.guard) for t in level)
    if not disputed and not risky:
        return guards, []
    names = _variables(trigger, level)
    lines = [f"{names[t.index]} = {guards[t.index]}" for t in level if t.guard is not None]
    for a, b in disputed:
        lines += [f"if {_both(trigger, level, names, a, b)}:", *indented([_overlap(trigger, a, b)])]
    return {n: names.get(n, guard) for n, guard in guards.items()}, lines


def _disputed(trigger: Trigger, level: Level) -> list[tuple[m.Transition, m.Transition]]:
    """Pairs that could be enabled at once, unless one of them is always beaten by a third."""
    machine = trigger.place.machine
    assert machine is not None
    always = [t for t in level if t.guard is None]
    beaten = {t.index for t in level if any(comes_before(machine, other, t) for other in always)}
    return [(a, b) for a, b in rivals(machine, level) if not {a.index, b.index} & beaten]


def _variables(trigger: Trigger, level: Level) -> dict[int, str]:
    """A variable for each guard, called by the transition's name."""
    taken = {"state", "self", *trigger.parameters, *trigger.place.locals.values()}
    names: dict[int, str] = {}
    for t in level:
        if t.guard is not None:
            name = f"can_{snake(t.name)}"
            while name in taken:
                name += "_"
            taken.add(name)
            names[t.index] = name
    return names


def _both(trigger: Trigger, level: Level, names: dict[int, str], a: m.Transition, b: m.Transition) -> str:
    """Are two enabled at once, and no other that has priority over one of them?"""
    machine = trigger.place.machine
    assert machine is not None
    better = [t for t in level if comes_before(machine, t, a) or comes_before(machine, t, b)]
    tests = [names[x.index] for x in (a, b) if x.guard is not None]
    tests += [f"not {names[t.index]}" for t in better if t.guard is not None]
    return " and ".join(tests) or "True"


def _overlap(trigger: Trigger, a: m.Transition, b: m.Transition) -> str:
    overlap = trigger.place.file.machinery("Overlap")
    return f"raise {overlap}(self, {literal(trigger.name)}, {literal(a.name)}, {literal(b.name)})"
