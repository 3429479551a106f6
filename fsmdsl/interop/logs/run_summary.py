"""What is kept of a run whose lines are behind it: counts, the last steps, and what names stood for."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TypeAlias

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.logs.belief import Path, Slots, Transition, new_names
from fsmdsl.interop.logs.records import Said
from fsmdsl.runs.trace import Entry
from fsmdsl.step import World
from fsmdsl.step.instances import Roster

TAIL = 12
"""So many steps are remembered where the whole run is not asked for."""

MAX_LINES = 100
"""So many lines about one step are named."""

MAX_NAMES = 2_000
"""So many names are remembered where the whole run is not asked for, and those in use."""


MatchedLine: TypeAlias = tuple[Said, Slots, Transition]
"""A line that was explained, the names in use before it, and what it did."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A step of the run, the world before it, and the lines that told of it; none: it was hidden."""

    number: int
    """From 1."""
    before: World
    entry: Entry
    lines: tuple[int, ...]


@dataclass(slots=True)
class RunSummary:
    """Steps taken, how often each row was followed (by machine, qualified, and index), what names stood for."""

    roster: Roster
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

    def extend(self, passages: Sequence[MatchedLine], paths: Sequence[Path]) -> None:
        """Take over what some lines have led to, each on a path of its transition."""
        for path, times in Counter(paths).items():
            self.count += len(path.steps) * times
            self.shown += sum(told for _, told in path.steps) * times
            for row, n in path.rows.items():
                self.rows[row] += n * times
        self._name(passages, paths)
        first, missing = len(paths), self.count if self.steps.maxlen is None else self.steps.maxlen
        while first and missing > 0:
            first -= 1
            missing -= len(paths[first].steps)
        number = self.count - sum(len(x.steps) for x in paths[first:])
        for passage, path in zip(passages[first:], paths[first:], strict=True):
            number = self._take(passage, path, number)

    def copy(self) -> RunSummary:
        """The same, to be extended in another way."""
        return replace(self, steps=deque(self.steps, self.steps.maxlen), rows=self.rows.copy(), names=dict(self.names))

    def _take(self, passage: MatchedLine, path: Path, number: int) -> int:
        """The steps of a path, from a number on, with their lines. Returns the number of the last."""
        line, before = passage[0][0], path.start.world
        for edge, told in path.steps:
            number += 1
            entry = Entry(edge.step, edge.cascade, edge.target.world)
            self.steps.append(Taken(number, before, entry, (line,) if told else ()))
            before = edge.target.world
        if path.about_last and self.steps and len(self.steps[-1].lines) < MAX_LINES:
            self.steps[-1] = replace(self.steps[-1], lines=(*self.steps[-1].lines, line))
        return number

    def _name(self, passages: Sequence[MatchedLine], paths: Sequence[Path]) -> None:
        """The names that lines brought up, with what they stand for on these paths."""
        for ((_, _, meaning, values), slots, t), path in zip(passages, paths, strict=True):
            if t.new_slots:
                new = zip(new_names(meaning, values, slots), path.instances, strict=True)
                self.names.update((name, n) for name, n in new if n is not None)
        if passages and self.steps.maxlen is not None and len(self.names) > MAX_NAMES:
            kept = {*passages[-1][1], *[*self.names][-MAX_NAMES // 2 :]}
            self.names = {name: n for name, n in self.names.items() if name in kept}


def ledger(roster: Roster, *, whole: bool) -> RunSummary:
    """An empty one, that keeps the whole run or its last steps."""
    return RunSummary(roster, deque(maxlen=None if whole else TAIL))
