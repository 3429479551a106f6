"""Which strong fairness rules out a counterexample: what its loop makes possible again and again, and never takes."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.runs.liveness.plan import Crashes, Delivery, FairnessConstraint, MessageWaits, Obligation, Plan, Question
from fsmdsl.runs.liveness.record import Marks
from fsmdsl.runs.trace import Trace, taken
from fsmdsl.step import enabled

LONGEST = 200
"""Maximum length of a loop that is examined."""


def put_off(plan: Plan, q: Question, trace: Trace) -> Iterator[str]:
    """A line for each weakly fair event that is possible somewhere in the loop, but not everywhere."""
    if trace.loop is None or not q.weak or not 0 < len(trace.entries) - trace.loop <= LONGEST:
        return
    universe, marks = plan.universe, Marks(plan)
    worlds = [trace.start, *(entry.world for entry in trace.entries)][trace.loop : -1]
    happens = 0
    for world, entry in zip(worlds, trace.entries[trace.loop :], strict=True):
        happens |= marks.of(world, entry.step, entry.cascade)
    somewhere, everywhere = 0, q.weak
    for world in worlds:
        possible = 0
        for step in enabled(universe, world):
            entry = taken(universe, world, step)
            possible |= 0 if entry.fault is not None else marks.of(world, entry.step, entry.cascade)
        somewhere, everywhere = somewhere | possible, everywhere & possible
    bits = q.weak & ~q.strong & somewhere & ~everywhere & ~happens
    names = dict.fromkeys(_name(plan, o) for n, o in enumerate(plan.obligations) if bits >> n & 1)
    for name in filter(None, names):
        yield f"`{name}` is possible again and again, but not all the time: `strong fair {name}` rules this run out"


def _name(plan: Plan, o: FairnessConstraint) -> str:
    match o:
        case Obligation():
            return o.name
        case Delivery(queue):
            return f"deliver {plan.universe.queues[queue].channel.name}"
        case MessageWaits() | Crashes():
            return ""
