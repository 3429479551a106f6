"""Which run explains a log: a set of possible worlds, taken from line to line until one has none left."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from fsmdsl.logs.atlas import Atlas, UndecidedError
from fsmdsl.logs.ledger import Ledger, ledger
from fsmdsl.logs.lines import Line, Match, search
from fsmdsl.logs.meaning import Reading
from fsmdsl.logs.nearest import AHEAD, BACK, Change, changes
from fsmdsl.logs.reasons import enabled_steps, reasons
from fsmdsl.logs.records import Record, Records, Tally
from fsmdsl.logs.worlds import MAX_WORLDS, Possibility, TooManyWorldsError, Tracker
from fsmdsl.step import World

SETTLE_EVERY = 256
"""So many lines pass between two attempts to settle what several possibilities have in common."""

Outcome = Literal["explained", "not explained", "nothing to explain", "undecided"]


@dataclass(frozen=True, slots=True)
class Failure:
    """The first line that nothing explains."""

    record: Record
    worlds: int
    """How many worlds were possible before it."""
    world: World
    """The likeliest: that of the run with the fewest hidden steps."""
    enabled: tuple[str, ...]
    """What the spec allows there."""
    reasons: tuple[str, ...]
    """Why the line is not possible there."""
    tally: Tally
    """The lines up to this one."""
    changes: tuple[Change, ...]
    """Changes of the log after which it is explained, the nearest first."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer. `ledger` is the run: of an explained log to its end, else up to the line before the failure."""

    outcome: Outcome
    reading: Reading = field(repr=False)
    tally: Tally
    ledger: Ledger = field(repr=False)
    failure: Failure | None = None
    undecided: str | None = None
    """Why there is no answer."""


def explain(
    reading: Reading, name: str, log: Iterable[Line], *, depth: int, whole: bool = False, match: Match = search
) -> Explanation:
    """Explain a log. `depth`: hidden steps between two lines, at most; `whole`: keep the whole run.

    The answer is exact for that depth. Memory does not grow with the log, unless the whole run is kept, or as long as
    the log leaves open from the beginning which of several runs it was. Raises `LogError` where the mapping is strict.
    """
    records = Records(reading, name, log, match)
    tracker = Tracker(Atlas(reading), depth)
    run = ledger(reading.universe, reading.universe.start, whole=whole)
    walk = _Walk(tracker, run, records)
    try:
        failure = walk.failure()
    except TooManyWorldsError:
        told = f"line {walk.line}: more than {MAX_WORLDS:,} worlds are possible; log more, or allow fewer hidden steps"
        return Explanation("undecided", reading, records.tally, run, undecided=told)
    except UndecidedError as error:
        return Explanation("undecided", reading, records.tally, run, undecided=f"line {walk.line}: {error}")
    if failure is not None:
        return Explanation("not explained", reading, failure.tally, run, failure)
    outcome: Outcome = "explained" if records.tally.matched else "nothing to explain"
    return Explanation(outcome, reading, records.tally, run)


class _Walk:
    """From record to record."""

    def __init__(self, tracker: Tracker, run: Ledger, records: Records) -> None:
        self.tracker, self.run, self.records = tracker, run, iter(records)
        self.tally = records.tally
        self.recent: deque[tuple[Record, Sequence[Possibility]]] = deque(maxlen=BACK)
        """The last records, each with the possibilities before it."""
        self.line = 0

    def failure(self) -> Failure | None:
        """Take all records; the first that nothing explains, with what can be said of it."""
        possible: Sequence[Possibility] = self.tracker.start()
        for n, record in enumerate(self.records, 1):
            self.line = record.line
            after = self.tracker.advance(possible, record.claim, record.line)
            self.recent.append((record, possible))
            if not after:
                return self._failed(record, possible)
            possible = after
            if len(after) == 1 or n % SETTLE_EVERY == 0:
                self.run.settle(after)
        self.run.settle(possible[:1])
        return None

    def _failed(self, record: Record, possible: Sequence[Possibility]) -> Failure:
        best, tally = possible[0], replace(self.tally)
        worlds = len({id(x.spot) for level in self.tracker.levels(possible) for x in level})
        ahead = list(islice(self.records, AHEAD))
        found = changes(self.tracker, list(self.recent), ahead)
        why = reasons(self.tracker, possible, record.claim)
        self.run.settle([best])
        return Failure(record, worlds, best.spot.world, enabled_steps(self.tracker, best), why, tally, found)
