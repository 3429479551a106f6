"""From line to line: the set of possible worlds, and the way to each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fsmdsl.interop.logs.belief import BeliefAutomaton, line_outline, possibilities, slots_after
from fsmdsl.interop.logs.nearest import LINES_BEFORE
from fsmdsl.interop.logs.records import RawRecord, Record
from fsmdsl.interop.logs.run_summary import MatchedLine, RunSummary, empty_summary
from fsmdsl.interop.logs.worlds import Possibility, Tracker

COMPACT_EVERY = 512
"""Number of matched lines after which they are compacted into summaries, plus `SUMMARY_LINES` for each summary. More
lines would not fit into the cache of the processor."""

SUMMARY_LINES = 4
"""Additional matched lines before compaction, per summary: compaction takes time for each of them."""

MAX_SUMMARIES = 1_000
"""Maximum number of summaries, one for each possible world. With more worlds, all matched lines stay in memory."""


class Walk:
    """A walk through a log. A line takes two look-ups where one like it has been in the same set of worlds before."""

    def __init__(self, tracker: Tracker, *, whole: bool = False) -> None:
        self.tracker = tracker
        self.line = 0
        """The last line that was tried."""
        self._whole = whole
        self._beliefs = BeliefAutomaton(tracker)
        self._belief, self._slots = self._beliefs.start()
        self._summaries = [empty_summary(tracker.universe, whole=whole) for _ in self._belief.members]
        """Of each world that was possible before the first of the matched lines."""
        self._matched_lines: list[MatchedLine] = []
        self._earlier: list[MatchedLine] = []
        self._due = COMPACT_EVERY
        """Number of matched lines at which they are compacted next."""

    def follow(self, records: Iterable[RawRecord]) -> Record | None:
        """Take records until one is explained by nothing: that one, else None. It is not taken.

        Raises `TooManyWorldsError` and `UndecidedError`.
        """
        belief, slots, matched_lines = self._belief, self._slots, self._matched_lines
        for raw in records:
            _, _, meaning, values = raw
            # With one value, the slot of the name is the whole outline, and much cheaper to compute.
            key = (meaning.number, slots.get(values[0])) if len(values) == 1 else line_outline(meaning, values, slots)
            t = belief.following.get(key)
            if t is None:
                record = Record._make(raw)
                self.line, self._belief, self._slots = record.line, belief, slots
                t = self._beliefs.transition(belief, key, record, slots)
                if t is None:
                    return record
            matched_lines.append((raw, slots, t))
            belief = t.target
            if t.renames:
                slots = slots_after(t, meaning, values, slots)
            if len(matched_lines) >= self._due:
                self._belief, self._slots = belief, slots
                self.compact()
                matched_lines = self._matched_lines
        self._belief, self._slots = belief, slots
        return None

    def resume(self, record: Record) -> None:
        """Take the record that nothing explains, in each way in which it can go on. Raises `UndecidedError`."""
        t = self._beliefs.resumption(self._belief, record, self._slots)
        self._matched_lines.append((record, self._slots, t))
        self._belief, self._slots = t.target, slots_after(t, record.meaning, record.values, self._slots)

    def possible(self) -> list[Possibility]:
        """The possibilities as they are."""
        return possibilities(self._belief, self._slots)

    def recent(self) -> list[tuple[Record, Sequence[Possibility]]]:
        """The last lines, each with the possibilities before it."""
        last = [*self._earlier, *self._matched_lines[-LINES_BEFORE:]][-LINES_BEFORE:]
        return [(Record._make(raw), possibilities(t.source, slots)) for raw, slots, t in last]

    def summary(self) -> RunSummary:
        """The run with the fewest hidden steps, up to where the walk is."""
        return _extended(dict(enumerate(self._summaries)), self._matched_lines, 0)

    @property
    def last_line(self) -> int:
        """The last line that was explained; 0 before the first. Like `summary`, it may be asked for between lines."""
        last = self._matched_lines or self._earlier
        return last[-1][0][0] if last else 0

    @property
    def worlds(self) -> int:
        """How many worlds are possible after it."""
        belief = self._matched_lines[-1][2].target if self._matched_lines else self._belief
        return len(belief.members)

    # Memory

    def compact(self) -> None:
        """Move the matched lines into the summaries, unless the whole run is needed."""
        ways = set(range(len(self._belief.members)))
        if self._whole or len(ways) > MAX_SUMMARIES:
            self._due = len(self._matched_lines) + COMPACT_EVERY
            return
        self._due = COMPACT_EVERY + SUMMARY_LINES * len(ways)
        matched_lines, summaries = self._matched_lines, dict(enumerate(self._summaries))
        shared = len(matched_lines)
        while shared and len(ways) > 1:
            shared -= 1
            ways = {matched_lines[shared][2].paths[n].origin for n in ways}
        if len(ways) == 1:  # all ways are the same until here
            (way,) = ways
            summaries = {way: _extended(summaries, matched_lines[:shared], way)}
        self._summaries = [_extended(summaries, matched_lines[shared:], n) for n in range(len(self._belief.members))]
        self._earlier = [*self._earlier, *matched_lines[-LINES_BEFORE:]][-LINES_BEFORE:]
        self._matched_lines = []


def _extended(summaries: Mapping[int, RunSummary], matched_lines: Sequence[MatchedLine], way: int) -> RunSummary:
    """The summary of a world: that of the world which it comes from, and what some lines have led to since."""
    paths = []
    for _, _, t in reversed(matched_lines):
        path = t.paths[way]
        paths.append(path)
        way = path.origin
    summary = summaries[way].copy()
    summary.extend(matched_lines, paths[::-1])
    return summary
