"""The texts of specs: regular files of a limited size, which do not lie outside of what the user pointed to.

A spec may come from a stranger, in a pull request. So a named pipe cannot hang a command, a device cannot fill memory,
and a link cannot bring lines of another file into a diagnostic.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from fsmdsl.text.files import reason
from fsmdsl.text.files.write import kind

MAX_BYTES = 16 * 2**20
"""Maximum size of a spec in bytes: a thousand times the size of a large hand-written one."""

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class UnreadableError(Exception):
    """A file cannot be read as text. The message says why, without the file's name; `help` says what to do, if anything
    but to choose another file."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.help = help


def read_text(path: Path, within: Path | None = None, limit: int = MAX_BYTES) -> str:
    """The text of a spec. `within`: the folder out of which no link may lead; None allows any link.

    Raises `UnreadableError`.
    """
    return decoded(read_bytes(path, within, limit))


def read_bytes(path: Path, within: Path | None = None, limit: int = MAX_BYTES) -> bytes:
    """The content of a regular file of at most so many bytes. See `read_text`."""
    try:
        real = Path(os.path.realpath(path))
        if within is not None and not real.is_relative_to(os.path.realpath(within)):
            raise UnreadableError(
                f"it is behind a link that leads out of `{within}`",
                "name the file itself, or allow such links with `--follow-links`",
            )
        _check(os.stat(real).st_mode)  # to open a device can already do something
        with open(os.open(real, _FLAGS), "rb") as file:
            _check(os.fstat(file.fileno()).st_mode)
            return _limited(file.read(limit + 1), limit)
    except (OSError, ValueError) as error:
        raise UnreadableError(f"cannot be read: {reason(error)}") from error


def read_stdin(limit: int = MAX_BYTES) -> str:
    """The text on standard input. Raises `UnreadableError`."""
    try:
        return decoded(_limited(sys.stdin.buffer.read(limit + 1), limit))
    except (OSError, AttributeError) as error:
        why = reason(error) if isinstance(error, OSError) else "it is closed"
        raise UnreadableError(f"standard input cannot be read: {why}") from error


def decoded(data: bytes) -> str:
    """Bytes as text. Raises `UnreadableError`."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UnreadableError(f"this is not UTF-8 text: byte {error.start} cannot be read") from error


def check_size(text: str, limit: int = MAX_BYTES) -> None:
    """A text that no file has yet is as large at most. Raises `UnreadableError`."""
    if 4 * len(text) > limit and len(text.encode("utf-8", "surrogatepass")) > limit:
        raise _too_large(limit)


def root_of(path: Path) -> Path:
    """The folder out of which a file that was named may not lead: the current one where the file is in it, else the
    folder that the file is in."""
    here = Path.cwd()
    everything = here == here.parent
    if Path(os.path.abspath(path)).is_relative_to(here) and not everything:
        return here
    return Path(os.path.realpath(path.parent))


def _check(mode: int) -> None:
    if not stat.S_ISREG(mode):
        raise UnreadableError(f"cannot be read: it is {kind(mode)}, not a regular file")


def _limited(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise _too_large(limit)
    return data


def _too_large(limit: int) -> UnreadableError:
    return UnreadableError(
        f"it is larger than {limit:,} bytes, the maximum file size", "split the spec into modules, and import them"
    )
