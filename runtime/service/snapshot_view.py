"""The page of the cluster for a service: frames are recorded between two cycles, at most twice a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from starlette.exceptions import HTTPException

from runtime.answers import GangStatus
from runtime.service import failing
from runtime.service.engine import NotServingError
from runtime.service.history import History
from runtime.service.scheduler import PodScheduler
from runtime.service.service import Service
from runtime.view import Frame, FrameFeed, Recorder
from runtime.view.feed import MAX_REMARKS, Remark
from runtime.view.pages import Pages


class HistoryFeed(FrameFeed):
    """Takes its remarks from the history of the service."""

    def __init__(self, take: Callable[[], Frame | None], history: Callable[[], History]) -> None:
        super().__init__(take)
        self._history = history

    def remarks(self, after: int) -> Sequence[Remark]:
        """Events after a number; of many, the latest."""
        try:
            events = self._history().events(after=after)
        except NotServingError:
            return []
        return [Remark(x.number, x.time, x.text) for x in events[-MAX_REMARKS:]]


class _Seen:
    """What the page shows of a cluster: gangs that are refused, too."""

    def __init__(self, scheduler: PodScheduler) -> None:
        self._scheduler = scheduler
        self.leaf_cells = scheduler.allocator.leaf_cells
        self.virtual_clusters = scheduler.allocator.virtual_clusters

    def groups(self) -> Iterator[GangStatus]:
        """All gangs."""
        return failing.gangs(self._scheduler.allocator, self._scheduler.tracker)


class SnapshotView:
    """The pages of the allocator, from the moment it exists."""

    def __init__(self, service: Service) -> None:
        self.feed = HistoryFeed(self._frame, lambda: service.scheduler.history)
        self.pages = Pages(self.feed, self._scene)
        self._service = service
        self._recorder: Recorder | None = None

    def _cluster_recorder(self) -> Recorder:
        """While no cycle is under way."""
        if self._recorder is None:
            self._recorder = Recorder(_Seen(self._service.scheduler))
        return self._recorder

    def _scene(self) -> dict[str, Any]:
        try:
            with self._service.locks.partition.read():
                return self._cluster_recorder().scene()
        except NotServingError as error:
            raise HTTPException(503, str(error)) from error

    def _frame(self) -> Frame | None:
        try:
            with self._service.locks.partition.read():
                return self._cluster_recorder().frame(time.time())
        except NotServingError:
            return None
