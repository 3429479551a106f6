"""Every file that fsmdsl writes: written beside, brought to the disk, then renamed to its name.

Whatever interrupts a write, the name holds the old content or the new one. A process that is killed in between leaves a
hidden file behind that ends in `LITTER`, which nothing reads.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

LITTER = ".fsm-tmp"
"""How the name of a file ends that is being written."""

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def write(path: Path, content: str | bytes | Iterable[memoryview], *, follow: bool = False, mode: int = 0o666) -> bool:
    """Make `path` hold the content, and the folders it needs. True if that changed anything.

    Owner and permissions of the file that is replaced are kept; a new one gets `mode`, without what the user masks.
    `follow`: of a link, what it leads to is replaced. Raises `OSError`, with the old file as it was: also for a link
    otherwise, and for what is no regular file.
    """
    if follow:
        path = Path(os.path.realpath(path))
    before = replaceable(path)
    data = content.encode("utf-8") if isinstance(content, str) else content
    if before is not None and isinstance(data, bytes) and before.st_size == len(data) and path.read_bytes() == data:
        return False
    _make_folder(path)
    beside = _beside(path, [data] if isinstance(data, bytes) else data, before, mode)
    try:
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    sync(path.parent)
    return True


def create(path: Path, content: str | bytes, *, mode: int = 0o666) -> None:
    """Write a file that is not there yet, into a folder that is. Raises `FileExistsError` if it is there, also as a
    link to nothing; `OSError`."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if os.path.lexists(path):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))
    beside = _beside(path, [data], None, mode)
    try:
        try:
            os.link(beside, path)
        except FileExistsError:
            raise
        except (OSError, NotImplementedError, AttributeError):  # no links here: two writers could meet
            os.rename(beside, path)
            return
        os.unlink(beside)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(beside)
        raise
    finally:
        sync(path.parent)


def replaceable(path: Path) -> os.stat_result | None:
    """What a write to `path` would replace, if anything. Raises `OSError` for what is not a regular file."""
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, f"it is a link to `{os.readlink(path)}`; name the file that is meant", str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, f"it is {kind(status.st_mode)}, not a regular file", str(path))
    if not os.access(path, os.W_OK):  # to rename over it would need no permission of its own
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    return status


def kind(mode: int) -> str:
    """What a file is, by its mode: `a folder`, `a named pipe`."""
    kinds = {
        stat.S_IFREG: "a regular file",
        stat.S_IFDIR: "a folder",
        stat.S_IFLNK: "a link",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(mode), "a special file")


def _make_folder(path: Path) -> None:
    """The folder of a file. Raises `NotADirectoryError` where a file has its name, `OSError`."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path)) from None


def sync(folder: Path) -> None:
    """Bring the names in a folder to the disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    with suppress(OSError):  # the content is on the disk; some network file systems do not sync folders
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _beside(path: Path, pieces: Iterable[bytes | memoryview], before: os.stat_result | None, mode: int) -> Path:
    """A file next to `path` with the content on the disk, and what is to stay of the old file."""
    temporary = path.with_name(f".{path.name[:40]}.{os.urandom(6).hex()}{LITTER}")
    try:
        _fill(temporary, pieces, before, mode)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            error.filename = str(path)  # which the user knows
        raise
    return temporary


def _fill(temporary: Path, pieces: Iterable[bytes | memoryview], before: os.stat_result | None, mode: int) -> None:
    # The system takes its mask off; what is replaced keeps its own permissions.
    with open(os.open(temporary, _FLAGS, mode), "wb") as file:
        if before is not None:
            _keep(file.fileno(), before)
        for piece in pieces:
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())


def _keep(number: int, before: os.stat_result) -> None:
    now = os.fstat(number)
    if hasattr(os, "fchown") and (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with suppress(OSError):  # only the administrator gives files away
            os.fchown(number, before.st_uid, before.st_gid)
    if hasattr(os, "fchmod"):
        os.fchmod(number, stat.S_IMODE(before.st_mode))
