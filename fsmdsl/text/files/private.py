"""Which files may be believed: those that this user alone can have written."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO


def distrust(path: Path) -> str | None:
    """Why another user could have written a file, or put files into a folder; None if no other user could.

    Where the system has no owners (Windows), nothing is known against it. Raises `OSError`.
    """
    return distrusted(os.lstat(path))


def distrusted(status: os.stat_result) -> str | None:
    """The same, from the status of a file."""
    if not hasattr(os, "geteuid"):
        return None
    if stat.S_ISLNK(status.st_mode):
        return "it is a link"
    if status.st_uid != os.geteuid():
        return f"it belongs to another user (number {status.st_uid})"
    if stat.S_IMODE(status.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        return f"other users can write to it (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def open_private(path: Path) -> BinaryIO:
    """Open a regular file that only this user can have written. Raises `OSError`; `ValueError`, with the reason, if
    another user could have written it."""
    # Without O_NONBLOCK, opening a named pipe would wait for a writer.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    number = os.open(path, flags | getattr(os, "O_BINARY", 0))
    status = os.fstat(number)  # not of the path, which may lead elsewhere by now
    why = distrusted(status)
    if why is None and not stat.S_ISREG(status.st_mode):
        why = "it is not a regular file"
    if why is not None:
        os.close(number)
        raise ValueError(why)
    return os.fdopen(number, "rb")


def read_private(path: Path, limit: int) -> bytes:
    """The content of such a file. Raises `OSError`, and `ValueError`, also where it is longer than `limit`."""
    with open_private(path) as file:
        data = file.read(limit + 1)
    if len(data) > limit:
        raise ValueError(f"it is larger than {limit:,} bytes")
    return data
