"""Memory for numbers, taken from the system page by page as it is written to: reserving much costs nothing."""

from __future__ import annotations

import ctypes
import mmap
import os
from contextlib import suppress
from typing import Literal

_ANYWHERE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0) | getattr(mmap, "MAP_NORESERVE", 0)


class Memory:
    """Zeros, for whole numbers of 8 bytes (`q`) or 4 bytes without sign (`I`)."""

    def __init__(self, count: int, kind: Literal["q", "I"] = "q") -> None:
        size = max(count, 1) * (8 if kind == "q" else 4)
        self._map = mmap.mmap(-1, size, flags=_ANYWHERE) if _ANYWHERE else mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # where the system knows of none
                self._map.madvise(mmap.MADV_HUGEPAGE)
        self._kept = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(self._kept)
        self.numbers = memoryview(self._map).cast("B").cast(kind)

    def fill(self, byte: int) -> None:
        """The same in every byte."""
        self._map.seek(0)
        self._map.write(bytes((byte,)) * len(self._map))

    def close(self) -> None:
        """Give it back."""
        self.numbers.release()
        del self._kept
        self._map.close()


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
