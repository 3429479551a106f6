"""Garbage collection while the editor is idle.

What an edit leaves behind has cycles, and a collection that comes in the middle of an answer takes as long as the
answer. So a short one follows when there has been nothing to do for a moment, a full one after a longer rest. Only an
editor that never pauses makes one come by itself, so that memory stays bounded.
"""

from __future__ import annotations

import asyncio
import gc

SOON, LATER = 0.4, 10.0
"""Seconds without anything to do."""


MAX_YOUNG = 100_000
"""Maximum number of objects that are created before a collection, if no pause comes. Such a collection takes some
hundredths of a second."""


class Idle:
    """Collects in pauses. Is called after whatever is done."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.TimerHandle] = []

    def begin(self) -> None:
        """From now on, collect in pauses, or when there is too much to wait for one."""
        gc.set_threshold(MAX_YOUNG, *gc.get_threshold()[1:])

    def busy(self) -> None:
        """Something was done: the pause begins anew."""
        for handle in self._waiting:
            handle.cancel()
        loop = asyncio.get_running_loop()
        self._waiting = [loop.call_later(SOON, gc.collect, 1), loop.call_later(LATER, gc.collect)]
