"""The cache of compiled objects: a folder that this user alone can write to, cleaned up by age and size.

It lies in `$FSMDSL_CACHE`, else in `$XDG_CACHE_HOME/fsmdsl` or `~/.cache/fsmdsl`. An object is stored under the name of
the job that it was made for, and ends in a check sum over that name and the code: one that was put under another name
is as useless as a damaged one. What is in the folder is executed; so a folder, or a file, that others can write to is
not used.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import time

from fsmdsl.dataclasses import dataclass
from fsmdsl.text.files.private import distrust, read_private
from fsmdsl.text.files.write import LITTER, write

MAX_AGE = 30 * 24 * 3600.0
"""Maximum time since the last use of an object, in seconds. Older objects are removed."""

MAX_BYTES = 512 * 2**20
"""Maximum size of all objects together, in bytes. The least recently used ones are removed."""

MAX_OBJECT = 64 * 2**20
"""Maximum size of an object, in bytes; a larger file is ignored."""

_DAY = 24 * 3600.0
_NAME = re.compile(r"[0-9a-f]{64}(\.hasty)?\.obj")
_REST = re.compile(rf"[0-9a-f]{{64}}.*|\..*{re.escape(LITTER)}")
"""Leftover files of killed processes, those of earlier versions included."""
_SUM = 32


@dataclass(frozen=True, slots=True)
class Cached:
    """An object in the cache."""

    path: Path
    bytes: int
    used: float
    """Seconds since the epoch."""


def folder() -> Path | None:
    """Where the cache lies; None where there is no home for it."""
    if configured := os.environ.get("FSMDSL_CACHE"):
        return Path(configured)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fsmdsl"
    except RuntimeError:  # the user has no home folder
        return None


def refusal() -> str | None:
    """Why the folder of the cache is not used though it is there: others could put code into it. For users."""
    place = folder()
    try:
        why = None if place is None or not place.is_dir() else distrust(Path(os.path.realpath(place)))
    except OSError:
        return None
    return None if why is None else f"compiled code is not cached: {why}: `{place}`"


def read(name: str) -> bytes | None:
    """The code stored under a name, as it was written by this user; None where there is none."""
    place = _trusted()
    if place is None:
        return None
    try:
        data = read_private(place / name, MAX_OBJECT)
    except (OSError, ValueError):
        return None
    code = data[:-_SUM]
    if _sum(name, code) != data[-_SUM:]:
        return None
    with suppress(OSError):
        if time() - os.stat(place / name).st_mtime > _DAY:
            os.utime(place / name)
    return code


def store(name: str, code: bytes) -> None:
    """Keep code under a name, if there is a folder for it; then remove what is old, or too much."""
    place = folder()
    if place is None:
        return
    with suppress(OSError):  # only the next time takes longer
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _trusted() is not None:
            write(place / name, code + _sum(name, code), mode=0o600)
            clean(time())


def remove(name: str) -> None:
    """Forget what is stored under a name."""
    place = _trusted()
    if place is not None:
        with suppress(OSError):
            (place / name).unlink()


def stored_objects() -> list[Cached]:
    """All objects, the one used last first."""
    objects = []
    for path in _files(_NAME):
        with suppress(OSError):
            about = os.lstat(path)
            objects.append(Cached(path, about.st_size, about.st_mtime))
    return sorted(objects, key=lambda x: (-x.used, x.path.name))


def clean(now: float) -> int:
    """Remove objects unused for a long time, the oldest ones beyond the size limit, and leftovers. Returns how many."""
    total, old = 0, []
    for x in stored_objects():
        total += x.bytes
        if now - x.used > MAX_AGE or total > MAX_BYTES:
            old.append(x.path)
    for path in _files(_REST):
        with suppress(OSError):
            if not _NAME.fullmatch(path.name) and now - os.lstat(path).st_mtime > _DAY:
                old.append(path)
    return _removed(old)


def clear() -> int:
    """Remove every object, and what was left behind. How many files."""
    return _removed(list(_files(_REST)))


def _removed(paths: list[Path]) -> int:
    count = 0
    for path in paths:
        with suppress(OSError):
            path.unlink()
            count += 1
    return count


def _files(pattern: re.Pattern[str]) -> Iterator[Path]:
    place = folder()
    try:
        names = [] if place is None else sorted(os.listdir(place))
    except OSError:
        return
    for name in names:
        if place is not None and pattern.fullmatch(name) and not (place / name).is_dir():
            yield place / name


def _trusted() -> Path | None:
    """The folder, if it exists and no other user can write to it."""
    place = folder()
    try:
        if place is None or distrust(Path(os.path.realpath(place))) is not None or not place.is_dir():
            return None
    except OSError:
        return None
    return place


def _sum(name: str, code: bytes) -> bytes:
    from hashlib import sha256

    return sha256(b"\0".join((b"fsmdsl object", name.encode("ascii"), code))).digest()
