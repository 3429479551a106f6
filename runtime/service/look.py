"""What the page of the cluster shows of a service: looked at between two cycles, at most twice in a second."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from starlette.exceptions import HTTPException

from runtime.service.engine import NotServingError
from runtime.service.history import History
from runtime.service.service import Service
from runtime.view import Film, Frame, Reel
from runtime.view.pages import Pages
from runtime.view.reel import KEPT, Remark


class HistoryReel(Reel):
    """What happened is what the history of the service says."""

    def __init__(self, take: Callable[[], Frame | None], history: Callable[[], History]) -> None:
        super().__init__(take)
        self._history = history

    def remarks(self, after: int) -> Sequence[Remark]:
        """Events after a number; of many, the latest."""
        try:
            events = self._history().events(after=after)
        except NotServingError:
            return []
        return [Remark(x.number, x.time, x.text) for x in events[-KEPT:]]


class Look:
    """Pictures of the allocator, once there is one."""

    def __init__(self, service: Service) -> None:
        self.reel = HistoryReel(self._frame, lambda: service.scheduler.history)
        self.pages = Pages(self.reel, self._scene)
        self._service = service
        self._film: Film | None = None

    def _made(self) -> Film:
        """While no cycle is under way."""
        if self._film is None:
            self._film = Film(self._service.allocator)
        return self._film

    def _scene(self) -> dict[str, Any]:
        try:
            with self._service.locks.partition.read():
                return self._made().scene()
        except NotServingError as error:
            raise HTTPException(503, str(error)) from error

    def _frame(self) -> Frame | None:
        try:
            with self._service.locks.partition.read():
                return self._made().frame(time.time())
        except NotServingError:
            return None
