"""Lines sorted by their time, inside a window: logs that several clocks have written."""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from math import isfinite, nan
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")

_time = itemgetter(0)


def seconds(value: Any) -> float | None:
    """A time: a number of seconds, or ISO 8601 (UTC where it names no zone); None for anything else."""
    try:
        time = nan if value.__class__ is bool else float(value)
    except (TypeError, ValueError, OverflowError):
        time = _timestamp(value) if isinstance(value, str) else nan
    return time if isfinite(time) else None


def _timestamp(text: str) -> float:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return nan
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def in_order(items: Iterable[tuple[float | None, T]], window: float) -> Iterator[T]:
    """Items by time, those of one time in the order of the log; one without a time has that of the item before it.

    An item is given out as soon as another is a window later. One that comes later than that keeps its place in the
    log. Memory is in proportion to the items of a window, and so is the time for one that is not in order.
    """
    waiting: deque[tuple[float, T]] = deque()
    last = newest = float("-inf")
    for time, item in items:
        last = last if time is None else time
        if last >= newest:
            newest = last
            waiting.append((last, item))
        elif last < newest - window:
            last = newest
            waiting.append((last, item))
        else:
            insort(waiting, (last, item), key=_time)
        due = newest - window
        while waiting and waiting[0][0] <= due:
            yield waiting.popleft()[1]
    for _, item in waiting:
        yield item
