"""Ctrl-C that waits for a good moment."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interruptions(wanted: Callable[[], None]) -> Iterator[None]:
    """Inside, an interruption calls `wanted` instead of raising, so that nothing is left half done; a second one raises
    `KeyboardInterrupt` as ever. In other threads than the main one, and where somebody else has taken charge of them,
    nothing changes."""
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return

    def interrupt(*_: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        wanted()

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
