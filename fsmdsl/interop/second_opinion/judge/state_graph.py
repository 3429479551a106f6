"""The graph of states by the definition of the language (`step`), and what is true in single states and steps of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fsmdsl import model as m
from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.interop.export.questions import questions
from fsmdsl.interop.second_opinion.opinion import Key
from fsmdsl.runs.space import Visit, visits
from fsmdsl.step import (
    ChannelStep,
    Crashed,
    CrashStep,
    FaultError,
    Followed,
    Ignored,
    Message,
    Step,
    TraceEvent,
    Universe,
    World,
    holds,
    stuck,
    within,
)

MAX_STATES = 100_000
"""A system with more states is not judged: each takes about a kilobyte, and several calls of the definition."""


class Delivered(NamedTuple):
    """A queue, by its number, delivers a message."""

    queue: int
    message: Message


Event = Followed | Ignored | Delivered
"""What a step does that fairness can promise."""


class Arrow(NamedTuple):
    """A step that does not fail: the state behind it, and what it does, each by its number in `StateGraph.events`."""

    target: int
    events: frozenset[int]
    crash: bool


@dataclass(frozen=True, eq=False)
class StateGraph:
    """Every reachable state, the first ones first, and every step between them. `open`: the states beyond the bound."""

    universe: Universe
    worlds: list[World] = field(default_factory=list)
    number: dict[World, int] = field(default_factory=dict)
    arrows: list[frozenset[Arrow]] = field(default_factory=list)
    events: dict[Event, int] = field(default_factory=dict)
    open: set[int] = field(default_factory=set)
    findings: set[Key] = field(default_factory=set)

    def arrow(self, world: World, step: Step, cascade: tuple[TraceEvent, ...], target: int) -> Arrow:
        """A step from a world."""
        events = (self.events.setdefault(x, len(self.events)) for x in _events(world, step, cascade))
        return Arrow(target, frozenset(events), isinstance(step, CrashStep))


def _events(world: World, step: Step, cascade: tuple[TraceEvent, ...]) -> Iterator[Event]:
    """If a crash cuts a step short, only what comes after the crash counts."""
    if isinstance(step, ChannelStep) and step.kind == "deliver":
        yield Delivered(step.queue, world.channels[step.queue][step.position])
    crash = max((n for n, x in enumerate(cascade) if isinstance(x, Crashed)), default=-1)
    for x in cascade[crash + 1 :]:
        match x:
            case Followed():
                yield Followed(x.instance, x.transition, "", "", x.arguments)
            case Ignored():
                yield x
            case _:
                pass


class TooManyStatesError(Exception):
    """A graph is not built."""


def state_graph(universe: Universe, most: int, states: int, tick: Callable[[], None]) -> StateGraph:
    """The graph of a system. `states` is the number of states that the search found; if it is above `most`, nothing is
    explored. `tick` may raise an error to give up. Raises `TooManyStatesError` and `TooManyValuesError`."""
    if states > most:
        raise TooManyStatesError(f"it has more than {most:,} states")
    graph = StateGraph(universe)
    if universe.fault is not None:
        graph.findings.add(Key("fault", universe.fault.kind, str(universe.fault.span)))
    for visit in visits(universe, most):
        if visit.number % 100 == 0:
            tick()
        if visit.unknown is not None:
            raise visit.unknown
        graph.number[visit.world] = visit.number
        graph.worlds.append(visit.world)
        arrows = set[Arrow]()
        for arc in visit.arcs:
            if arc.result.fault is not None:
                graph.findings.add(Key("fault", arc.result.fault.kind, str(arc.result.fault.span)))
            elif arc.target is None:
                raise TooManyStatesError(f"it has more than {most:,} states")
            else:
                arrows.add(graph.arrow(visit.world, arc.step, arc.result.cascade, arc.target))
        graph.arrows.append(frozenset(arrows))
        if not within(universe, visit.world):
            graph.open.add(visit.number)
        graph.findings.update(_of_state(universe, visit))
    return graph


def _of_state(universe: Universe, visit: Visit) -> Iterator[Key]:
    """What a state shows: invariants that it violates, a `reachable`, a deadlock, offers without a value."""
    yield from (Key("fault", x.kind, str(x.span)) for x in visit.unoffered)
    for q in questions(universe):
        if q.kind in ("invariant", "reachable"):
            values = [_holds(universe, visit.world, q.condition, n) for n in q.instances]
            if all(values) is (q.kind == "reachable"):
                yield Key(q.kind, q.name)
    if within(universe, visit.world) and stuck(universe, visit.world, [arc.step for arc in visit.arcs]):
        yield Key("deadlock")


def _holds(universe: Universe, world: World, e: m.Expr, instance: int) -> bool:
    try:
        return holds(universe, world, e, None, None if instance < 0 else instance)
    except FaultError:
        return False
