"""The nearest miss: which one change of a log would explain the line that nothing explains.

Each change is tried: the lines from it on are explained anew, with the failing one and a few behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.interop.logs.records import Record
from fsmdsl.interop.logs.successor_cache import Edge, EffortError
from fsmdsl.interop.logs.worlds import Possibility, TooManyWorldsError, Tracker, hidden
from fsmdsl.step.describe import describe
from fsmdsl.text.budget import LimitError

LINES_BEFORE = 8
"""Number of lines, up to the failing one, for which changes are tried."""

LINES_AFTER = 3
"""Number of lines after the failing one that must be explained after a change."""

MAX_EFFORT = 400_000
"""Maximum number of possibilities that are examined for all changes together; each performed step counts as
`STEP_EFFORT` of them. Takes some seconds."""

MAX_ALTERNATIVES = 3
"""Maximum number of missing lines that are reported."""

Kind = Literal["duplicate", "swapped", "missing", "superfluous"]
_ORDER: tuple[Kind, ...] = ("duplicate", "swapped", "missing", "superfluous")


@dataclass(frozen=True, slots=True)
class Change:
    """A change after which the line is explained, and all of the lines behind it that were tried."""

    kind: Kind
    line: int
    """The line that is one too many, swapped with the next, or that something is missing before."""
    other: int | None = None
    """The line that it repeats, or is swapped with."""
    steps: tuple[str, ...] = ()
    """What is missing: one of these steps."""

    def __str__(self) -> str:
        match self.kind:
            case "duplicate":
                return f"line {self.line} repeats line {self.other}; without it, the log is explained"
            case "swapped":
                return f"with lines {self.line} and {self.other} swapped, the log is explained"
            case "missing":
                steps = " or ".join(f"`{x}`" for x in self.steps)
                return f"with a line for {steps} before line {self.line}, the log is explained"
            case "superfluous":
                return f"without line {self.line}, the log is explained"


def changes(
    tracker: Tracker, recent: Sequence[tuple[Record, Sequence[Possibility]]], ahead: Sequence[Record]
) -> tuple[tuple[Change, ...], bool]:
    """One change of each kind that helps, the nearest to the failing line, which is the last of `recent`; and whether
    every change was tried.

    Takes the time of about `LINES_BEFORE` × `LINES_AFTER` lines for each kind, and for a missing line as often as there
    are steps with a line of their own, and at most that of `MAX_EFFORT`. A limit of the command ends it as well.
    """
    nearest, is_complete = [], True
    tracker.successors.effort = MAX_EFFORT
    try:
        for kind in _ORDER:
            change = next(_of_kind(tracker, kind, recent, ahead), None)
            if change is not None:
                nearest.append(change)
    except (EffortError, LimitError):
        is_complete = False
    finally:
        tracker.successors.effort = None
    if any(x.kind == "duplicate" for x in nearest):
        nearest = [x for x in nearest if x.kind != "superfluous"]
    return tuple(nearest), is_complete


def _of_kind(
    tracker: Tracker, kind: Kind, recent: Sequence[tuple[Record, Sequence[Possibility]]], ahead: Sequence[Record]
) -> Iterator[Change]:
    records = [*(r for r, _ in recent), *ahead]
    last = len(recent) - 1
    for n in range(last, -1, -1):
        record, before = recent[n]
        match kind:
            case "duplicate":
                earlier = next((r for r in reversed(records[:n]) if r.claim == record.claim), None)
                if earlier is not None and _explained(tracker, before, records[n + 1 :]):
                    yield Change(kind, record.line, earlier.line)
            case "superfluous":
                if n == last and ahead and _explained(tracker, before, records[n + 1 :]):
                    yield Change(kind, record.line)
            case "swapped" if n + 1 < len(records):
                swapped = [records[n + 1], record, *records[n + 2 :]]
                if _explained(tracker, before, swapped):
                    yield Change(kind, record.line, records[n + 1].line)
            case "missing":
                steps = _missing(tracker, before, records[n:])
                if steps:
                    yield Change(kind, record.line, None, steps)


def _missing(tracker: Tracker, before: Sequence[Possibility], records: Sequence[Record]) -> tuple[str, ...]:
    """Steps with a line of their own that, had they happened before these records, would explain them; not more than
    are reported."""
    as_logged = cache(tracker.directory.as_logged)
    reached: dict[str, list[tuple[Edge, Possibility]]] = {}
    for level in _levels(tracker, before):
        for x in level:
            for edge in tracker.successors.logged(x.node):
                step = describe(as_logged(x.names), edge.step, x.node.world)
                reached.setdefault(step, []).append((edge, hidden(x, edge)))
    texts: dict[str, None] = {}
    for possible in reached.values():
        if _after(tracker, [after for _, after in possible], records):
            # Records that follow may give names to instances that have none yet.
            for edge, x in possible:
                for later in _after(tracker, [x], records):
                    texts[describe(as_logged(later.names), edge.step, x.node.world)] = None
                if len(texts) >= MAX_ALTERNATIVES:
                    return tuple(texts)[:MAX_ALTERNATIVES]
    return tuple(texts)


def _levels(tracker: Tracker, before: Sequence[Possibility]) -> Sequence[Sequence[Possibility]]:
    try:
        return list(tracker.levels(before))
    except TooManyWorldsError:
        return [before]


def _explained(tracker: Tracker, before: Sequence[Possibility], records: Sequence[Record]) -> bool:
    return bool(_after(tracker, before, records))


def _after(tracker: Tracker, before: Sequence[Possibility], records: Sequence[Record]) -> Sequence[Possibility]:
    """What is possible after records; nothing if they are not explained."""
    possible = before
    try:
        for record in records:
            possible = tracker.advance(possible, record.claim, record.line)
    except TooManyWorldsError:
        return ()
    return possible
