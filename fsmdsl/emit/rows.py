"""The transition table of a machine as code needs it: per leaf and trigger, who comes first, what is left, entered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from fsmdsl import model as m

Level = tuple[m.Transition, ...]
"""Transitions that come into question together, those before others first."""


def triggered(t: m.Transition) -> str | None:
    """What brings a transition about: an event, `action.outcome`, `crash`, '' for nothing; None for a timer."""
    return None if isinstance(t.trigger, m.OnTimer) else t.shown_trigger


def triggers(machine: m.Machine, kind: type[m.Trigger]) -> list[m.Transition]:
    """The transitions with a kind of trigger."""
    return [t for t in machine.transitions if isinstance(t.trigger, kind)]


def levels(machine: m.Machine, leaf: str, trigger: str) -> tuple[Level, ...]:
    """The transitions that may leave a leaf: those of the innermost source first, those of `*` last."""
    around = list(machine.ancestors(leaf))
    these = [t for t in machine.transitions if t.source in around and triggered(t) == trigger]
    found = [[t for t in these if t.source == state and not t.wild] for state in around]
    found.append([t for t in these if t.wild])
    return tuple(tuple(_best_first(machine, level)) for level in found if level)


def stored(machine: m.Machine) -> tuple[m.Param | m.Field, ...]:
    """What an instance holds beside its state."""
    return (*machine.params, *machine.fields)


# Priority ------------------------------------------------------------------------------------------------------------


def comes_before(machine: m.Machine, a: m.Transition, b: m.Transition) -> bool:
    """Does `priority` put one before the other?"""
    places = ((_place(chain, a), _place(chain, b)) for chain in machine.priority)
    return any(x is not None and y is not None and x < y for x, y in places)


def _place(chain: Sequence[str], t: m.Transition) -> int | None:
    names = {triggered(t), t.label, *(x.name for x in conjuncts(t.guard) if isinstance(x, m.Derived))}
    named = [n for n, name in enumerate(chain) if name in names]
    return min(named, default=chain.index("*") if "*" in chain else None)


def _best_first(machine: m.Machine, level: Sequence[m.Transition]) -> Iterator[m.Transition]:
    """In the order of the text, but none before one that has priority over it."""
    left = list(level)
    while left:
        first = next((t for t in left if not any(comes_before(machine, u, t) for u in left)), left[0])
        left.remove(first)
        yield first


def rivals(machine: m.Machine, level: Level) -> list[tuple[m.Transition, m.Transition]]:
    """Pairs of which neither has priority, and which may be enabled at once for all that their guards say."""
    equal = ((a, b) for a, b in combinations(level, 2) if not _ranked(machine, a, b))
    return [(a, b) for a, b in equal if not exclusive(a.guard, b.guard, machine.let_named)]


def _ranked(machine: m.Machine, a: m.Transition, b: m.Transition) -> bool:
    return comes_before(machine, a, b) or comes_before(machine, b, a)


# Guards --------------------------------------------------------------------------------------------------------------


def conjuncts(guard: m.Expr | None) -> list[m.Expr]:
    """What must all hold for a guard to hold."""
    match guard:
        case None:
            return []
        case m.Logic(operator="and", operands=operands):
            return [x for o in operands for x in conjuncts(o)]
        case _:
            return [guard]


def exclusive(a: m.Expr | None, b: m.Expr | None, lets: Mapping[str, m.Let]) -> bool:
    """Can two guards be seen not to hold at once? Only what they ask about one value is compared."""
    return any(_contrary(x, y) or _contrary(y, x) for x in _asked(a, lets) for y in _asked(b, lets))


def _asked(guard: m.Expr | None, lets: Mapping[str, m.Let]) -> Iterator[m.Expr]:
    """What a guard asks, the conditions inside its derived values included."""
    for x in conjuncts(guard):
        yield x
        if isinstance(x, m.Derived) and x.name in lets and not x.arguments and x.target is None:
            yield from _asked(lets[x.name].value, lets)


def _contrary(x: m.Expr, y: m.Expr) -> bool:
    match x, y:
        case m.Not(operand=operand), _ if operand == y:
            return True
        case m.Not(operand=m.InState(target=t1, states=s1)), m.InState(target=t2, states=s2) if t1 == t2:
            return s2 <= s1
        case m.InState(target=t1, states=s1), m.InState(target=t2, states=s2) if t1 == t2:
            return not s1 & s2
        case m.Binary(left=l1, right=m.Constant() as c1), m.Binary(left=l2, right=m.Constant() as c2) if l1 == l2:
            compared = x.operator in _COMPARED and y.operator in _COMPARED
            return compared and not _overlapping(x.operator, c1, y.operator, c2)
        case m.Binary(operator=o1, left=l1, right=r1), m.Binary(operator=o2, left=l2, right=r2) if (l1, r1) == (l2, r2):
            return (o1, o2) in _OPPOSED
        case _:
            return False


_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
_OPPOSED = {("==", "!="), ("<", ">="), ("<", ">"), ("<", "=="), (">", "<="), (">", "==")}


def _overlapping(o1: str, c1: m.Constant, o2: str, c2: m.Constant) -> bool:
    """Is there a value that compares so with both constants?"""
    a, b = _number(c1), _number(c2)
    if a is None or b is None:
        same = c1.value == c2.value
        return not (({o1, o2} == {"=="} and not same) or ({o1, o2} == {"==", "!="} and same))
    values: Iterable[int] = range(min(a, b) - 1, max(a, b) + 2)
    if isinstance(c1.type, m.EnumType):
        values = range(len(c1.type.members))
    return any(_COMPARED[o1](v, a) and _COMPARED[o2](v, b) for v in values)


def _number(c: m.Constant) -> int | None:
    """A number, or a member's place among the members."""
    if isinstance(c.type, m.EnumType) and isinstance(c.value, str):
        return c.type.members.index(c.value)
    return c.value if isinstance(c.value, int) and not isinstance(c.value, bool) else None


# Leaving and entering ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Move:
    """What a transition does, from one leaf. An internal one leaves and enters nothing, and arrives nowhere."""

    transition: m.Transition
    effects: tuple[m.Effect, ...]
    """Those of the states left, and its own."""
    arrival: str | None
    entry: tuple[m.Effect, ...]
    stopped: tuple[m.Transition, ...]
    """Timers of the states left."""
    started: tuple[m.Transition, ...]


def move(machine: m.Machine, leaf: str, t: m.Transition) -> Move:
    """The states left, innermost first, and those entered, outermost first.

    They are all those inside the innermost composite that holds both source and target, and is neither.
    """
    if t.target is None:
        return Move(t, t.effects, None, (), (), ())
    arrival = machine.entered(t.target)
    kept = {*list(machine.ancestors(t.source))[1:]} & {*list(machine.ancestors(t.target))[1:]}
    left = [s for s in machine.ancestors(leaf) if s not in kept]
    entered = [s for s in machine.ancestors(arrival) if s not in kept][::-1]
    before = (*_hooks(machine, "exit", left), *t.effects)
    after = tuple(_hooks(machine, "entry", entered))
    return Move(t, before, arrival, after, tuple(timers(machine, left)), tuple(timers(machine, entered)))


def _hooks(machine: m.Machine, kind: str, states: Iterable[str]) -> Iterator[m.Effect]:
    return (e for s in states for hook in machine.hooks if hook.kind == kind and hook.state == s for e in hook.effects)


def timers(machine: m.Machine, states: Iterable[str]) -> Iterator[m.Transition]:
    """The timers that run while these states are active."""
    timed = triggers(machine, m.OnTimer)
    return (t for s in states for t in timed if t.source == s)


def effects_of(machine: m.Machine) -> Iterator[m.Effect]:
    """Every effect of a machine, with those inside loops and choices."""
    listed = [*(t.effects for t in machine.transitions), *(h.effects for h in machine.hooks)]
    return (e for effects in listed for x in effects for e in within(x))


def within(e: m.Effect) -> Iterator[m.Effect]:
    """An effect, and those inside it."""
    yield e
    match e:
        case m.ForEach(body=body):
            inner = body
        case m.If(then=then, otherwise=otherwise):
            inner = (*then, *otherwise)
        case _:
            return
    for x in inner:
        yield from within(x)


def recurring(machine: m.Machine) -> frozenset[str]:
    """The leaves that a machine can come back to. It spends its life in these, and passes the others once."""
    after = {
        leaf.name: {
            machine.entered(t.target) if t.target is not None else leaf.name
            for t in machine.transitions
            if t.source in set(machine.ancestors(leaf.name))
        }
        for leaf in machine.leaves
    }
    return frozenset(leaf for leaf in after if leaf in _reached(after, leaf))


def _reached(after: Mapping[str, set[str]], start: str) -> set[str]:
    found, todo = set(after[start]), list(after[start])
    while todo:
        new = after[todo.pop()] - found
        found |= new
        todo += new
    return found
