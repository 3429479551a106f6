"""The queue of a kube-scheduler: pods that can be tried, that are backing off, and that wait for a change."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from itertools import count
from threading import Condition

from stand_in.store import Thing

FLUSH_SECONDS = 300.0
FLUSH_INTERVAL = 30.0
"""Measured behind 1.36.2: "A pod rejected by a filter is tried again on any event of a node or a pod (not on
heartbeats), else after 5 to 5.5 minutes." """
SPIN_SECONDS = 1 / 17
"""Measured behind 1.36.2: "A pod that the extender rejects with `FailedNodes`, while lower pods run on the nodes and
the pod may preempt, is tried again without pause: 17 filter calls a second with 64 nodes, evenly over the 20 s that
were measured, each with a patch of the status." """


class Place(Enum):
    """Where a pod is."""

    ACTIVE = 1
    BACKOFF = 2
    UNSCHEDULABLE = 3
    IN_FLIGHT = 4


@dataclass(slots=True)
class Queued:
    """A pod that has no node."""

    pod: Thing
    since: float
    """When it came into the queue, or was last tried."""
    place: Place = Place.ACTIVE
    attempts: int = 0
    moved: bool = False
    """Whether something changed while it was tried."""
    entry: int = 0
    """The one entry of a heap that counts."""


class SchedulingQueue:
    """From any thread. Times are those of `now`, in seconds."""

    def __init__(self, now: Callable[[], float], initial: float = 1.0, longest: float = 10.0) -> None:
        self._now, self._initial, self._longest = now, initial, longest
        self._changed = Condition()
        self._pods: dict[str, Queued] = {}
        self._active: list[tuple[int, float, int, str]] = []
        self._backoff: list[tuple[float, int, str]] = []
        self._entries = count(1)
        self._next_flush = now() + FLUSH_INTERVAL

    def __contains__(self, uid: str) -> bool:
        return uid in self._pods

    def backoff(self, queued: Queued) -> float:
        """Measured behind 1.36.2: "A pod that failed on an error of the extender is tried again after its back-off
        (1, 2, 4, 8, 10 s), not after a flush." """
        return float(min(self._initial * 2 ** (queued.attempts - 1), self._longest)) if queued.attempts else 0.0

    def update(self, pod: Thing) -> None:
        """A pod without a node is there, or is different."""
        with self._changed:
            uid = pod["metadata"]["uid"]
            if uid in self._pods:
                self._pods[uid].pod = pod
                return
            self._pods[uid] = Queued(pod, self._now())
            self._activate(self._pods[uid])

    def drop(self, uid: str) -> None:
        """It has a node, or is gone."""
        with self._changed:
            self._pods.pop(uid, None)

    def pop(self) -> Queued:
        """Waits for the next pod that can be tried: the one of the highest priority, then the oldest."""
        with self._changed:
            while (found := self._take()) is None:
                self._changed.wait(self._pause())
            return found

    def poll(self) -> Queued | None:
        """The same without waiting; none where there is no such pod now."""
        with self._changed:
            return self._take()

    def _take(self) -> Queued | None:
        self._advance()
        while self._active:
            _, _, entry, uid = heapq.heappop(self._active)
            queued = self._pods.get(uid)
            if queued is not None and queued.place is Place.ACTIVE and queued.entry == entry:
                queued.place, queued.moved = Place.IN_FLIGHT, False
                queued.attempts += 1
                return queued
        return None

    def _advance(self) -> None:
        """Whatever time alone changes."""
        now = self._now()
        if now >= self._next_flush:
            self._next_flush = now + FLUSH_INTERVAL
            for queued in self._pods.values():
                if queued.place is Place.UNSCHEDULABLE and now - queued.since > FLUSH_SECONDS:
                    self._activate(queued)
        while self._backoff and self._backoff[0][0] <= now:
            _, entry, uid = heapq.heappop(self._backoff)
            found = self._pods.get(uid)
            if found is not None and found.place is Place.BACKOFF and found.entry == entry:
                self._activate(found)

    def _pause(self) -> float:
        until = min([self._next_flush, *(x[0] for x in self._backoff[:1])])
        return max(until - self._now(), 0.001)

    def _activate(self, queued: Queued) -> None:
        queued.place, queued.entry = Place.ACTIVE, next(self._entries)
        priority, uid = queued.pod["spec"].get("priority", 0), queued.pod["metadata"]["uid"]
        heapq.heappush(self._active, (-priority, queued.since, queued.entry, uid))
        self._changed.notify()

    def _retry(self, queued: Queued) -> None:
        """As soon as its back-off is over."""
        ready = queued.since + self.backoff(queued)
        if ready <= self._now():
            self._activate(queued)
            return
        queued.place, queued.entry = Place.BACKOFF, next(self._entries)
        heapq.heappush(self._backoff, (ready, queued.entry, queued.pod["metadata"]["uid"]))
        self._changed.notify()

    # What an attempt ends with

    def unschedulable(self, queued: Queued) -> None:
        """No node takes it: it waits until something changes."""
        with self._changed:
            if self._ended(queued):
                if queued.moved:
                    self._retry(queued)
                else:
                    queued.place = Place.UNSCHEDULABLE

    def failed(self, queued: Queued) -> None:
        """An error: it is tried again after its back-off."""
        with self._changed:
            if self._ended(queued):
                self._retry(queued)

    def spin(self, queued: Queued) -> None:
        """It is tried again without pause."""
        with self._changed:
            if self._ended(queued):
                queued.place, queued.entry = Place.BACKOFF, next(self._entries)
                entry = (queued.since + SPIN_SECONDS, queued.entry, queued.pod["metadata"]["uid"])
                heapq.heappush(self._backoff, entry)
                self._changed.notify()

    def _ended(self, queued: Queued) -> bool:
        """Whether it still is in the queue, now that an attempt has ended."""
        queued.since = self._now()
        return self._pods.get(queued.pod["metadata"]["uid"]) is queued

    def wake(self) -> None:
        """Something has changed: whoever waits for that is tried again, after its back-off."""
        with self._changed:
            for queued in self._pods.values():
                if queued.place is Place.UNSCHEDULABLE:
                    self._retry(queued)
                elif queued.place is Place.IN_FLIGHT:
                    queued.moved = True
