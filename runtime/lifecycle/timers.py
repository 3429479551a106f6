"""The clock of all machines, advanced by the caller."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush

MIN_SWEEP = 1000
"""Minimum number of alarms in the heap before cancelled ones are removed."""


class Alarm:
    """A call that will be made, unless it is cancelled."""

    __slots__ = ("at", "call")

    def __init__(self, at: float, call: Callable[[], object]) -> None:
        self.at = at
        self.call: Callable[[], object] | None = call

    def cancel(self) -> None:
        """It will not be made."""
        self.call = None


class Timers:
    """Alarms by their time; of one time, in the order in which they were set. Setting one costs O(log n)."""

    __slots__ = ("_count", "_heap", "_most", "_now")

    def __init__(self, now: float) -> None:
        self._now = now
        self._heap: list[tuple[float, int, Alarm]] = []
        self._count = 0
        self._most = MIN_SWEEP

    def time(self) -> float:
        """Now."""
        return self._now

    def go_back(self, now: float) -> None:
        """For alarms that were set in an earlier run, at that time."""
        self._now = now

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Alarm:
        """Calls back after `delay` seconds."""
        alarm = Alarm(self._now + delay, callback)
        self._count += 1
        heappush(self._heap, (alarm.at, self._count, alarm))
        if len(self._heap) > self._most:
            self._sweep()
        return alarm

    def _sweep(self) -> None:
        """Lets go of alarms that were cancelled: most are, long before their time."""
        self._heap = [entry for entry in self._heap if entry[2].call is not None]
        heapify(self._heap)
        self._most = max(MIN_SWEEP, 2 * len(self._heap))

    @property
    def next(self) -> float | None:
        """When the next alarm is due."""
        heap = self._heap
        while heap and heap[0][2].call is None:
            heappop(heap)
        return heap[0][0] if heap else None

    def advance(self, now: float, after: Callable[[], object], *, through: bool) -> None:
        """Makes all calls that are due before `now`, and with `through` those at `now`; each at its own time."""
        while (at := self.next) is not None and (at < now or (through and at == now)):
            call = heappop(self._heap)[2].call
            self._now = max(self._now, at)
            assert call is not None, "next leaves none that are cancelled"
            call()
            after()
        self._now = max(self._now, now)


class OwnTimers:
    """The same clock, for the machines of one owner, who hears of every alarm: a machine may set its timer again
    without a step that its listeners see."""

    __slots__ = ("_hear", "_timers")

    def __init__(self, timers: Timers, hear: Callable[[], object]) -> None:
        self._timers = timers
        self._hear = hear

    def time(self) -> float:
        """Now."""
        return self._timers.time()

    def call_later(self, delay: float, callback: Callable[[], object], /) -> Alarm:
        """Calls back after `delay` seconds."""

        def ring() -> None:
            self._hear()
            callback()

        return self._timers.call_later(delay, ring)
