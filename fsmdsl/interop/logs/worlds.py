"""Every world that is possible after a line, and how each was come to.

A line that names an event is a step of its own. One that names a row or a state alone is about the step before it, or
about one that has no line of its own. Before each line, up to `depth` steps without a line may have happened.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.logs.binding import Claim
from fsmdsl.interop.logs.successor_cache import CachedState, Edge, SuccessorCache
from fsmdsl.interop.logs.unify import Names
from fsmdsl.step import EventStep, Followed, Sent, TraceEvent, Value, World

MAX_WORLDS = 20_000
"""Maximum number of possibilities after a line. With more, the log is not followed further."""


MAX_RESUMED = 200
"""Maximum number of possibilities kept after a line that nothing explains, the likeliest first."""


class TooManyWorldsError(Exception):
    """A line leaves more than `MAX_WORLDS` possibilities open."""

    def __init__(self) -> None:
        super().__init__(f"more than {MAX_WORLDS:,} worlds are possible; log more, or allow fewer hidden steps")


@dataclass(frozen=True, slots=True, eq=False)
class TraceStep:
    """A step of a run (None: the line is about the step before), and the line that told of it (None: hidden)."""

    before: TraceStep | None = field(repr=False)
    edge: Edge | None
    line: int | None
    names: Names


@dataclass(frozen=True, slots=True, eq=False)
class Possibility:
    """A world, what names stand for in it, what lines may still be about in the last step, how many steps on the way
    were hidden, and the way. Two of one `key` have the same future."""

    node: CachedState
    names: Names = ()
    rest: tuple[TraceEvent, ...] = ()
    hidden: int = 0
    past: TraceStep | None = field(default=None, repr=False)

    @property
    def key(self) -> tuple[int, Names, tuple[TraceEvent, ...]]:
        """What decides what can come after it."""
        return (id(self.node), self.names, self.rest)


class Tracker:
    """Takes sets of possibilities from line to line. `depth`: hidden steps between two lines, at most."""

    def __init__(self, successors: SuccessorCache, depth: int) -> None:
        self.successors, self.depth = successors, depth
        self.universe = successors.universe
        self.directory = successors.reading.directory

    def start(self) -> list[Possibility]:
        """Before the first line."""
        return [Possibility(self.successors.state(x)) for x in self.successors.starts()]

    def advance(self, before: Sequence[Possibility], claim: Claim, line: int) -> list[Possibility]:
        """The possibilities after a line, those with the fewest hidden steps first; none: nothing explains it.

        Raises `TooManyWorldsError`, and `UndecidedError` where the environment has no value.
        """
        after: dict[object, Possibility] = {}
        for level in self.levels(before):
            for x in level:
                for y in self._explained(x, claim, line):
                    _keep(after, y)
            if len(after) > MAX_WORLDS:
                raise TooManyWorldsError
        return sorted(after.values(), key=lambda x: x.hidden)

    def resume(
        self, before: Sequence[Possibility], anew: Sequence[Possibility], claim: Claim, line: int
    ) -> list[Possibility]:
        """The possibilities after a line that nothing explains, the likeliest first. Lines before it were lost, so that
        any step may be hidden; or the line is wrong, and changes nothing; or the system has begun `anew`, and lines
        were lost since. Raises `UndecidedError`."""
        after: dict[object, Possibility] = {}
        for x in before:
            _keep(after, _less_likely(x, self.depth + 1))
        for begun in (before, [_less_likely(x, 2 * self.depth + 2) for x in anew]):
            with suppress(TooManyWorldsError):
                for level in self.levels(begun, lost=True):
                    for x in level:
                        for y in self._explained(x, claim, line):
                            _keep(after, y)
        return sorted(after.values(), key=lambda x: x.hidden)[:MAX_RESUMED]

    def levels(self, before: Iterable[Possibility], *, lost: bool = False) -> Iterator[list[Possibility]]:
        """The possibilities after no hidden step, after one, and so on; with more hidden steps than it needs, none.

        `lost`: steps that have lines may be hidden too."""
        reached: dict[object, Possibility] = {}
        for x in before:
            _keep(reached, x)
        level = list(reached.values())
        for _ in range(self.depth):
            self.successors.spend(len(level))
            yield level
            further: dict[object, Possibility] = {}
            for x in level:
                for edge in self.successors.every(x.node) if lost else self.successors.silent(x.node):
                    y = hidden(x, edge)
                    if y.key not in reached or y.hidden <= reached[y.key].hidden:
                        _keep(further, y)
            reached |= further
            if len(reached) > MAX_WORLDS:
                raise TooManyWorldsError
            level = list(further.values())
            if not level:
                return
        yield level

    # One line

    def _explained(self, x: Possibility, claim: Claim, line: int) -> Iterator[Possibility]:
        for instance, names in self._instances(x, claim):
            if claim.event is not None:
                for edge in self.successors.own(x.node, (instance, claim.event)):
                    yield from self._own(x, claim, instance, edge, names, line)
            if instance is None:
                continue
            yield from self._about(x, claim, instance, names, line)
            for edge in self.successors.speaking(x.node):
                begun = Possibility(edge.target, names, edge.marks, x.hidden, TraceStep(x.past, edge, line, names))
                yield from self._about(begun, claim, instance, names, line, began=True)

    def _instances(self, x: Possibility, claim: Claim) -> Iterator[tuple[int | None, Names]]:
        if claim.name is None:
            yield None, x.names
        else:
            yield from self.directory.choices(x.names, claim.name, claim.meaning.choice)

    def _own(
        self, x: Possibility, claim: Claim, instance: int | None, edge: Edge, names: Names, line: int
    ) -> Iterator[Possibility]:
        """A step that the line names. What else the line says must be so after it, or on the way."""
        arguments = edge.step.arguments if isinstance(edge.step, EventStep) else ()
        for bound in self.arguments(claim, instance, arguments, names):
            for after in self._stands(claim, instance, edge.target.world, edge.cascade, bound):
                yield self._next(x, claim, edge.target, after, edge.marks, TraceStep(x.past, edge, line, after))

    def _about(
        self, x: Possibility, claim: Claim, instance: int, names: Names, line: int, *, began: bool = False
    ) -> Iterator[Possibility]:
        """Something that happened in the last step, or is so after it. `began`: that step has no line yet."""

        def possibility(names: Names, rest: tuple[TraceEvent, ...]) -> Possibility:
            past = x.past if began else TraceStep(x.past, None, line, names)
            return self._next(x, claim, x.node, names, rest, past)

        for n, trace_event in enumerate(x.rest):
            rest = (*x.rest[:n], *x.rest[n + 1 :])
            for bound in self._happened(claim, instance, trace_event, names):
                yield from (possibility(after, rest) for after in self._fields(claim, instance, x.node.world, bound))
        if claim.event is None and claim.row is None and not began and self._is_in(claim, x.node.world, instance):
            yield from (possibility(after, x.rest) for after in self._fields(claim, instance, x.node.world, names))

    def _next(
        self,
        x: Possibility,
        claim: Claim,
        node: CachedState,
        names: Names,
        rest: tuple[TraceEvent, ...],
        past: TraceStep | None,
    ) -> Possibility:
        if claim.meaning.rule.ends:
            names = tuple((name, n) for name, n in names if name != claim.name)
        return Possibility(node, names, rest, x.hidden, past)

    # What a line says

    def _happened(self, claim: Claim, instance: int, trace_event: TraceEvent, names: Names) -> Iterator[Names]:
        """Is the line about something that happened in a step?"""
        match trace_event:
            case Sent(_, receiver, event, arguments) if receiver == instance and event == claim.event:
                yield from self.arguments(claim, instance, arguments, names)
            case Followed(at, index, _, after) if at == instance and claim.event is None:
                rows = self.universe.machines[at].transitions[index].names
                if (claim.row is None or claim.row in rows) and (
                    not claim.meaning.leaves or after in claim.meaning.leaves
                ):
                    yield from (names,) * (claim.row is not None or bool(claim.meaning.leaves))
            case _:
                return

    def _stands(
        self, claim: Claim, instance: int | None, world: World, cascade: Sequence[TraceEvent], names: Names
    ) -> Iterator[Names]:
        """Row, state and fields of a line that names an event."""
        if instance is None or not (claim.row or claim.meaning.leaves or claim.fields):
            yield names
            return
        followed = [h for h in cascade if isinstance(h, Followed) and h.instance == instance]
        rows = {x for h in followed for x in self.universe.machines[instance].transitions[h.transition].names}
        passed = {h.after for h in followed}
        if claim.row is not None and claim.row not in rows:
            return
        if self._is_in(claim, world, instance) or passed & claim.meaning.leaves:
            yield from self._fields(claim, instance, world, names)

    def _is_in(self, claim: Claim, world: World, instance: int) -> bool:
        return not claim.meaning.leaves or world.states[instance] in claim.meaning.leaves

    def arguments(
        self, claim: Claim, instance: int | None, step_arguments: Sequence[Value], names: Names
    ) -> Iterator[Names]:
        """Each way in which the arguments of an event are those of the line: what names stand for then."""
        if instance is None or not claim.arguments:
            yield names
            return
        assert claim.event is not None
        parameters = self.universe.machines[instance].event_named[claim.event].parameters
        values = {p.name: (p.type, x) for p, x in zip(parameters, step_arguments, strict=True)}
        yield from self._all(claim.arguments, values, names)

    def _fields(self, claim: Claim, instance: int, world: World, names: Names) -> Iterator[Names]:
        if not claim.fields:
            yield names
            return
        machine = self.universe.machines[instance]
        values = {f.name: (f.type, x) for f, x in zip(machine.fields, world.fields[instance], strict=True)}
        yield from self._all(claim.fields, values, names)

    def _all(
        self, logged_values: Sequence[tuple[str, object]], values: dict[str, tuple[m.Type, Value]], names: Names
    ) -> Iterator[Names]:
        if not logged_values:
            yield names
            return
        (name, logged), *rest = logged_values
        t, value = values[name]
        for after in self.directory.unify(t, logged, value, names):
            yield from self._all(rest, values, after)


def hidden(x: Possibility, edge: Edge) -> Possibility:
    """The possibility after a step without a line."""
    return Possibility(edge.target, x.names, edge.marks, x.hidden + 1, TraceStep(x.past, edge, None, x.names))


def _less_likely(x: Possibility, steps: int) -> Possibility:
    """As if so many steps more were hidden."""
    return replace(x, hidden=x.hidden + steps)


def _keep(reached: dict[object, Possibility], x: Possibility) -> None:
    """Of two with the same future, the one with fewer hidden steps, else the later: then hidden steps stand where they
    are needed, and ways part as late as possible."""
    old = reached.get(x.key)
    if old is None or x.hidden <= old.hidden:
        reached[x.key] = x
