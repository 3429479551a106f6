"""The thread that runs cycles: what has happened, what was asked, one commit, the answers.

It does not wait for the disk. A caller whose action others rely on (it binds or deletes a pod, or names victims) first
waits for `Journal.sync`, in another thread: one write to the disk serves all waiting callers.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any

from runtime.errors import UserError
from runtime.journal import JournalError
from runtime.service.locks import Locks
from runtime.service.metrics import Metrics
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Source

log = logging.getLogger(__name__)

MAX_REQUESTS = 64
"""Maximum number of requests in a cycle, so that the first one does not wait for too many others."""
POLL_INTERVAL = 0.02
"""Seconds after which the source is polled when there is no request."""


class NotServingError(Exception):
    """The service has not begun yet, or is ending."""


class Request:
    """A call of the scheduler, and where its result goes."""

    __slots__ = ("call", "error", "future", "result")

    def __init__(self, call: Callable[[PodScheduler], Any]) -> None:
        self.call = call
        self.future: Future[Any] = Future()
        self.result: Any = None
        self.error: Exception | None = None

    def run(self, scheduler: PodScheduler) -> None:
        """The answer is kept back until it is committed."""
        try:
            self.result = self.call(scheduler)
        except JournalError:
            raise
        except Exception as error:
            if not isinstance(error, UserError):
                log.exception("a request failed")
            self.error = error

    def answer(self, error: Exception | None = None) -> None:
        """Hands over what came of it."""
        failure = error or self.error
        if not self.future.set_running_or_notify_cancel():
            return
        if failure is not None:
            self.future.set_exception(failure)
        else:
            self.future.set_result(self.result)


class Engine:
    """Takes requests from any thread, and serves them in its own, many at a time."""

    def __init__(
        self,
        scheduler: PodScheduler,
        source: Source,
        locks: Locks,
        metrics: Metrics,
        on_commit: Callable[[], object] = lambda: None,
    ) -> None:
        """`on_commit` is called in the thread of the cycles, each time that what a cycle has changed is committed."""
        self._scheduler = scheduler
        self._source = source
        self._locks = locks
        self._metrics = metrics
        self._on_commit = on_commit
        self._requests: Queue[Request | None] = Queue()
        self._ending = Event()
        self._thread = Thread(target=self._run, name="cycles", daemon=True)
        self.failure: Exception | None = None
        self.on_failure: Callable[[], object] = lambda: None
        """Told when the thread cannot go on."""

    def start(self) -> None:
        """From now on requests are taken."""
        self._thread.start()

    @property
    def serving(self) -> bool:
        """Whether requests are taken."""
        return self._thread.is_alive() and not self._ending.is_set() and self.failure is None

    def submit(self, call: Callable[[PodScheduler], Any]) -> Future[Any]:
        """The result comes when what it has changed is committed, and survives this process."""
        if not self.serving:
            raise NotServingError("the scheduler is not serving")
        request = Request(call)
        self._requests.put(request)
        return request.future

    def stop(self) -> None:
        """Serves what was taken, takes nothing more, and ends."""
        with self._locks.cluster.write():
            self._ending.set()
        self._requests.put(None)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        try:
            while not (self._ending.is_set() and self._requests.empty()):
                self._cycle(self._gather())
        except Exception as error:
            log.exception("the scheduler cannot continue; it recovers when it is started again")
            self.failure = error
        while not self._requests.empty():
            request = self._requests.get()
            if request is not None:
                request.answer(self.failure or NotServingError("the scheduler is not serving"))
        if self.failure is not None:
            self.on_failure()

    def _gather(self) -> list[Request]:
        """What has been asked while the cycle before was under way, or the next request."""
        batch: list[Request | None] = []
        try:
            batch.append(self._requests.get(timeout=POLL_INTERVAL))
            while len(batch) < MAX_REQUESTS:
                batch.append(self._requests.get_nowait())
        except Empty:
            pass
        return [request for request in batch if request is not None]

    def _cycle(self, batch: list[Request]) -> None:
        try:
            with self._locks.cluster.read(), self._locks.partition.write():
                begun = time.perf_counter()
                with self._scheduler.allocator.cycle(sync=False):
                    for change in self._source.poll():
                        self._scheduler.observe(change)
                    self._scheduler.expire()
                    self._scheduler.tear_down()
                    for request in batch:
                        request.run(self._scheduler)
                    self._scheduler.write_history()
                    decided = time.perf_counter()
                self._on_commit()
                if batch:
                    self._metrics.cycle(len(batch), decided - begun, time.perf_counter() - decided)
        except Exception as error:
            for request in batch:
                request.answer(error)
            raise
        for request in batch:
            request.answer()
