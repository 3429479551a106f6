"""`refines`: is every step of a system a step of another, or one that changes nothing there?

Each world of the system has an image: what the other system looks like then. The image of a first world must be a
first world of the other, and from one image to the next must lead a step of the other, by the definition of the
language, or none where they are equal. Worlds come from the search, nearest first, so that what is found first is
shown by a shortest run. Images are made once for each world, and the steps of the other system once for each image;
memory and time are in proportion to worlds, steps and distinct images.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.workspace import shipped
from fsmdsl.runs.search_result import Finding, Searched
from fsmdsl.runs.trace import Entry, Trace, changed_fields, taken
from fsmdsl.runs.verdicts.verdict import Images, Outcome
from fsmdsl.step import FaultError, TooManyValuesError, Universe, Value, World, enabled, holds, value
from fsmdsl.step.describe import describe, fault_message, value_text
from fsmdsl.step.instances import Queue
from fsmdsl.step.values import outside, renamed
from fsmdsl.step.world import Followed, Message, Pending
from fsmdsl.text.source import Span

MAX_COUNTERPARTS = 6
"""Steps of the other system that are named where none of them is the right one."""

MAX_REPLAYED = 5_000
"""Maximum number of steps that are taken again to see which rows only stutter."""


@dataclass(frozen=True, slots=True)
class Answer:
    """`moves`: is some step of the system a step of the other?"""

    outcome: Outcome
    reason: str = ""
    """Why it could not be decided."""
    explanation: tuple[str, ...] = ()
    trace: Trace | None = None
    images: Images | None = None
    moves: bool = True
    stutters: tuple[tuple[str, int], ...] = ()
    """See `Verdict.stutters`."""


class NoImageError(Exception):
    """Why a world has no image."""


class Picture:
    """What the refined system looks like in a world of the one that refines it."""

    def __init__(self, universe: Universe, refinement: m.Refinement) -> None:
        self.universe = universe
        self.refinement = refinement
        self.abstract = Universe(universe.model, universe.model.systems[refinement.of])
        ours, theirs = universe.system.number_of, self.abstract.system.number_of
        same = [key for key in theirs if key[0] in refinement.same]
        self._ours = {theirs[key]: ours[key] for key in same}
        self._theirs = {ours[key]: theirs[key] for key in same}
        self._queues = [self._queue(x) for x in self.abstract.queues]
        self._recovers = self.abstract.system.recover is not None

    def _queue(self, x: Queue) -> int | None:
        """Where the messages of a queue wait here: where its ends are themselves."""
        ends = [self._ours[n] for n in x.ends if n in self._ours]
        whole = len(ends) == len(x.ends) and x.receiver in self._ours
        return self.universe.queue(x.channel.qualified, ends) if whole else None

    def of(self, world: World) -> World:
        """The image of a world. Raises `NoImageError`."""
        count = len(self.abstract.machines)
        states, fields = [""] * count, [tuple[Value, ...]()] * count
        for n, own in self._ours.items():
            types = (f.type for f in self.abstract.machines[n].fields)
            states[n] = world.states[own]
            fields[n] = tuple(renamed(t, x, self._name) for t, x in zip(types, world.fields[own], strict=True))
        for row in self.refinement.mapped:
            states[row.instance] = self._state(world, row)
            fields[row.instance] = tuple(self._fields(world, row))
        waiting = (p for p in world.pending if p.instance in self._theirs)
        return World(
            tuple(states),
            tuple(fields),
            frozenset(self._theirs[n] for n in world.waited if n in self._theirs),
            tuple(() if at is None else self._messages(n, world.channels[at]) for n, at in enumerate(self._queues)),
            tuple(Pending(self._theirs[p.instance], p.action) for p in waiting),
            world.down and self._recovers,
        )

    def _name(self, instance: int) -> int:
        """The number that an instance of both has in the refined system."""
        return self._theirs.get(instance, instance)

    def _state(self, world: World, row: m.Mapped) -> str:
        for x in row.states:
            try:
                if x.guard is None or holds(self.universe, world, x.guard, dict(x.bound)):
                    return x.state
            except FaultError as error:
                raise NoImageError(self._without(error, f"whether `{self._whose(row)}` is in {x.state}")) from None
        raise NoImageError(f"no row says in which state `{self._whose(row)}` is")

    def _fields(self, world: World, row: m.Mapped) -> Iterator[Value]:
        n = row.instance
        declared = zip(self.abstract.machines[n].fields, self.abstract.start.fields[n], row.fields, strict=True)
        for f, first, x in declared:
            if x is None:
                yield first
                continue
            what = f"`{self._whose(row)}.{f.name}`"
            try:
                concrete = value(self.universe, world, x.value, locals=dict(x.bound))
            except FaultError as error:
                raise NoImageError(self._without(error, f"what {what} is")) from None
            image = renamed(f.type, concrete, self._name)
            if outside(f.type, image) is not None:
                text = value_text(self.abstract, f.type, image)
                raise NoImageError(f"{what} would be {text}, which `{f.span.quote}` cannot be")
            yield image

    def _messages(self, queue: int, messages: Sequence[Message]) -> tuple[Message, ...]:
        events = self.abstract.machines[self.abstract.queues[queue].receiver].event_named
        return tuple(
            x._replace(
                arguments=tuple(
                    renamed(p.type, y, self._name) for p, y in zip(events[x.event].parameters, x.arguments, strict=True)
                )
            )
            for x in messages
        )

    def _whose(self, row: m.Mapped) -> str:
        return self.abstract.name(row.instance)

    def _without(self, error: FaultError, what: str) -> str:
        return f"cannot determine {what}: {fault_message(self.universe, error.fault)}"


def check(universe: Universe, refinement: m.Refinement, search: Searched) -> Answer:
    """Is every step that was found one of the system that is refined? Raises `LimitError` where the budget ends."""
    trial = _Trial(Picture(universe, refinement), search)
    try:
        wrong = trial.violation()
    except TooManyValuesError as error:
        return Answer("not checked", f"`{refinement.path}` would have to choose among {error}")
    if wrong is not None:
        return wrong
    if search.stopped is not None:
        return Answer("unknown", f"bounded: {search.stopped}")
    return Answer("holds", moves=bool(trial.taken), stutters=trial.stuttering())


UNKNOWN = -1


class _Trial:
    """All worlds and steps of a search, and their images by number."""

    def __init__(self, picture: Picture, search: Searched) -> None:
        self.picture, self.abstract, self.search = picture, picture.abstract, search
        self.path = picture.refinement.path
        self.graph = search.graph()
        self.image_of = array("q", [UNKNOWN]) * self.graph.states
        self.images: list[World] = []
        self.number: dict[World, int] = {}
        self.late = search.budget.reached is not None
        """Has the search used up its time? Then what it found is looked at until the budget ends that."""
        self.following: dict[int, frozenset[World]] = {}
        self.taken = set[tuple[int, int]]()
        """From which image to which a step of the refined system leads."""

    def violation(self) -> Answer | None:
        """What is found first, nearest to the beginning."""
        graph = self.graph
        wrong = self._first()
        if wrong is not None:
            return wrong
        offsets, targets = graph.offsets, graph.targets
        for at in range(graph.states if graph.expanded is None else graph.expanded):
            if not self.late:
                self.search.budget.check()
            before = self.image_of[at]
            for target in {targets[e]: None for e in range(offsets[at], offsets[at + 1])}:
                if target < 0:
                    continue  # a limit kept that world out
                try:
                    after = self._image(target)
                except NoImageError as error:
                    return self._imageless(target, error)
                if before != after and not self._leads(before, after):
                    return self._without_counterpart(at, target)
        return None

    def stuttering(self) -> tuple[tuple[str, int], ...]:
        """The transitions of rows that were followed and have an effect, but change no image in any step. None, if that
        would take more than `MAX_REPLAYED` steps, or more time than is left."""
        rest = _rows_with_effects(self.search)
        replayed = 0
        for at in range(self.graph.states):
            targets = [self.graph.targets[e] for e in range(self.graph.offsets[at], self.graph.offsets[at + 1])]
            before = self.image_of[at]
            if not rest or all(target < 0 or self.image_of[target] == before for target in targets):
                continue
            if self.search.budget.reached is not None:
                return ()
            for entry in self._taken(at):
                number = self.search.number(entry.world)
                if number is not None and self.image_of[number] != before:
                    rest = [row for row in rest if row.isdisjoint(_followed(self.search, entry))]
            replayed += len(targets)
            if replayed > MAX_REPLAYED and rest:
                return ()
        return tuple(sorted(key for row in rest for key in row))

    def _taken(self, at: int) -> Iterator[Entry]:
        """The steps from a world that do not fail, taken once more."""
        world = self.search.world(at)
        for step in enabled(self.search.universe, world):
            entry = taken(self.search.universe, world, step)
            if entry.fault is None:
                yield entry

    def _image(self, at: int) -> int:
        """The number of the image of a world."""
        if self.image_of[at] == UNKNOWN:
            image = self.picture.of(self.search.world(at))
            if image not in self.number:
                self.number[image] = len(self.images)
                self.images.append(image)
            self.image_of[at] = self.number[image]
        return self.image_of[at]

    def _leads(self, before: int, after: int) -> bool:
        """Does one step of the refined system lead from one image to another?"""
        if (before, after) in self.taken:
            return True
        if before not in self.following:
            self.following[before] = frozenset(x.world for x in self._steps(self.images[before]))
        if self.images[after] not in self.following[before]:
            return False
        self.taken.add((before, after))
        return True

    def _steps(self, image: World) -> Iterator[Entry]:
        """The steps of the refined system that do not fail."""
        for step in enabled(self.abstract, image):
            entry = taken(self.abstract, image, step)
            if entry.fault is None:
                yield entry

    # What is wrong

    def _first(self) -> Answer | None:
        """Each first world must have a first world of the other as its image."""
        begins = frozenset(self.abstract.starts)
        if not begins:
            message = f"`{self.path}` has no initial state"
            return Answer("violated", explanation=(message,), trace=self.search.trace(Finding(0)))
        for at in range(self.graph.firsts):
            try:
                image = self.images[self._image(at)]
            except NoImageError as error:
                return self._imageless(at, error)
            if image in begins:
                continue
            begin = min(self.abstract.starts, key=lambda x: _distance(x, image))
            message = (
                f"its initial state is not an initial state of `{self.path}`: {changes(self.abstract, begin, image)}"
            )
            images = Images(self.abstract, begin, image)
            return Answer("violated", explanation=(message,), trace=self.search.trace(Finding(at)), images=images)
        return None

    def _imageless(self, at: int, error: NoImageError) -> Answer:
        return Answer("violated", explanation=(str(error),), trace=self.search.trace(Finding(at)))

    def _without_counterpart(self, at: int, target: int) -> Answer:
        trace = self.search.trace(Finding(at))
        trace = trace.extended(self.search.leading(trace.end, target))
        before, after = self.images[self.image_of[at]], self.images[self.image_of[target]]
        message = (
            f"the last step changes {changes(self.abstract, before, after)}, but no step of `{self.path}` does that"
        )
        images = Images(self.abstract, before, after)
        return Answer("violated", explanation=(message, *self._possible(before, after)), trace=trace, images=images)

    def _possible(self, image: World, target: World) -> Iterator[str]:
        """What the refined system can do instead; first what comes nearest."""
        counterparts = [x for x in self._steps(image) if x.world != image]
        counterparts.sort(key=lambda x: _distance(x.world, target))
        if not counterparts:
            yield f"`{self.path}` can do nothing there"
        for x in counterparts[:MAX_COUNTERPARTS]:
            step = describe(self.abstract, x.step, image)
            yield f"`{self.path}` can do `{step}` there: {changes(self.abstract, image, x.world)}"
        if len(counterparts) > MAX_COUNTERPARTS:
            yield f"and {len(counterparts) - MAX_COUNTERPARTS} other steps"


def _rows_with_effects(search: Searched) -> list[frozenset[tuple[str, int]]]:
    """The author's rows that were followed and change something, each as those of its transitions."""
    machines = search.universe.model.machines
    rows: defaultdict[tuple[str, Span], set[tuple[str, int]]] = defaultdict(set)
    for machine, index in search.followed:
        t = machines[machine].transitions[index]
        if (t.effects or t.target not in (None, t.source)) and not shipped(t.span.source.name):
            rows[machine, t.span].add((machine, index))
    return [frozenset(row) for row in rows.values()]


def _followed(search: Searched, entry: Entry) -> set[tuple[str, int]]:
    """The transitions that a step has followed, by machine and index."""
    happened = (x for x in entry.cascade if isinstance(x, Followed))
    return {(search.universe.system.instances[x.instance].machine, x.transition) for x in happened}


def changes(roster: Universe, before: World, after: World) -> str:
    """What differs between two worlds: `g: Waiting → Running, g.count: 0 → 1`."""
    states = enumerate(zip(before.states, after.states, strict=True))
    differences = [(roster.name(n), old, new) for n, (old, new) in states if old != new]
    differences += changed_fields(roster, before, after)
    if before.down != after.down:
        differences.append(("the system", *(("down", "up") if before.down else ("up", "down"))))
    if before.pending != after.pending:
        differences.append(("awaited answers", _awaited(roster, before), _awaited(roster, after)))
    return ", ".join(f"{name}: {old} → {new}" for name, old, new in differences) or "an instance's round"


def _distance(a: World, b: World) -> int:
    """How many states and fields differ."""
    moved = sum(x != y for x, y in zip(a.states, b.states, strict=True))
    return moved + sum(x != y for m, n in zip(a.fields, b.fields, strict=True) for x, y in zip(m, n, strict=True))


def _awaited(roster: Universe, world: World) -> str:
    return ", ".join(f"{roster.name(p.instance)}.{p.action}" for p in world.pending) or "none"
