"""Which files may be believed: those that this user alone can have written."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def distrust(path: Path) -> str | None:
    """Why somebody else could have written a file, or put files into a folder; None where nobody could.

    Where the system has no owners (Windows), nothing is known against it. Raises `OSError`.
    """
    return distrusted(os.lstat(path))


def distrusted(found: os.stat_result) -> str | None:
    """Likewise, of what the system says of a file."""
    if not hasattr(os, "geteuid"):
        return None
    if stat.S_ISLNK(found.st_mode):
        return "it is a link"
    if found.st_uid != os.geteuid():
        return f"it belongs to another user (number {found.st_uid})"
    if stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others may write to it (mode {stat.S_IMODE(found.st_mode):04o})"
    return None


def read_private(path: Path, limit: int) -> bytes:
    """A regular file that this user alone can have written. Raises `OSError`; `ValueError`, with the reason, where
    somebody else could have written it, or where it is longer than `limit`."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
    with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:
        found = os.fstat(file.fileno())
        why = distrusted(found)
        if why is None and not stat.S_ISREG(found.st_mode):
            why = "it is not a regular file"
        if why is None and found.st_size > limit:
            why = f"it is larger than {limit:,} bytes"
        if why is not None:
            raise ValueError(why)
        return file.read(limit)
