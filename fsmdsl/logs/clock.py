"""Lines sorted by their time, inside a window: logs that several clocks have written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from heapq import heappop, heappush
from typing import TypeVar

T = TypeVar("T")


def seconds(value: object) -> float | None:
    """A time: a number of seconds, or ISO 8601 (UTC where it names no zone); None for anything else."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, str):
        return None
    try:
        return float(value)
    except ValueError:
        pass
    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        return None
    return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def in_order(items: Iterable[tuple[float | None, T]], window: float) -> Iterator[T]:
    """Items by time, those of one time in the order of the log; one without a time has that of the item before it.

    An item is given out as soon as another is a window later. One that comes later than that keeps its place in the
    log. Memory is in proportion to the items of a window.
    """
    waiting: list[tuple[float, int, T]] = []
    last = newest = float("-inf")
    for n, (time, item) in enumerate(items):
        last = last if time is None else time
        if last < newest - window:
            last = newest
        newest = max(newest, last)
        heappush(waiting, (last, n, item))
        while waiting and waiting[0][0] <= newest - window:
            yield heappop(waiting)[2]
    while waiting:
        yield heappop(waiting)[2]
