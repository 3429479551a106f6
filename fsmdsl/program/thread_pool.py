"""Threads for compiled code. A caller that waits for them can be interrupted; the threads then run on alone."""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from weakref import finalize

Work = Callable[[int], int]
Inbox = SimpleQueue[Work | None]
Done = SimpleQueue[tuple[int, int | BaseException]]


class Crew:
    """A fixed number of threads that run the same work in parallel. They end with the crew, and do not keep the process
    alive."""

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
    """One thread. It holds no reference to the crew or, between two rounds, to the work: either may refer to the
    owner of the crew, which would then never be collected."""
    while (work := inbox.get()) is not None:
        try:
            done.put((number, work(number)))
        except BaseException as error:  # `each` raises it in the thread that waits
            done.put((number, error))
        del work


def _end(inboxes: list[Inbox]) -> None:
    for inbox in inboxes:
        inbox.put(None)
