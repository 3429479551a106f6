"""From line to line: the set of possible worlds, and the way to each of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from fsmdsl.interop.logs.belief import BeliefAutomaton, line_outline, possibilities, slots_after
from fsmdsl.interop.logs.nearest import BACK
from fsmdsl.interop.logs.records import Record, Said
from fsmdsl.interop.logs.run_summary import MatchedLine, RunSummary, ledger
from fsmdsl.interop.logs.worlds import Possibility, Tracker

SETTLE_EVERY = 512
"""So many lines are remembered before they are written down in ledgers, and `LEDGER_LINES` more for each ledger. More
would not fit into the processor's cache."""

LEDGER_LINES = 4

MAX_LEDGERS = 1_000
"""A ledger is kept for each possible world; if there are more worlds, all lines are remembered instead."""


class Walk:
    """A walk through a log. A line takes two look-ups where one like it has been in the same set of worlds before."""

    def __init__(self, tracker: Tracker, *, whole: bool = False) -> None:
        self.tracker = tracker
        self.line = 0
        """The last line that was tried."""
        self._whole = whole
        self._beliefs = BeliefAutomaton(tracker)
        self._belief, self._slots = self._beliefs.start()
        self._ledgers = [ledger(tracker.universe, whole=whole) for _ in self._belief.members]
        """Of each world that was possible before the first of the passages."""
        self._passages: list[MatchedLine] = []
        self._earlier: list[MatchedLine] = []
        self._due = SETTLE_EVERY
        """So many passages are written down."""

    def follow(self, records: Iterable[Said]) -> Record | None:
        """Take records until one is explained by nothing: that one, else None. It is not taken.

        Raises `TooManyWorldsError` and `UndecidedError`.
        """
        belief, slots, passages = self._belief, self._slots, self._passages
        for said in records:
            _, _, meaning, values = said
            key = (meaning.number, slots.get(values[0])) if len(values) == 1 else line_outline(meaning, values, slots)
            t = belief.following.get(key)
            if t is None:
                record = Record._make(said)
                self.line, self._belief, self._slots = record.line, belief, slots
                t = self._beliefs.transition(belief, key, record, slots)
                if t is None:
                    return record
            passages.append((said, slots, t))
            belief = t.target
            if t.renames:
                slots = slots_after(t, meaning, values, slots)
            if len(passages) >= self._due:
                self._belief, self._slots = belief, slots
                self.settle()
                passages = self._passages
        self._belief, self._slots = belief, slots
        return None

    def resume(self, record: Record) -> None:
        """Take the record that nothing explains, in each way in which it can go on. Raises `UndecidedError`."""
        t = self._beliefs.resumption(self._belief, record, self._slots)
        self._passages.append((record, self._slots, t))
        self._belief, self._slots = t.target, slots_after(t, record.meaning, record.values, self._slots)

    def possible(self) -> list[Possibility]:
        """The possibilities as they are."""
        return possibilities(self._belief, self._slots)

    def recent(self) -> list[tuple[Record, Sequence[Possibility]]]:
        """The last lines, each with the possibilities before it."""
        last = [*self._earlier, *self._passages[-BACK:]][-BACK:]
        return [(Record._make(said), possibilities(t.source, slots)) for said, slots, t in last]

    def ledger(self) -> RunSummary:
        """The run with the fewest hidden steps, up to where the walk is."""
        return _extended(dict(enumerate(self._ledgers)), self._passages, 0)

    @property
    def last_line(self) -> int:
        """The last line that was explained; 0 before the first. Like `ledger`, it may be asked for between lines."""
        last = self._passages or self._earlier
        return last[-1][0][0] if last else 0

    @property
    def worlds(self) -> int:
        """How many worlds are possible after it."""
        belief = self._passages[-1][2].target if self._passages else self._belief
        return len(belief.members)

    # Memory

    def settle(self) -> None:
        """Write the lines that are remembered down in ledgers, if they may be forgotten."""
        ways = set(range(len(self._belief.members)))
        if self._whole or len(ways) > MAX_LEDGERS:
            self._due = len(self._passages) + SETTLE_EVERY
            return
        self._due = SETTLE_EVERY + LEDGER_LINES * len(ways)
        passages, ledgers = self._passages, dict(enumerate(self._ledgers))
        shared = len(passages)
        while shared and len(ways) > 1:
            shared -= 1
            ways = {passages[shared][2].paths[n].origin for n in ways}
        if len(ways) == 1:  # all ways are the same until here
            (way,) = ways
            ledgers = {way: _extended(ledgers, passages[:shared], way)}
        self._ledgers = [_extended(ledgers, passages[shared:], n) for n in range(len(self._belief.members))]
        self._earlier = [*self._earlier, *passages[-BACK:]][-BACK:]
        self._passages = []


def _extended(ledgers: Mapping[int, RunSummary], passages: Sequence[MatchedLine], way: int) -> RunSummary:
    """The ledger of a world: that of the world which it comes from, and what some lines have led to since."""
    paths = []
    for _, _, t in reversed(passages):
        path = t.paths[way]
        paths.append(path)
        way = path.origin
    found = ledgers[way].copy()
    found.extend(passages, paths[::-1])
    return found
