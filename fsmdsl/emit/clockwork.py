"""Timers: started when a state is entered, stopped when it is left, and what they do when they are due."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.emit.expressions import python
from fsmdsl.emit.members import Member, method, table
from fsmdsl.emit.place import Binds, Place
from fsmdsl.emit.rows import Move, timers, triggers
from fsmdsl.emit.selection import Follow, bracketed, state_in
from fsmdsl.emit.text import indented, literal


def timer_name(machine: m.Machine, t: m.Transition) -> str:
    """What a timer is called in snapshots: `Starting after 5min`."""
    assert isinstance(t.trigger, m.OnTimer)
    name = f"{t.source} after {t.trigger.shown}"
    same = [u for u in triggers(machine, m.OnTimer) if f"{u.source} {u.shown_trigger}" == name]
    return name if len(same) == 1 else f"{name} ({same.index(t) + 1})"


def period(place: Place, t: m.Transition) -> str:
    """How long a timer runs, in seconds."""
    assert isinstance(t.trigger, m.OnTimer)
    return python(place, t.trigger.duration, Binds.CONDITIONAL)


def _start(place: Place, t: m.Transition) -> str:
    assert place.machine is not None
    return f"self._system.start(self, {literal(timer_name(place.machine, t))}, {period(place, t)})"


def stops(place: Place, moved: Move) -> list[str]:
    """Timers of the states that a transition leaves for good."""
    assert place.machine is not None
    left = [t for t in moved.stopped if t not in moved.started]
    return [f"self._system.stop(self, {literal(timer_name(place.machine, t))})" for t in left]


def starts(place: Place, moved: Move) -> list[str]:
    """Timers of the states that a transition enters; an internal one has its own run again."""
    again = isinstance(moved.transition.trigger, m.OnTimer) and moved.arrival is None
    return [_start(place, t) for t in (*moved.started, *((moved.transition,) if again else ()))]


def clockwork(place: Place, follow: Follow) -> list[Member]:
    """What a machine does about time."""
    machine = place.machine
    assert machine is not None
    timed = triggers(machine, m.OnTimer)
    if not timed:
        return []
    due: list[str] = []
    for t in timed:
        name = literal(timer_name(machine, t))
        code = _due(place, follow, t)
        alone = code[0].startswith("if ") and all(x.startswith(" ") for x in code[1:])
        test = f"timer == {name} and {bracketed(code[0][3:-1])}" if alone else f"timer == {name}"
        due += [f"{'elif' if due else 'if'} {test}:", *(code[1:] if alone else indented(code))]
    running = [
        line
        for t in timed
        for line in (
            f"if timer == {literal(timer_name(machine, t))} and {_active(place, machine.leaves_of(t.source))}:",
            f"    return {period(place, t)}",
        )
    ]
    return [
        method(
            "def _due(self, timer: str) -> None:",
            f"Time is up.\n\n{table(timed)}",
            ["with self._system.step(self, timer):", *indented(due)],
        ),
        method("def _period(self, timer: str) -> float | None:", "", [*running, "return None"]),
        method("def _start_timers(self) -> None:", "", _initial(place)),
    ]


def _active(place: Place, leaves: Sequence[str]) -> str:
    return state_in(place, leaves).replace("state", "self._state", 1)


def _due(place: Place, follow: Follow, t: m.Transition) -> list[str]:
    """The transition, if its state is still active; where the guard does not hold, the timer runs again."""
    machine = place.machine
    assert machine is not None
    groups: dict[tuple[str, ...], list[str]] = {}
    for leaf in machine.leaves_of(t.source):
        known = place if t.guard is None else place.knowing(t.guard)
        groups.setdefault(tuple(follow(known, leaf, t)), []).append(leaf)
    lines: list[str] = []
    for code, leaves in groups.items():
        inner = list(code)
        if t.guard is not None:
            again = _start(place, t)
            last = [again] if again in inner else ["else:", f"    {again}"]
            inner = [f"if {python(place, t.guard)}:", *indented(x for x in code if x != again), *last]
        lines += [f"{'elif' if lines else 'if'} {_active(place, leaves)}:", *indented(inner)]
    return lines


def _initial(place: Place) -> list[str]:
    machine = place.machine
    assert machine is not None
    groups: dict[tuple[str, ...], list[str]] = {}
    for leaf in machine.leaves:
        running = tuple(_start(place, t) for t in timers(machine, machine.ancestors(leaf.name)))
        if running:
            groups.setdefault(running, []).append(leaf.name)
    lines: list[str] = []
    for code, leaves in groups.items():
        lines += [f"{'elif' if lines else 'if'} {_active(place, leaves)}:", *indented(code)]
    return lines
