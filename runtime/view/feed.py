"""The latest frame, for all viewers: set by the code that changes the cluster, or recorded on demand."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from threading import Lock
from time import monotonic
from typing import NamedTuple

from runtime.view.recording import Frame

MAX_REMARKS = 500
"""Maximum number of remarks sent to a page when it is opened."""


class Remark(NamedTuple):
    """Something that happened."""

    number: int
    time: float
    text: str


class FrameFeed:
    """Any thread may read. `take` records a new frame, at most one in `every` seconds for all viewers together.

    Without `take`, the code that changes the cluster supplies frames, by `show`.
    """

    def __init__(self, take: Callable[[], Frame | None] | None = None, every: float = 0.5) -> None:
        self.every = every
        self.over: Callable[[], bool] = lambda: False
        """Whether nothing more is to be seen, and those who look have to go."""
        self._take = take
        self._lock = Lock()
        self._frame: Frame | None = None
        self._taken = float("-inf")
        self._remarks: deque[Remark] = deque(maxlen=MAX_REMARKS)
        self._number = 0

    def show(self, frame: Frame) -> None:
        """From now on this is to be seen."""
        with self._lock:
            self._frame = frame

    def remark(self, time: float, text: str) -> None:
        """Something has happened."""
        with self._lock:
            self._number += 1
            self._remarks.append(Remark(self._number, time, text))

    def last(self) -> Frame | None:
        """How it was at most `every` seconds ago; none before the first picture."""
        with self._lock:
            if self._take is not None and monotonic() - self._taken >= self.every:
                self._frame = self._take() or self._frame
                self._taken = monotonic()
            return self._frame

    def remarks(self, after: int) -> Sequence[Remark]:
        """What has happened since the remark of a number."""
        with self._lock:
            return [x for x in self._remarks if x.number > after]
