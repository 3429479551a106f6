"""The worlds of a system as far as a log has led to them, and the steps between them.

Worlds are looked up by value once, when a step leads to them; after that they are compared by identity. When there are
too many, those that nothing refers to are forgotten, so that memory does not grow with the log.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.logs.binding import Reading
from fsmdsl.runs.simulation.sendings import TooManyError, sendings
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    EventStep,
    Followed,
    OutcomeStep,
    RecoverStep,
    Sent,
    Step,
    TimerStep,
    TooManyValuesError,
    TraceEvent,
    Universe,
    World,
    enabled,
    fire,
)
from fsmdsl.step.instances import Roster

MAX_STATES = 20_000
"""Maximum number of worlds in the cache. When it is full, it is emptied."""

Key = tuple[int | None, str]
"""An instance (None: the whole system) and what comes to it, in the words of a mapping."""


class UndecidedError(Exception):
    """It cannot be said what is possible in a world; the message says why."""


@dataclass(frozen=True, slots=True, eq=False)
class Edge:
    """A step that ends well, what happened in it, and where it leads. `marks`: what lines may be about in it."""

    step: Step
    cascade: tuple[TraceEvent, ...] = field(repr=False)
    target: CachedState
    marks: tuple[TraceEvent, ...]


@dataclass(slots=True, eq=False)
class CachedState:
    """A world with its outgoing edges, which are computed on first use."""

    world: World
    by_key: dict[Key, list[Step]] | None = None
    own: dict[Key, tuple[Edge, ...]] = field(default_factory=dict, repr=False)
    unlogged: tuple[tuple[Edge, ...], tuple[Edge, ...]] | None = field(default=None, repr=False)


class EffortError(Exception):
    """A search would examine more possibilities than it may."""


STEP_EFFORT = 20
"""The number of possibilities that take as long as one step that the definition performs."""


class SuccessorCache:
    """Nodes by world."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.universe: Universe = reading.universe
        self._states: dict[World, CachedState] = {}
        self.effort: int | None = None
        """The number of possibilities that may still be examined; None: no limit."""

    def spend(self, effort: int) -> None:
        """Count possibilities as examined. Raises `EffortError` if that exceeds the limit."""
        if self.effort is not None:
            self.effort -= effort
            if self.effort < 0:
                raise EffortError

    def state(self, world: World) -> CachedState:
        """The node of a world."""
        state = self._states.get(world)
        if state is None:
            if len(self._states) >= MAX_STATES:
                self._states.clear()
            state = self._states[world] = CachedState(world)
        return state

    def starts(self) -> tuple[World, ...]:
        """The worlds in which the system may begin."""
        try:
            return self.universe.starts
        except TooManyValuesError as error:
            raise UndecidedError(f"the system may begin in {error}") from error

    def own(self, state: CachedState, key: Key) -> tuple[Edge, ...]:
        """The steps that begin with what a line names. An event that is ignored on purpose is one."""
        if key not in state.own:
            steps = [*self._by_key(state).get(key, ()), *self._ignored(state, key)]
            state.own[key] = tuple(e for s in dict.fromkeys(steps) if (e := self._edge(state, s)) is not None)
        return state.own[key]

    def silent(self, state: CachedState) -> tuple[Edge, ...]:
        """The steps that may happen without any line."""
        return self._unlogged(state)[0]

    def speaking(self, state: CachedState) -> tuple[Edge, ...]:
        """The steps without a line of their own in which something happens that has one."""
        return self._unlogged(state)[1]

    def logged(self, state: CachedState) -> Iterator[Edge]:
        """The steps that have a line of their own."""
        for key, steps in self._by_key(state).items():
            if key in self.reading.logged_events:
                yield from (e for s in steps if (e := self._edge(state, s)) is not None)

    def every(self, state: CachedState) -> Iterator[Edge]:
        """All steps that end well, whether they have lines or not."""
        return (e for s in self.steps(state) if (e := self._edge(state, s)) is not None)

    def steps(self, state: CachedState) -> list[Step]:
        """Everything that is enabled, each once."""
        return list(dict.fromkeys(s for steps in self._by_key(state).values() for s in steps))

    # Computing

    def _by_key(self, state: CachedState) -> dict[Key, list[Step]]:
        if state.by_key is None:
            steps: defaultdict[Key, list[Step]] = defaultdict(list)
            for step in self._enabled(state.world):
                for key in keys(self.universe, step, state.world):
                    steps[key].append(step)
            state.by_key = dict(steps)
        return state.by_key

    def _enabled(self, world: World) -> list[Step]:
        try:
            return enabled(self.universe, world)
        except TooManyValuesError as error:
            raise UndecidedError(f"the environment would have to choose among {error}") from error

    def _ignored(self, state: CachedState, key: Key) -> Sequence[Step]:
        """`enabled` leaves out events that would change nothing."""
        instance, event = key
        if instance is None or not self.universe.ignores(instance, state.world.states[instance], event):
            return ()
        declaration = self.universe.machines[instance].event_named.get(event)
        if declaration is None or not declaration.from_environment:
            return ()
        try:
            ways = sendings(self.universe, state.world, instance, event)
        except TooManyError as error:
            raise UndecidedError(f"the environment would have to choose among {error}") from error
        return [EventStep(instance, event, x.arguments) for x in ways if x.refused is None]

    def _unlogged(self, state: CachedState) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
        if state.unlogged is None:
            spoken = self.reading.logged_events
            logged = {s for key, steps in self._by_key(state).items() if key in spoken for s in steps}
            edges = [e for s in self.steps(state) if s not in logged and (e := self._edge(state, s)) is not None]
            silent = tuple(e for e in edges if not self._speaks(e))
            state.unlogged = silent, tuple(e for e in edges if self._speaks(e))
        return state.unlogged

    def _edge(self, state: CachedState, step: Step) -> Edge | None:
        self.spend(STEP_EFFORT)
        result = fire(self.universe, state.world, step)
        if result.fault is not None:
            return None
        marks = tuple(h for h in result.cascade if self._is_mark(h))
        return Edge(step, result.cascade, self.state(result.world), marks)

    def _is_mark(self, trace_event: TraceEvent) -> bool:
        match trace_event:
            case Followed(instance, index):
                names = self.universe.machines[instance].transitions[index].names
                return instance in self.reading.stated or any((instance, x) in self.reading.rows for x in names)
            case Sent(_, receiver, event):
                return (receiver, event) in self.reading.events
            case _:
                return False

    def _speaks(self, edge: Edge) -> bool:
        """Does something happen in a step that never happens without a line?"""
        for h in edge.marks:
            match h:
                case Followed(instance, index):
                    names = self.universe.machines[instance].transitions[index].names
                    if any((instance, x) in self.reading.logged_rows for x in names):
                        return True
                case Sent(_, receiver, event) if (receiver, event) in self.reading.logged_events:
                    return True
        return False


def keys(roster: Roster, step: Step, world: World) -> Iterator[Key]:
    """What lines may call a step."""
    match step:
        case EventStep(instance, event):
            yield instance, event
        case OutcomeStep(instance, action, outcome):
            yield instance, f"{action}.{outcome}"
        case TimerStep(instance, index):
            t = roster.machines[instance].transitions[index]
            yield from ((instance, x) for x in ("timeout", *(f"timeout {n}" for n in sorted(t.timer_names))))
        case ChannelStep(kind, queue, position):
            channel, receiver, _ = roster.queues[queue]
            whose = receiver if channel.each else None
            yield whose, f"{kind} {channel.name}"
            yield whose, f"{kind} {channel.name}.{world.channels[queue][position].event}"
        case CrashStep(of=of):
            yield from ((n, "crash") for n in of or [None])
        case RecoverStep():
            yield None, "recover"
