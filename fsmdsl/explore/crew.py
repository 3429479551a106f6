"""Threads for compiled code. Whoever waits for them can be interrupted, and leave them to themselves."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

Work = Callable[[int], int]


class Crew:
    """So many threads, which do the same work at the same time. They are daemons: the process ends without them."""

    def __init__(self, count: int) -> None:
        self._inboxes: list[SimpleQueue[Work | None]] = [SimpleQueue() for _ in range(count)]
        self._done: SimpleQueue[tuple[int, int | BaseException]] = SimpleQueue()
        for number, inbox in enumerate(self._inboxes):
            Thread(target=self._serve, args=(number, inbox), daemon=True).start()

    def each(self, work: Work) -> list[int]:
        """What `work` returns in each thread, given the number of the thread. Raises what one of them raises."""
        for inbox in self._inboxes:
            inbox.put(work)
        results = dict(self._done.get() for _ in self._inboxes)
        return [self._value(results[n]) for n in range(len(self._inboxes))]

    def close(self) -> None:
        """End the threads, when they have done what they are at."""
        for inbox in self._inboxes:
            inbox.put(None)

    def _serve(self, number: int, inbox: SimpleQueue[Work | None]) -> None:
        while (work := inbox.get()) is not None:
            try:
                self._done.put((number, work(number)))
            except BaseException as error:  # who waits must hear of it, whatever it is
                self._done.put((number, error))

    @staticmethod
    def _value(result: int | BaseException) -> int:
        if isinstance(result, BaseException):
            raise result
        return result


def block(workers: int, room: int, cap: int) -> int:
    """For how many successors of a worker there is room in a block. Workers wait for one another twice a block, so that
    several take larger ones; but no block is more than a part of all the room there is."""
    wanted = cap if workers == 1 else max(32 * cap // workers, cap)
    return max(min(wanted, room // (8 * workers)), 1 << 10)
