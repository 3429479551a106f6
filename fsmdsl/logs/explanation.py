"""Which run explains a log, or the first line that nothing explains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

from fsmdsl.logs.atlas import Atlas, UndecidedError
from fsmdsl.logs.ledger import Ledger
from fsmdsl.logs.lines import Line, Match, search
from fsmdsl.logs.meaning import Reading
from fsmdsl.logs.nearest import AHEAD, BACK, Change, changes
from fsmdsl.logs.reasons import enabled_steps, reasons
from fsmdsl.logs.records import Record, Records, Said, Tally
from fsmdsl.logs.walk import Walk
from fsmdsl.logs.worlds import TooManyWorldsError, Tracker
from fsmdsl.step import World

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


class Explainer:
    """An explanation under way: what was read, and where it has led to."""

    def __init__(
        self,
        reading: Reading,
        name: str,
        log: Iterable[Line],
        *,
        depth: int,
        whole: bool = False,
        match: Match = search,
    ) -> None:
        """`depth`: hidden steps between two lines, at most; `whole`: keep the whole run."""
        self.reading = reading
        self.records = Records(reading, name, log, match)
        self.walk = Walk(Tracker(Atlas(reading), depth), whole=whole)

    def explanation(self) -> Explanation:
        """Read the log to its end, or to the first line that nothing explains. To be called once.

        The answer is exact for this depth. Memory does not grow with the log, unless the whole run is kept, or more
        than `walk.MAX_LEDGERS` worlds stay possible. Raises `LogError` where the mapping is strict.
        """
        walk, tally, records = self.walk, self.records.tally, iter(self.records)
        try:
            failed = walk.follow(records)
            failure = None if failed is None else _failure(walk, failed, records, tally)
        except (TooManyWorldsError, UndecidedError) as error:
            undecided = f"line {walk.line}: {error}"
            return Explanation("undecided", self.reading, tally, walk.ledger(), undecided=undecided)
        if failure is not None:
            return Explanation("not explained", self.reading, failure.tally, walk.ledger(), failure)
        outcome: Outcome = "explained" if tally.matched else "nothing to explain"
        return Explanation(outcome, self.reading, tally, walk.ledger())


def explain(
    reading: Reading, name: str, log: Iterable[Line], *, depth: int, whole: bool = False, match: Match = search
) -> Explanation:
    """Explain a log: see `Explainer`."""
    return Explainer(reading, name, log, depth=depth, whole=whole, match=match).explanation()


def _failure(walk: Walk, record: Record, records: Iterator[Said], tally: Tally) -> Failure:
    tracker, so_far, possible = walk.tracker, replace(tally), walk.possible()
    best = possible[0]
    worlds = len({id(x.spot) for level in tracker.levels(possible) for x in level})
    ahead = [Record._make(x) for x in islice(records, AHEAD)]
    found = changes(tracker, [*walk.recent(), (record, possible)][-BACK:], ahead)
    why = reasons(tracker, possible, record.claim)
    return Failure(record, worlds, best.spot.world, enabled_steps(tracker, best), why, so_far, found)
