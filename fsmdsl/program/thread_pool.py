"""Threads for compiled code. Whoever waits for them can be interrupted, and leave them to themselves."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from weakref import finalize

Work = Callable[[int], int]
Inbox = SimpleQueue[Work | None]
Done = SimpleQueue[tuple[int, int | BaseException]]


class Crew:
    """So many threads, which do the same work at the same time. They end with it, and do not hold up the process."""

    def __init__(self, count: int) -> None:
        self._inboxes: list[Inbox] = [SimpleQueue() for _ in range(count)]
        self._done: Done = SimpleQueue()
        for number, inbox in enumerate(self._inboxes):
            Thread(target=_serve, args=(number, inbox, self._done), daemon=True).start()
        self.close = finalize(self, _end, self._inboxes)
        """End the threads, when they have done what they are at."""

    def each(self, work: Work) -> list[int]:
        """What `work` returns in each thread, given the number of the thread. Raises what one of them raises."""
        for inbox in self._inboxes:
            inbox.put(work)
        results = dict(self._done.get() for _ in self._inboxes)
        return [self._value(results[n]) for n in range(len(self._inboxes))]

    @staticmethod
    def _value(result: int | BaseException) -> int:
        if isinstance(result, BaseException):
            raise result
        return result


def _serve(number: int, inbox: Inbox, done: Done) -> None:
    """One thread. It knows neither the crew nor, between two turns, the work, which may hold whoever has the crew."""
    while (work := inbox.get()) is not None:
        try:
            done.put((number, work(number)))
        except BaseException as error:  # who waits must hear of it, whatever it is
            done.put((number, error))
        del work


def _end(inboxes: list[Inbox]) -> None:
    for inbox in inboxes:
        inbox.put(None)
