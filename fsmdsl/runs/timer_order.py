"""Orders of timers that no clock allows: a run in which a timer fires before one that is shorter and started no later.

Durations are not compared, so such runs are runs of the system. Whether one of them breaks a property because of that
order, its author has to know. What is said here is certain: a timer counts as started when it may have been started at
the latest, and the one that fires before it, at the earliest.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import inf

from fsmdsl import model as m
from fsmdsl.core.hierarchy import Hierarchy
from fsmdsl.dataclasses import NamedTuple, dataclass, replace
from fsmdsl.runs.trace import Entry, Trace
from fsmdsl.runs.verdicts.verdict import Verdict
from fsmdsl.step import Universe, holds, value
from fsmdsl.step.describe import duration
from fsmdsl.step.world import Crashed, FaultError, Followed, RecoverStep, TimerStep, World


class Timer(NamedTuple):
    """A timer of an instance, by its transition."""

    instance: int
    transition: int


@dataclass(frozen=True, slots=True)
class Overtaking:
    """In a step, a timer fires although a shorter one that started no later still runs."""

    step: int
    fired: Timer
    running: Timer


def with_timer_order(universe: Universe, v: Verdict) -> Verdict:
    """A violation, with a remark if its run has an order that no clock allows."""
    if v.trace is None or v.outcome != "violated":
        return v
    overtaking = first_overtaking(universe, v.trace)
    return v if overtaking is None else replace(v, explanation=(*v.explanation, _line(universe, overtaking)))


def _line(universe: Universe, x: Overtaking) -> str:
    fired, running = (_text(universe, timer) for timer in (x.fired, x.running))
    guard = f"a guard of `{_transition(universe, x.fired).name}` can exclude this"
    return (
        f"durations are not compared: in step {x.step}, {fired} fires before {running}, which started no later; {guard}"
    )


def _text(universe: Universe, timer: Timer) -> str:
    name = f"{universe.name(timer.instance)}.{_transition(universe, timer).name}"
    return f"`{name}` ({duration(_durations(universe)[timer])})"


def first_overtaking(universe: Universe, trace: Trace) -> Overtaking | None:
    """The first in a run. Takes time in proportion to its length."""
    durations = _durations(universe)
    if len(set(durations.values())) < 2:
        return None
    hierarchies = {x.qualified: Hierarchy(x) for x in universe.machines}
    earliest = dict.fromkeys(_running(universe, trace.start), 0)
    latest = dict(earliest)
    for n, (before, entry) in enumerate(trace.befores(), 1):
        # A timer whose guard is false when it elapses starts again, in this world: just before the step.
        latest |= {timer: n for timer in latest if not _is_ready(universe, before, timer)}
        fired = Timer(entry.step.instance, entry.step.transition) if isinstance(entry.step, TimerStep) else None
        if fired is not None and fired in durations:
            no_younger = (x for x, since in latest.items() if since <= earliest[fired])
            running = next((x for x in no_younger if durations.get(x, inf) < durations[fired]), None)
            if running is not None:
                return Overtaking(n, fired, running)
        armed = set(_armed(universe, hierarchies, entry))
        crashed = any(isinstance(h, Crashed) for h in entry.cascade) or isinstance(entry.step, RecoverStep)
        now = list(_running(universe, entry.world))
        # After a crash, it is unknown whether a timer goes on or starts again.
        earliest = {x: n if x not in earliest or (x in armed and not crashed) else earliest[x] for x in now}
        latest = {x: n if x not in latest or x in armed or crashed else latest[x] for x in now}
    return None


def _transition(universe: Universe, timer: Timer) -> m.Transition:
    return universe.machines[timer.instance].transitions[timer.transition]


def _durations(universe: Universe) -> dict[Timer, int]:
    """In milliseconds, of the timers whose duration is a number in the system."""
    out: dict[Timer, int] = {}
    for instance, machine in enumerate(universe.machines):
        for t in machine.transitions:
            if isinstance(t.trigger, m.OnTimer):
                length = _length(universe, instance, t.trigger.duration)
                out |= {} if length is None else {Timer(instance, t.index): length}
    return out


def _length(universe: Universe, instance: int, e: m.Expr) -> int | None:
    """None where it is not the same in all states, or the system leaves it open."""
    match e:
        case m.Constant() | m.Read("param", target=None | m.Read("param", target=None)):
            length = value(universe, universe.start, e, instance)
            return length if isinstance(length, int) and length > 0 else None
        case _:
            return None


def _running(universe: Universe, world: World) -> Iterator[Timer]:
    for instance, state in enumerate(world.states):
        yield from (Timer(instance, t.index) for t in universe.timers(instance, state))


def _is_ready(universe: Universe, world: World, timer: Timer) -> bool:
    """Would a timer fire in a world if it elapsed? No answer is awaited there, and the guard holds."""
    guard = _transition(universe, timer).guard
    if world.pending or world.down:
        return False
    try:
        return guard is None or holds(universe, world, guard, instance=timer.instance)
    except FaultError:
        return False


def _armed(universe: Universe, hierarchies: dict[str, Hierarchy], entry: Entry) -> Iterator[Timer]:
    """The timers that a step starts, or starts again: of the entered states, and one that fires and leaves none."""
    for h in entry.cascade:
        if not isinstance(h, Followed):
            continue
        machine = universe.machines[h.instance]
        t = machine.transitions[h.transition]
        if t.target is None:
            yield Timer(h.instance, t.index)
        entered = hierarchies[machine.qualified].arrived(t)
        yield from (Timer(h.instance, x.index) for x in universe.timers(h.instance, h.after) if x.source in entered)
