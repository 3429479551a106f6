"""Sets of possible worlds as the states of an automaton: what a line does to one is computed once.

The names of a log come and go, so a set does not hold them: it holds slots, and the names in use are kept beside it.
What `Tracker.advance` finds for a set and a line is remembered under the set and the outline of the line, in which
slots stand for names. The next line of the same outline is a look-up. Sets and transitions are forgotten when there are
too many.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.logs.binding import Meaning
from fsmdsl.interop.logs.extraction import Values
from fsmdsl.interop.logs.records import Record
from fsmdsl.interop.logs.successor_cache import CachedState, Edge
from fsmdsl.interop.logs.unify import outline
from fsmdsl.interop.logs.worlds import Possibility, TraceStep, Tracker
from fsmdsl.step import Followed, TraceEvent
from fsmdsl.step.instances import Roster

MAX_PATHS = 200_000
"""Maximum number of paths from world to world in the cache, each with its steps."""

Slots: TypeAlias = dict[str, int]
"""Where the names in use are kept: from 0 on; below 0 those that always stand for one instance. Never changed."""


Origins: TypeAlias = Mapping[int, tuple[int, CachedState]]
"""By the identity of a possibility's past, its place in the set before a line, and its world."""


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A possible world of a set: what slots stand for, what lines may still be about, and how many hidden steps more
    the way to it has than the shortest."""

    node: CachedState = field(repr=False)
    bound: tuple[tuple[int, int], ...]
    rest: tuple[TraceEvent, ...]
    hidden: int

    @property
    def key(self) -> Hashable:
        """Two of one key are the same."""
        return (id(self.node), self.bound, self.rest, self.hidden)


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """How a line leads from a member of a set (`origin`: its place) to one of the next set."""

    origin: int
    start: CachedState = field(repr=False)
    """The world in which its steps begin: that of the member, or of a system that has begun anew."""
    instances: tuple[int | None, ...]
    """What each new name of the line stands for."""
    steps: tuple[tuple[Edge, bool], ...]
    """With each, whether the line told of it; if not, it is hidden."""
    about_last: bool
    """The line tells of the last step before it, and of none of these."""
    rows: Counter[tuple[str, int]] = field(repr=False)
    """How often each row is followed, by machine (qualified) and index."""


@dataclass(slots=True, eq=False)
class BeliefState:
    """A set of possible worlds, the one with the fewest hidden steps first, and what lines do to it."""

    members: tuple[Member, ...]
    following: dict[Hashable, Transition] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class Transition:
    """What lines of one outline do to a set: the set after it, with a path to each of its members."""

    source: BeliefState = field(repr=False)
    target: BeliefState = field(repr=False)
    paths: tuple[Path, ...]
    new_slots: tuple[int, ...]
    """The slots of the names that are new in the line, in their order; -1: it is not kept."""
    free_slots: frozenset[int]
    """The slots whose names are no longer in use."""
    renames: bool
    """Are other names in use after it?"""


class BeliefAutomaton:
    """The automaton, as far as a log has led into it."""

    def __init__(self, tracker: Tracker) -> None:
        self.tracker = tracker
        self._states: dict[Hashable, BeliefState] = {}
        self._paths = 0

    def start(self) -> tuple[BeliefState, Slots]:
        """Before the first line."""
        slots = {name: -1 - n for name, n in self.tracker.directory.fixed.items()}
        return self._belief([Member(x.node, (), x.rest, 0) for x in self.tracker.start()]), slots

    def transition(self, belief: BeliefState, key: Hashable, record: Record, slots: Slots) -> Transition | None:
        """What a line does that has this outline; None: nothing explains it. Raises what `Tracker.advance` does."""
        before = possibilities(belief, slots)
        after = self.tracker.advance(before, record.claim, record.line)
        if not after:
            return None
        transition = self._build_transition(belief, record, slots, after, _origins(before))
        belief.following[key] = transition
        return transition

    def resumption(self, belief: BeliefState, record: Record, slots: Slots) -> Transition:
        """How it goes on after a line that nothing explains. Raises what `Tracker.resume` does."""
        before = possibilities(belief, slots)
        anew = [replace(x, past=TraceStep(None, None, None, ())) for x in self.tracker.start()]
        after = self.tracker.resume(before, anew, record.claim, record.line)
        begun = {name: (0, node) for name, (_, node) in _origins(anew).items()}
        return self._build_transition(belief, record, slots, after, {**_origins(before), **begun})

    def _build_transition(
        self,
        belief: BeliefState,
        record: Record,
        slots: Slots,
        after: Sequence[Possibility],
        origins: Origins,
    ) -> Transition:
        if self._paths + len(after) > MAX_PATHS:
            self._forget()
        self._paths += len(after)
        new = new_names(record.meaning, record.values, slots)
        in_use = {name for x in after for name, _ in x.names}
        freed = frozenset(n for name, n in slots.items() if n >= 0 and name not in in_use)
        best = dict(after[0].names)
        new_slots, used = [], set(slots.values()) - freed
        for name in new:
            free = (n for n in (best.get(name, 0), *range(len(used) + 1)) if n not in used)
            new_slots.append(next(free) if name in in_use else -1)
            used.add(new_slots[-1])
        place = slots | dict(zip(new, new_slots, strict=True))
        members = [_member(x, place, after[0].hidden) for x in after]
        paths = tuple(_path(self.tracker.universe, x, new, origins) for x in after)
        return Transition(belief, self._belief(members), paths, tuple(new_slots), freed, bool(new_slots or freed))

    def _belief(self, members: Sequence[Member]) -> BeliefState:
        return self._states.setdefault(tuple(x.key for x in members), BeliefState(tuple(members)))

    def _forget(self) -> None:
        for x in self._states.values():
            x.following.clear()
        self._states.clear()
        self._paths = 0


def line_outline(meaning: Meaning, values: Values, slots: Slots) -> Hashable:
    """What decides what a line does to a set of worlds: lines of the same outline do the same. Its first part is the
    number of the `[[line]]`."""
    if len(values) == 1:
        return meaning.number, slots.get(values[0])
    return meaning.number, *_outlines(meaning, values, slots, {})


def new_names(meaning: Meaning, values: Values, slots: Slots) -> list[str]:
    """The names in a line that are not in use before it, in the order of the line."""
    if len(values) == 1:
        return [] if values[0] is None or values[0] in slots else [values[0]]
    new: dict[str, int] = {}
    for _ in _outlines(meaning, values, slots, new):
        pass
    return list(new)


def _outlines(meaning: Meaning, values: Values, slots: Slots, new: dict[str, int]) -> Iterator[Hashable]:
    def place(name: str) -> Hashable:
        slot = slots.get(name)
        return ("new", new.setdefault(name, len(new))) if slot is None else slot

    name, *others = values
    yield place(name) if isinstance(name, str) else None
    for types, x in zip(meaning.types, others, strict=True):
        yield from (outline(t, x, place) for t in types)


def slots_after(t: Transition, meaning: Meaning, values: Values, slots: Slots) -> Slots:
    """The names in use after a line."""
    after = {name: n for name, n in slots.items() if n not in t.free_slots} if t.free_slots else dict(slots)
    if t.new_slots:
        new = zip(new_names(meaning, values, slots), t.new_slots, strict=True)
        after.update([(name, n) for name, n in new if n >= 0])
    return after


def possibilities(belief: BeliefState, slots: Slots) -> list[Possibility]:
    """A set of worlds with the names of the log. Each has a past of its own that can be told from the others."""
    called = {n: name for name, n in slots.items()}
    members = []
    for x in belief.members:
        names = tuple(sorted((called[slot], instance) for slot, instance in x.bound))
        members.append(Possibility(x.node, names, x.rest, x.hidden, TraceStep(None, None, None, names)))
    return members


def _member(x: Possibility, place: Mapping[str, int], least: int) -> Member:
    return Member(x.node, tuple(sorted((place[name], n) for name, n in x.names)), x.rest, x.hidden - least)


def _origins(possible: Sequence[Possibility]) -> Origins:
    return {id(x.past): (n, x.node) for n, x in enumerate(possible)}


def _path(roster: Roster, x: Possibility, new: Sequence[str], origins: Origins) -> Path:
    """What lies between a possibility and the one before the line that it comes from."""
    steps: list[tuple[Edge, bool]] = []
    trace_step, has_line = x.past, False
    names = {} if trace_step is None else dict(trace_step.names)
    while trace_step is not None and id(trace_step) not in origins:
        has_line = has_line or trace_step.line is not None
        if trace_step.edge is not None:
            steps.append((trace_step.edge, has_line))
            has_line = False
        trace_step = trace_step.before
    followed = (h for edge, _ in steps for h in edge.cascade if isinstance(h, Followed))
    rows = Counter((roster.machines[h.instance].qualified, h.transition) for h in followed)
    return Path(*origins[id(trace_step)], tuple(map(names.get, new)), tuple(reversed(steps)), has_line, rows)
