"""Memory for numbers, taken from the system page by page as it is written to: reserving much costs nothing."""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from contextlib import suppress
from typing import Literal

_LINUX = {"x86_64": 0x4000, "aarch64": 0x4000, "riscv64": 0x4000, "s390x": 0x4000}
_UNCOUNTED = getattr(mmap, "MAP_NORESERVE", _LINUX.get(os.uname().machine, 0) if sys.platform == "linux" else 0)
"""Pages that are not written to do not count as used; otherwise a process that has reserved more than there is could
not fork. Python names the flag from 3.13 on."""

_ANYWHERE = getattr(mmap, "MAP_PRIVATE", 0) | getattr(mmap, "MAP_ANONYMOUS", 0) | _UNCOUNTED


class Memory:
    """Zeros, for whole numbers of 8 bytes (`q`) or 4 bytes without sign (`I`)."""

    def __init__(self, count: int, kind: Literal["q", "I"] = "q") -> None:
        size = max(count, 1) * (8 if kind == "q" else 4)
        self._map = mmap.mmap(-1, size, flags=_ANYWHERE) if _ANYWHERE else mmap.mmap(-1, size)
        if hasattr(mmap, "MADV_HUGEPAGE"):
            with suppress(OSError):  # where the system knows of none
                self._map.madvise(mmap.MADV_HUGEPAGE)
        self._view = ctypes.c_char.from_buffer(self._map)
        self.address = ctypes.addressof(self._view)
        self.numbers = memoryview(self._map).cast("B").cast(kind)

    def fill(self, byte: int) -> None:
        """The same in every byte."""
        self._map.seek(0)
        self._map.write(bytes((byte,)) * len(self._map))

    def close(self) -> None:
        """Give it back."""
        self.numbers.release()
        del self._view
        self._map.close()


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
