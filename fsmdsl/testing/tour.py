"""A tour: few walks from the first state that together follow every row that can be followed, or every pair of rows.

To find the shortest such walks is the Chinese postman's problem in its rural form, which is NP-hard. This is the greedy
cover: from where a walk is, the nearest sight that is left comes next; where one is nearer to the first state, a new
walk begins. Takes time in proportion to sights and steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.step import Step, Universe
from fsmdsl.testing.implementation import Implementation
from fsmdsl.testing.landscape import Landscape, Pair, Path, Row, Sight, Unhandled, landscape, sights, unhandled


@dataclass(frozen=True, slots=True)
class Coverage:
    """What walks show, of what there is."""

    rows: frozenset[Row]
    """Rows that are followed."""
    never: frozenset[Row]
    """Rows that no step of the system follows, as far as it was explored."""
    pairs: frozenset[Pair]
    unhandled: frozenset[Unhandled]
    complete: bool
    """Was every state looked at?"""


@dataclass(frozen=True, slots=True)
class Tour:
    """Walks, each from the first state."""

    universe: Universe
    walks: tuple[tuple[Step, ...], ...]
    coverage: Coverage

    def __str__(self) -> str:
        """How long it is, and which rows it does not follow: a line for each."""
        coverage, steps = self.coverage, sum(map(len, self.walks))
        among = f"{len(coverage.rows)} of {len(coverage.rows) + len(coverage.never)} rows"
        pairs = f", {len(coverage.pairs)} pairs" if coverage.pairs else ""
        unhandled = f", {len(coverage.unhandled)} events that are not handled" if coverage.unhandled else ""
        walks = f"{len(self.walks)} walk{'s' * (len(self.walks) != 1)}, {steps} step{'s' * (steps != 1)}"
        lines = [f"{self.universe.system.qualified}: {walks}, {among}{pairs}{unhandled}"]
        why = "in no reachable state" if coverage.complete else "not in the states that were looked at"
        machines = {x.qualified: x for x in self.universe.machines}
        lines += [f"  not followed, {why}: {row.machine}: {_label(machines, row)}" for row in sorted(coverage.never)]
        return "\n".join(lines)


def tour(twin: Implementation, universe: Universe) -> Tour:
    """A tour through the nearest states (`tour`, `tour_states` of the twin). Of several first states it takes the
    first."""
    only = len(universe.starts) == 1
    universe = universe.beginning(universe.starts[0])
    land = landscape(twin, universe)
    land.complete = land.complete and only
    cover = _Cover(twin, land, twin.tour == "pairs")
    walks = tuple(tuple(path.step for path in walk) for walk in cover.walks())
    rows = {Row(x.qualified, t.index) for x in universe.machines for t in x.transitions}
    sights_of_walks = cover.seen
    followed = frozenset(x for x in sights_of_walks if isinstance(x, Row))
    pairs = frozenset(x for x in sights_of_walks if isinstance(x, Pair))
    events = frozenset(x for x in sights_of_walks if isinstance(x, Unhandled))
    return Tour(universe, walks, Coverage(followed, frozenset(rows - followed), pairs, events, land.complete))


@dataclass(slots=True)
class _Cover:
    twin: Implementation
    land: Landscape
    pairs: bool
    seen: set[Sight] = field(default_factory=set)
    _bits: dict[Sight, int] = field(default_factory=dict)
    _left: int = 0
    _at: list[int] = field(default_factory=list)
    """What can be seen from each state, in one step, or in two for pairs."""

    def walks(self) -> Iterator[list[Path]]:
        """As many as it takes."""
        self._at = [
            self._mask(s for way in self._ways(n) for s in _last_sights(way, self.pairs)) for n in self._numbers()
        ]
        self._left = (1 << len(self._bits)) - 1
        while self._left:
            walk = self._walk()
            if not walk:
                return
            yield walk

    def _numbers(self) -> range:
        return range(len(self.land.worlds))

    def _ways(self, number: int) -> Iterator[tuple[Path, ...]]:
        for first in self.land.paths[number]:
            yield (first,)
            if self.pairs and first.rows:
                yield from ((first, second) for second in self.land.paths[first.target] if second.rows)

    def _mask(self, sights: Iterable[Sight]) -> int:
        mask = 0
        for sight in sights:
            mask |= 1 << self._bits.setdefault(sight, len(self._bits))
        return mask

    def _walk(self) -> list[Path]:
        """One walk, for as long as what is left is nearer to where it is than to the first state."""
        walk: list[Path] = []
        at = 0
        while True:
            self._look_around(walk, at)
            way = self._nearest(at, None)
            if way is None or (at != 0 and self._nearest(0, len(way)) is not None):
                return walk
            for path in way:
                self._take(walk, path)
            at = walk[-1].target

    def _look_around(self, walk: list[Path], at: int) -> None:
        """Events that are not handled here, and were not seen elsewhere: they lead nowhere."""
        events = {x for x in self.seen if isinstance(x, Unhandled)}
        for path in unhandled(self.twin, self.land.universe, at, self.land.worlds[at], events):
            if path.unhandled not in self.seen:
                self._take(walk, path)

    def _take(self, walk: list[Path], path: Path) -> None:
        before = next((x for x in reversed(walk) if x.unhandled is None), None)
        for sight in sights(path, before, self.pairs):
            self.seen.add(sight)
            if sight in self._bits:
                self._left &= ~(1 << self._bits[sight])
        walk.append(path)

    def _nearest(self, start: int, shorter: int | None) -> list[Path] | None:
        """The shortest way from a state that shows something new at its end; None if there is none, or none shorter."""
        way: dict[int, tuple[int, Path] | None] = {start: None}
        depth, waiting = {start: 0}, deque([start])
        while waiting:
            at = waiting.popleft()
            if shorter is not None and depth[at] + 1 >= shorter:
                return None
            if self._at[at] & self._left:
                return [*_back(way, at), *self._best(at)]
            for path in self.land.paths[at]:
                if path.target not in way:
                    way[path.target] = (at, path)
                    depth[path.target] = depth[at] + 1
                    waiting.append(path.target)
        return None

    def _best(self, number: int) -> tuple[Path, ...]:
        """Of the ways that begin in a state, the one that shows most; of such, the shortest."""

        def new(way: tuple[Path, ...]) -> tuple[int, int]:
            return ((self._mask(_last_sights(way, self.pairs)) & self._left).bit_count(), -len(way))

        return max(self._ways(number), key=new)


def _last_sights(way: tuple[Path, ...], pairs: bool) -> Iterator[Sight]:
    """What the last step of a way shows, behind the one before."""
    yield from sights(way[-1], way[-2] if len(way) > 1 else None, pairs)


def _back(way: dict[int, tuple[int, Path] | None], at: int) -> list[Path]:
    walk: list[Path] = []
    while (came := way[at]) is not None:
        at, path = came
        walk.append(path)
    return walk[::-1]


def _label(machines: Mapping[str, m.Machine], row: Row) -> str:
    t = machines[row.machine].transitions[row.index]
    return f"{t.source} on {t.shown_trigger}" if t.label is None else t.label
