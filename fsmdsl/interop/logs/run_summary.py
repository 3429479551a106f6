"""The summary of a run up to a line of the log: counts, the last steps, and the instances of names."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Sequence
from typing import TypeAlias

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.logs.belief import Path, Slots, Transition, new_names
from fsmdsl.interop.logs.records import RawRecord
from fsmdsl.runs.trace import Entry
from fsmdsl.step import World
from fsmdsl.step.instances import Roster

MAX_STEPS = 12
"""Maximum number of steps in the summary, unless the whole run is requested."""

MAX_LINES = 100
"""Maximum number of line numbers of one step."""

MAX_NAMES = 2_000
"""Maximum number of names that are no longer in use, unless the whole run is requested."""


MatchedLine: TypeAlias = tuple[RawRecord, Slots, Transition]
"""A line that was explained, the names in use before it, and what it did."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A step of the run, the world before it, and the lines about it; none: it was hidden."""

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
    logged: int = 0
    """Number of steps with a line of their own."""

    @property
    def hidden(self) -> int:
        """Number of steps without a line of their own."""
        return self.count - self.logged

    def extend(self, matched_lines: Sequence[MatchedLine], paths: Sequence[Path]) -> None:
        """Take over what some lines have led to, each on a path of its transition."""
        for path, times in Counter(paths).items():
            self.count += len(path.steps) * times
            self.logged += sum(has_line for _, has_line in path.steps) * times
            for row, n in path.rows.items():
                self.rows[row] += n * times
        self._name(matched_lines, paths)
        first, missing = len(paths), self.count if self.steps.maxlen is None else self.steps.maxlen
        while first and missing > 0:
            first -= 1
            missing -= len(paths[first].steps)
        number = self.count - sum(len(x.steps) for x in paths[first:])
        for matched_line, path in zip(matched_lines[first:], paths[first:], strict=True):
            number = self._take(matched_line, path, number)

    def copy(self) -> RunSummary:
        """The same, to be extended in another way."""
        return replace(self, steps=deque(self.steps, self.steps.maxlen), rows=self.rows.copy(), names=dict(self.names))

    def _take(self, matched_line: MatchedLine, path: Path, number: int) -> int:
        """The steps of a path, from a number on, with their lines. Returns the number of the last."""
        line, before = matched_line[0][0], path.start.world
        for edge, has_line in path.steps:
            number += 1
            entry = Entry(edge.step, edge.cascade, edge.target.world)
            self.steps.append(Taken(number, before, entry, (line,) if has_line else ()))
            before = edge.target.world
        if path.about_last and self.steps and len(self.steps[-1].lines) < MAX_LINES:
            self.steps[-1] = replace(self.steps[-1], lines=(*self.steps[-1].lines, line))
        return number

    def _name(self, matched_lines: Sequence[MatchedLine], paths: Sequence[Path]) -> None:
        """The names that lines brought up, with what they stand for on these paths."""
        for ((_, _, meaning, values), slots, t), path in zip(matched_lines, paths, strict=True):
            if t.new_slots:
                new = zip(new_names(meaning, values, slots), path.instances, strict=True)
                self.names.update((name, n) for name, n in new if n is not None)
        if matched_lines and self.steps.maxlen is not None and len(self.names) > MAX_NAMES:
            in_use = {*matched_lines[-1][1], *[*self.names][-MAX_NAMES // 2 :]}
            self.names = {name: n for name, n in self.names.items() if name in in_use}


def empty_summary(roster: Roster, *, whole: bool) -> RunSummary:
    """An empty one, that keeps the whole run or its last steps."""
    return RunSummary(roster, deque(maxlen=None if whole else MAX_STEPS))
