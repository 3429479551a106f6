"""Which transition an event leads to: choices over the state and the guards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.classes.names import Namespace, snake
from fsmdsl.classes.statements.code import Binds, Block, Branch, Comment, If, Otherwise, Text, conjunction, filled
from fsmdsl.classes.statements.expressions import code
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.text import literal
from fsmdsl.core.graphs import reachable
from fsmdsl.core.lets import may_lack_value
from fsmdsl.core.selection import Level, Move, Selection
from fsmdsl.core.triggers import CRASH
from fsmdsl.dataclasses import dataclass, replace

IGNORED: Block = ("pass  # ignored",)

Passed = Mapping[str, Callable[[], Block]]
"""What states do in which no transition is enabled. Called for where it is written, so that a file imports no more than
it uses."""

_OTHERWISE: Block = (Otherwise(),)

Follow = Callable[[Scope, Move], Block]
"""The statements that follow a transition from a leaf."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """What transitions are looked for, and how the code goes on."""

    key: str
    """What finds them, see `core.triggers.trigger_name`."""
    scope: Scope
    parameters: Sequence[str]
    """What an event's parameters are called in the code."""
    follow: Follow
    otherwise: Callable[[], Block]
    """What is done when no transition is enabled. Not needed where a state ignores the trigger."""

    def at(self, t: m.Transition) -> Scope:
        """Where guard and effects of a transition stand."""
        return self.scope.taking(t, self.parameters)


def dispatch(trigger: Trigger, passed: Passed | None = None, fast: bool = False) -> Block:
    """The whole choice: by state, then by guard. States with the same code share it.

    `passed` says what states do in which no transition is enabled, where it is not what `otherwise` says. `fast`: the
    likely states come first, and tests are written as comparisons.
    """
    machine = trigger.scope.own_machine
    groups = _groups(trigger, passed or {})
    if not fast and len(groups) == 1 and len(groups[0].leaves) == len(machine.leaves):
        return filled(groups[0].whole, trigger.otherwise)
    if fast:
        groups = _likely_first(trigger.scope.selection, groups)
    several = len(groups) > 1 or fast
    complete = sum(len(g.leaves) for g in groups) == len(machine.leaves)
    branches = [_branch(trigger.scope, g, "state" if several else "self._state", fast) for g in groups]
    guarded = any(g.guard is not None for g in groups)
    choice: Block
    if complete and not guarded and len(branches) > 1:
        choice = (If(tuple(branches[:-1]), branches[-1].body),)
    elif branches:
        choice = (If(tuple(branches), () if complete and not guarded else _OTHERWISE),)
    else:
        choice = _OTHERWISE
    return filled(("state = self._state", *choice) if several else choice, trigger.otherwise)


@dataclass(frozen=True, slots=True)
class _Group:
    """Leaves with the same code. `guard` can be asked together with the state, as nothing else comes into question."""

    leaves: tuple[str, ...]
    guard: Text | None
    body: Block

    @property
    def whole(self) -> Block:
        return self.body if self.guard is None else (If((Branch(self.guard, self.body),), _OTHERWISE),)


def _groups(trigger: Trigger, passed: Passed) -> list[_Group]:
    """The leaves in which something is done. NOTE(shared): what is shared is equal code, whatever it is and whichever
    transitions it is made from; that two states can share it does not have to be known beforehand."""
    selection = trigger.scope.selection
    leaves_of: dict[Block, list[str]] = {}
    for leaf in selection.machine.leaves:
        levels = selection.levels(leaf.name, trigger.key)
        if levels or leaf.name in passed:
            block = _chosen(trigger, leaf.name, levels, passed.get(leaf.name, lambda: _OTHERWISE))
            leaves_of.setdefault(block, []).append(leaf.name)
    groups: list[_Group] = []
    for block, leaves in leaves_of.items():
        match block:
            case (If(branches=(Branch(test, body),), otherwise=(Otherwise(),)),):
                groups.append(_Group(tuple(leaves), test, body))
            case _:
                groups.append(_Group(tuple(leaves), None, block))
    return groups


def _likely_first(selection: Selection, groups: list[_Group]) -> list[_Group]:
    """States that a machine comes back to are asked for before those that it passes once, many before few."""
    often = recurring(selection)
    sorted_ = [replace(g, leaves=tuple(sorted(g.leaves, key=lambda x: x not in often))) for g in groups]
    return sorted(sorted_, key=lambda g: (sum(x in often for x in g.leaves), len(g.leaves)), reverse=True)


def recurring(selection: Selection) -> frozenset[str]:
    """The leaves that a machine can come back to. It spends its life in these, and passes the others once."""
    hierarchy = selection.hierarchy
    after: dict[str, set[str]] = {}
    for leaf in hierarchy.machine.leaves:
        leaving = [t for t in hierarchy.machine.transitions if t.source in hierarchy.around[leaf.name]]
        after[leaf.name] = {hierarchy.arrival(t) or leaf.name for t in leaving}
    return frozenset(leaf for leaf in after if leaf in reachable(after[leaf], after.__getitem__))


# The state -----------------------------------------------------------------------------------------------------------


def _branch(scope: Scope, group: _Group, state: str, fast: bool) -> Branch:
    test = _compared(scope, group.leaves, state) if fast else state_in(scope, group.leaves, state)
    return Branch(conjunction([test, *([] if group.guard is None else [group.guard])]), group.body)


def state_in(scope: Scope, leaves: Sequence[str], state: str = "self._state") -> Text:
    """Is the state one of these?"""
    hierarchy = scope.selection.hierarchy
    names = [scope.names.states[x] for x in leaves]
    if len(names) == 1:
        return Text(f"{state} is {names[0]}", Binds.COMPARISON)
    for composite in scope.names.composites:
        if set(hierarchy.inside[composite]) == set(leaves):
            return Text(f"{state} in {scope.names.states[composite]}", Binds.COMPARISON)
    others = [x.name for x in hierarchy.machine.leaves if x.name not in leaves]
    if len(others) == 1:
        return Text(f"{state} is not {scope.names.states[others[0]]}", Binds.COMPARISON)
    return Text(f"{state} in ({', '.join(names)})", Binds.COMPARISON)


def _compared(scope: Scope, leaves: Sequence[str], state: str) -> Text:
    """The same as comparisons, which are faster, where they are few."""
    if not 1 < len(leaves) <= 4:
        return state_in(scope, leaves, state)
    return Text(" or ".join(f"{state} is {scope.names.states[x]}" for x in leaves), Binds.OR)


# The guards ----------------------------------------------------------------------------------------------------------


def _chosen(trigger: Trigger, leaf: str, levels: Sequence[Level], otherwise: Callable[[], Block]) -> Block:
    """The choice among the transitions that may leave one leaf, level by level."""
    if not levels:
        return otherwise()
    selection = trigger.scope.selection
    level = selection.priority.best_first(levels[0])
    tests, before = _tests(trigger, level)
    branches: list[Branch] = []
    for t in level:
        scope = trigger.at(t)
        if t.guard is not None and not before:
            scope = scope.knowing(t.guard)
        body = trigger.follow(scope, selection.move(leaf, t))
        if t.index not in tests:
            return (*before, *((If(tuple(branches), body),) if branches else body))
        branches.append(Branch(tests[t.index], body))
    branches += _contradiction(trigger, level)
    last = _chosen(trigger, leaf, levels[1:], otherwise)
    if last == IGNORED:
        return (*before, If(tuple(branches)), Comment("Otherwise ignored."))
    return (*before, If(tuple(branches), last))


def _tests(trigger: Trigger, level: Level) -> tuple[Mapping[int, Text], Block]:
    """The guard of each transition that has one, and what must stand before the choice. Where `priority` is circular,
    a transition is chosen if its guard holds and that of none before it.

    Where the choice cannot be made one by one, all guards are computed first: two that nothing tells apart may not
    both hold, and one that has no value makes the step impossible, whether or not it would be asked.
    """
    priority = trigger.scope.selection.priority
    circular = priority.circular(level)
    disputed = [(a, b) for a, b in trigger.scope.selection.disputed(level) if not priority.ranked(a, b)]
    model = trigger.scope.file.context.model
    risky = len(level) > 1 and any(t.guard is not None and may_lack_value(model, t.guard) for t in level)
    computed_first = bool(disputed) or bool(circular) or risky
    guards = {t.index: code(trigger.at(t), t.guard) for t in level if t.guard is not None}
    if not computed_first:
        return guards, ()
    names = _variables(trigger, level)
    computed = [f"{names[n]} = {guard.text}" for n, guard in guards.items()]
    checks = [If((Branch(_both(trigger, level, names, a, b), (_overlap(trigger, a, b),)),)) for a, b in disputed]
    tests = {n: Text(name) for n, name in names.items()}
    return tests | {t.index: _unbeaten(trigger, level, names, t) for t in circular}, (*computed, *checks)


def _unbeaten(trigger: Trigger, level: Level, names: dict[int, str], t: m.Transition) -> Text:
    """Is a transition enabled, and none that has priority over it?"""
    better = [u for u in level if trigger.scope.selection.priority.before(u, t)]
    if any(u.guard is None for u in better):
        return Text("False")
    enabled = [Text(names[t.index])] if t.guard is not None else []
    return conjunction([*enabled, *(Text(f"not {names[u.index]}", Binds.NOT) for u in better)])


def _contradiction(trigger: Trigger, level: Level) -> Iterator[Branch]:
    """Where `priority` is circular: the fault of enabled transitions that all give way to others."""
    circular = trigger.scope.selection.priority.circular(level)
    if not circular:
        return
    names = _variables(trigger, level)
    enabled = [names[t.index] for t in circular if t.guard is not None]
    test = Text(" or ".join(enabled), Binds.OR) if len(enabled) == len(circular) else Text("True")
    a, b = next(trigger.scope.selection.priority.contradictory(level))
    yield Branch(test, (_overlap(trigger, a, b),))


def _variables(trigger: Trigger, level: Level) -> dict[int, str]:
    """A variable for each guard, called by the transition's name."""
    space = Namespace(("state", "self", *trigger.parameters, *trigger.scope.locals.values()))
    return {t.index: space.claim(f"can_{snake(t.name)}") for t in level if t.guard is not None}


def _both(trigger: Trigger, level: Level, names: dict[int, str], a: m.Transition, b: m.Transition) -> Text:
    """Are two enabled at once, and no other that has priority over one of them?"""
    before = trigger.scope.selection.priority.before
    better = [t for t in level if before(t, a) or before(t, b)]
    tests = [Text(names[x.index]) for x in (a, b) if x.guard is not None]
    tests += [Text(f"not {names[t.index]}", Binds.NOT) for t in better if t.guard is not None]
    return conjunction(tests) if tests else Text("True")


def _overlap(trigger: Trigger, a: m.Transition, b: m.Transition) -> str:
    overlap = trigger.scope.file.machinery("Overlap")
    label = "crash" if trigger.key == CRASH else trigger.key
    return f"raise {overlap}(self, {literal(label)}, {literal(a.name)}, {literal(b.name)})"
