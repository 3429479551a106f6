"""Which run explains a log, or the first line that nothing explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from typing import Literal, TypeAlias

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.interop.logs.binding import Reading
from fsmdsl.interop.logs.lines import Line, Match, search
from fsmdsl.interop.logs.nearest import LINES_AFTER, LINES_BEFORE, Change, changes
from fsmdsl.interop.logs.reasons import enabled_steps, reasons
from fsmdsl.interop.logs.records import RawRecord, Record, Records, Tally
from fsmdsl.interop.logs.run_summary import RunSummary
from fsmdsl.interop.logs.successor_cache import SuccessorCache, UndecidedError
from fsmdsl.interop.logs.walk import Walk
from fsmdsl.interop.logs.worlds import TooManyWorldsError, Tracker
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
    all_tried: bool
    """Was every change tried?"""


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer. `summary` is the run: of an explained log to its end, else up to the line before the failure."""

    outcome: Outcome
    reading: Reading = field(repr=False)
    tally: Tally
    summary: RunSummary = field(repr=False)
    failure: Failure | None = None
    undecided: str | None = None
    """Why there is no answer."""
    unexplained: int = 0
    """Lines that nothing explains; `failure` is the first."""


Tell: TypeAlias = Callable[[Explanation], None]
"""What is done with a line that nothing explains, and with the run up to it."""

MAX_FAILURES = 20
"""Maximum number of unexplained lines that are reported with the nearest miss. Further ones are only counted."""


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
        ahead: int | None = LINES_AFTER,
    ) -> None:
        """`depth`: hidden steps between two lines, at most; `whole`: keep the whole run; `ahead`: the number
        of lines after an unexplained line that are read to find the nearest miss; None: it is not searched for."""
        self.reading, self.ahead = reading, ahead
        self.unexplained = 0
        """Number of unexplained lines so far."""
        self.records = Records(reading, name, log, match)
        self.walk = Walk(Tracker(SuccessorCache(reading), depth), whole=whole)

    def explanation(self, tell: Tell | None = None) -> Explanation:
        """Read the log to its end, or to the first line that nothing explains. To be called once.

        With `tell` it goes on behind such lines: it is called with the run up to each of the first `MAX_FAILURES`. The
        answer is exact for this depth, up to the first such line. Memory does not grow with the log, unless the whole
        run is kept, or more than `walk.MAX_SUMMARIES` worlds stay possible. Raises `LogError` where the mapping is
        strict.
        """
        walk, tally, records = self.walk, self.records.tally, iter(self.records)
        first: Failure | None = None
        try:
            while (failed := walk.follow(records)) is not None:
                self.unexplained += 1
                if self.unexplained <= MAX_FAILURES:
                    so_far = replace(tally)
                    ahead = None if self.ahead is None else list(islice(records, self.ahead))
                    records = chain(ahead or (), records)
                    failure = _failure(walk, failed, ahead, so_far)
                    first = first or failure
                    explanation = self._answer("not explained", so_far, failure)
                    if tell is None:
                        return explanation
                    tell(explanation)
                walk.resume(failed)
        except (TooManyWorldsError, UndecidedError) as error:
            return self._answer("undecided", tally, first, undecided=f"line {walk.line}: {error}")
        if first is not None:
            return self._answer("not explained", tally, first)
        return self._answer("explained" if tally.matched else "nothing to explain", tally, None)

    def _answer(
        self, outcome: Outcome, tally: Tally, failure: Failure | None, undecided: str | None = None
    ) -> Explanation:
        summary = self.walk.summary()
        summary.names.update(
            self.walk.possible()[0].names
        )  # a name can stand for another instance in a run that resumes
        return Explanation(outcome, self.reading, tally, summary, failure, undecided, self.unexplained)


def explain(
    reading: Reading, name: str, log: Iterable[Line], *, depth: int, whole: bool = False, match: Match = search
) -> Explanation:
    """Explain a log: see `Explainer`."""
    return Explainer(reading, name, log, depth=depth, whole=whole, match=match).explanation()


def _failure(walk: Walk, record: Record, behind: Sequence[RawRecord] | None, tally: Tally) -> Failure:
    tracker, possible = walk.tracker, walk.possible()
    best = possible[0]
    worlds = len({id(x.node) for level in tracker.levels(possible) for x in level})
    why = reasons(tracker, possible, record.claim)
    steps = enabled_steps(tracker, best)
    recent = [*walk.recent(), (record, possible)][-LINES_BEFORE:]
    nearest, all_tried = ((), False) if behind is None else changes(tracker, recent, list(map(Record._make, behind)))
    return Failure(record, worlds, best.node.world, steps, why, tally, nearest, all_tried)
