"""The part of a run that is settled: the same in every possibility that is left."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from fsmdsl.explore.trace import Entry
from fsmdsl.logs.worlds import Moment, Possibility
from fsmdsl.step import Followed, World
from fsmdsl.step.roster import Roster

TAIL = 12
"""So many steps are remembered where the whole run is not asked for."""


@dataclass(slots=True)
class Taken:
    """A step of the run, the world before it, and the lines that told of it; none: it was hidden."""

    number: int
    """From 1."""
    before: World
    entry: Entry
    lines: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    """Steps taken, how often each row was followed (by machine, qualified, and index), what names stood for."""

    roster: Roster
    world: World
    steps: deque[Taken]
    rows: Counter[tuple[str, int]] = field(default_factory=Counter)
    names: dict[str, int] = field(default_factory=dict)
    count: int = 0
    shown: int = 0
    """Steps that a line told of."""

    @property
    def hidden(self) -> int:
        """Steps that no line told of."""
        return self.count - self.shown

    def settle(self, possibilities: Sequence[Possibility]) -> None:
        """Take over what all possibilities have in common. Takes time in proportion to what is not settled yet."""
        common = _common(possibilities)
        if common is None:
            return
        for moment in _since(common):
            self._take(moment)
        common.settled, common.before = True, None

    def _take(self, moment: Moment) -> None:
        self.names.update(moment.names)
        if moment.edge is not None:
            edge, self.count = moment.edge, self.count + 1
            entry = Entry(edge.step, edge.cascade, edge.target.world)
            self.steps.append(Taken(self.count, self.world, entry))
            self.world = edge.target.world
            for h in edge.cascade:
                if isinstance(h, Followed):
                    self.rows[self.roster.machines[h.instance].qualified, h.transition] += 1
        if moment.line is not None and self.steps:
            self.shown += not self.steps[-1].lines
            self.steps[-1].lines.append(moment.line)


def ledger(roster: Roster, start: World, *, whole: bool) -> Ledger:
    """An empty one, that keeps the whole run or its last steps."""
    return Ledger(roster, start, deque(maxlen=None if whole else TAIL))


def _since(moment: Moment | None) -> list[Moment]:
    """The moments that are not settled, up to this one, the first first."""
    found = []
    while moment is not None and not moment.settled:
        found.append(moment)
        moment = moment.before
    return found[::-1]


def _common(possibilities: Sequence[Possibility]) -> Moment | None:
    """The last moment that all possibilities have been through."""
    first, *others = possibilities
    chain = _since(first.past)
    place = {id(x): n for n, x in enumerate(chain)}
    end = len(chain) - 1
    for other in others:
        moment = other.past
        while moment is not None and not moment.settled and id(moment) not in place:
            moment = moment.before
        end = min(end, -1 if moment is None or moment.settled else place[id(moment)])
    return chain[end] if end >= 0 else None
