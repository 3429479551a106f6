"""Seals: they distinguish files of this user from files that another user has put into the same place.

The key lies in the file `$FSMDSL_KEY`, else in `$XDG_STATE_HOME/fsmdsl/key` or `~/.local/state/fsmdsl/key`. It is made
when something is sealed for the first time. Machines that share a key believe each other.
"""

from __future__ import annotations

import hmac
import os
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_bytes

from fsmdsl.text.files.private import read_private
from fsmdsl.text.files.write import create

BYTES = 32
"""Length of the key in bytes."""


def place() -> Path:
    """The file of the key. Raises `OSError` where there is no home for it."""
    if configured := os.environ.get("FSMDSL_KEY"):
        return Path(configured)
    try:
        return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "fsmdsl" / "key"
    except RuntimeError as error:
        raise OSError(0, "there is no home folder for the key of seals; name a file in FSMDSL_KEY") from error


def seal(data: bytes) -> str:
    """The seal of data. Makes the key if there is none. Raises `OSError`; `ValueError` if the key is not secret."""
    path = place()
    if not path.exists():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process was first
            create(path, token_bytes(BYTES), mode=0o600)
    return _seal(_key(path), data)


def is_sealed(data: bytes, seal: object) -> bool:
    """Is this the seal that this user would put on the data? Without a key, nothing is sealed. Raises `OSError`,
    `ValueError`."""
    path = place()
    if not path.exists() or not isinstance(seal, str) or not seal.isascii():
        return False
    return hmac.compare_digest(_seal(_key(path), data), seal)


def _key(path: Path) -> bytes:
    try:
        key = read_private(path, 4096)
        if hasattr(os, "geteuid") and stat.S_IMODE(os.stat(path).st_mode) & 0o077:
            raise ValueError("it is readable by other users; run `chmod 600` on it if nobody has read it yet")
        if len(key) < BYTES:
            raise ValueError(f"it has fewer than {BYTES} bytes")
    except ValueError as error:
        raise ValueError(f"the key `{path}` cannot be used: {error}") from None
    return key


def _seal(key: bytes, data: bytes) -> str:
    return hmac.digest(key, data, "sha256").hex()
