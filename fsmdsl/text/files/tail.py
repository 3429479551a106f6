"""A file that grows, or a pipe: its new content as soon as it is written, until `stop` is called."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from pathlib import Path

POLL_INTERVAL = 0.2
"""Interval between two checks of a file without new content, in seconds."""


class Tail:
    """Bytes of a file that is followed by its name: when it is moved away and made anew, or cut, reading goes on at the
    beginning of the new one. A file that is not there yet is waited for."""

    def __init__(self, path: Path, tick: Callable[[], None] = lambda: None) -> None:
        """`tick` is called before each read, and about every `POLL_INTERVAL` seconds while there is nothing to read."""
        self.path, self._tick = path, tick
        self._file = -1
        self._within_line = False
        self._stopped = False

    def stop(self) -> None:
        """What is there now is the end. May be called in a handler of a signal."""
        self._stopped = True

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def read1(self, size: int) -> bytes:
        """Some bytes, at most so many, as soon as there are any; none: it was stopped. Raises OSError."""
        while True:
            self._tick()
            data = os.read(self._file, size) if self._file >= 0 else b""
            if data:
                self._within_line = not data.endswith(b"\n")
                return data
            if self._stopped:
                return b""
            if self._is_another():
                self.close()
                self._open()
                if self._within_line:  # end the last line of the old file, so that the new one begins a line
                    self._within_line = False
                    return b"\n"
            else:
                time.sleep(POLL_INTERVAL)

    def _is_another(self) -> bool:
        """Is there a file of this name, and not the open one, or is that shorter than what was read of it?"""
        try:
            now = os.stat(self.path)
        except FileNotFoundError:
            return False
        if self._file < 0:
            return True
        own = os.fstat(self._file)
        cut = own.st_size < os.lseek(self._file, 0, os.SEEK_CUR)
        return cut or (now.st_dev, now.st_ino) != (own.st_dev, own.st_ino)

    def _open(self) -> None:
        try:
            self._file = os.open(self.path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:  # moved away again
            self._file = -1


class PipeTail:
    """Bytes of a pipe or a terminal, to its end."""

    def __init__(self, number: int, tick: Callable[[], None] = lambda: None) -> None:
        """`number`: the descriptor."""
        self._number, self._tick = number, tick
        self._stopped = False

    def stop(self) -> None:
        """What was read is all. May be called in a handler of a signal."""
        self._stopped = True

    def close(self) -> None:
        """Does nothing: the caller owns the descriptor."""

    def read1(self, size: int) -> bytes:
        """Some bytes, at most so many, as soon as there are any; none: the end, or it was stopped."""
        while not self._stopped:
            self._tick()
            if select.select([self._number], [], [], POLL_INTERVAL)[0]:
                return os.read(self._number, size)
        return b""
