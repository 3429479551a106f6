"""Timers: started when a state is entered, stopped when it is left, and what they do when they are due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from fsmdsl import model as m
from fsmdsl.classes.machines.members import Member, method, table
from fsmdsl.classes.statements.code import Binds, Block, Branch, If, Statement, Suite, Text, conjunction
from fsmdsl.classes.statements.expressions import code, python
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.selection import state_in
from fsmdsl.classes.statements.text import literal
from fsmdsl.classes.traits import timer_name
from fsmdsl.core.selection import Move
from fsmdsl.core.triggers import triggered_by


def period(scope: Scope, t: m.Transition) -> str:
    """How long a timer runs, in seconds."""
    assert isinstance(t.trigger, m.OnTimer)
    return python(scope, t.trigger.duration, Binds.CONDITIONAL)


def _start(scope: Scope, t: m.Transition) -> str:
    return f"self._timers.start(self, {literal(timer_name(scope.own_machine, t))}, {period(scope, t)})"


def stops(scope: Scope, move: Move) -> Block:
    """Timers of the states that a transition leaves for good."""
    again = scope.selection.timers(move.entered)
    left = [t for t in scope.selection.timers(move.left) if t not in again]
    return tuple(f"self._timers.stop(self, {literal(timer_name(scope.own_machine, t))})" for t in left)


def starts(scope: Scope, move: Move, own: bool = True) -> Block:
    """Timers of the states that a transition enters; an internal one has its own run again. Not `own`: all but that of
    the transition itself."""
    t = move.transition
    internal = isinstance(t.trigger, m.OnTimer) and move.target is None
    started = (*scope.selection.timers(move.entered), *((t,) if internal else ()))
    return tuple(_start(scope, x) for x in started if own or x is not t)


def _runs_again(scope: Scope, move: Move) -> bool:
    """Does following a timer's transition start that timer?"""
    return move.target is None or move.transition in scope.selection.timers(move.entered)


class FollowTimer(Protocol):
    """The statements that follow a transition from a leaf; not `own_timer`: they do not start its own timer."""

    def __call__(self, at: Scope, moved: Move, own_timer: bool = True) -> Block: ...


def clockwork(scope: Scope, follow: FollowTimer) -> list[Member]:
    """What a machine does about time."""
    machine = scope.own_machine
    timed = triggered_by(machine, m.OnTimer)
    if not timed:
        return []
    due: list[Branch] = []
    running: list[Statement] = []
    for t in timed:
        name = Text(f"timer == {literal(timer_name(machine, t))}", Binds.COMPARISON)
        match _due(scope, follow, t):
            case (If(branches=(Branch(test, body),), otherwise=()),):
                due.append(Branch(conjunction([name, test]), body))
            case block:
                due.append(Branch(name, block))
        active = state_in(scope, scope.selection.hierarchy.inside[t.source])
        running.append(If((Branch(conjunction([name, active]), (f"return {period(scope, t)}",)),)))
    return [
        method(
            "def _due(self, timer: str) -> None:",
            f"Time is up.\n\n{table(timed)}",
            [Suite("with self._system.step(self, timer):", (If(tuple(due)),))],
        ),
        method("def _period(self, timer: str) -> float | None:", "", [*running, "return None"]),
        method("def _start_timers(self) -> None:", "", _initial(scope)),
    ]


def _due(scope: Scope, follow: FollowTimer, t: m.Transition) -> Block:
    """The transition, if its state is still active; where the guard does not hold, the timer runs again."""
    leaves = scope.selection.hierarchy.inside[t.source]
    return _by_state(scope, {leaf: _due_in(scope, follow, scope.selection.move(leaf, t)) for leaf in leaves})


def _due_in(scope: Scope, follow: FollowTimer, move: Move) -> Block:
    t = move.transition
    if t.guard is None:
        return follow(scope, move)
    followed = Branch(code(scope, t.guard), follow(scope.knowing(t.guard), move, own_timer=False))
    again = _start(scope, t)
    return (If((followed,)), again) if _runs_again(scope, move) else (If((followed,), (again,)),)


def _initial(scope: Scope) -> Block:
    around = scope.selection.hierarchy.around
    running = {x.name: scope.selection.timers(around[x.name]) for x in scope.own_machine.leaves}
    return _by_state(scope, {leaf: tuple(_start(scope, t) for t in timed) for leaf, timed in running.items() if timed})


def _by_state(scope: Scope, done: Mapping[str, Block]) -> Block:
    """What is done in some states; states with the same code share it."""
    groups: dict[Block, list[str]] = {}
    for leaf, block in done.items():
        groups.setdefault(block, []).append(leaf)
    branches = tuple(Branch(state_in(scope, leaves), block) for block, leaves in groups.items())
    return (If(branches),) if branches else ()
