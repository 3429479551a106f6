"""Folders of output: a manifest in the folder lists the files that fsmdsl has written there, with their check sums.

Only what it lists is removed, and only as it was written. What a user has put there is neither overwritten nor removed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath

from fsmdsl.dataclasses import dataclass
from fsmdsl.text.files import reason
from fsmdsl.text.files.write import LITTER, kind, write
from fsmdsl.text.terminal import HIDDEN

NAME = ".fsm-manifest.json"
VERSION = 1

Ours = Callable[[bytes, bool], bool]
"""Is a file one that fsmdsl writes, and nobody edits? By its content, and whether the manifest lists it: earlier
versions had no manifest."""

_LARGEST = 64 * 2**20


class RefusedError(Exception):
    """The files cannot be written without loss. Nothing was written."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("\n".join(reasons))
        self.reasons = tuple(reasons)


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that was written: by which purpose, and its check sums, of which there are two while it is replaced."""

    purpose: str
    sums: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be done to a folder."""

    folder: Path
    written: dict[str, bytes]
    """Files whose content is not as wanted; names are relative, with `/`."""
    removed: tuple[str, ...]
    """Files of an earlier run that this one does not make."""
    edited: tuple[str, ...]
    """Likewise, but changed since then: they stay."""
    entries: dict[str, Entry]
    """The manifest afterwards."""
    before: dict[str, Entry]
    refusals: tuple[str, ...]
    """What keeps it from being done, a line for each file."""

    @property
    def changed(self) -> list[Path]:
        """Every file that is not as wanted."""
        return [self.folder / x for x in sorted({*self.written, *self.removed, *self.edited})]


def plan(
    folder: Path,
    purpose: str,
    files: Mapping[str, str | bytes],
    *,
    ours: Ours = lambda _, __: False,
    force: bool = False,
    prune: bool = True,
) -> Plan:
    """What has to be done so that the folder holds these files of a purpose.

    Files that the same purpose has written before, and that are not among them, are removed where `prune` says so. A
    file that is there already may be replaced if the manifest lists it as it is, if it is `ours`, or by `force`.
    """
    before = read(folder) or {}
    wanted = {name: x.encode("utf-8") if isinstance(x, str) else x for name, x in files.items()}
    written: dict[str, bytes] = {}
    refusals: list[str] = []
    for name, data in wanted.items():
        why = _obstacle(folder, name, before.get(name), data, ours, force)
        if why is not None:
            refusals.append(f"`{folder / name}` {why}")
        if not _holds(folder / name, data):
            written[name] = data
    gone = [x for x, entry in before.items() if entry.purpose == purpose and x not in wanted] if prune else []
    state = {x: _state(folder, x, before[x]) for x in gone}
    entries = {x: entry for x, entry in before.items() if state.get(x, "edited") == "edited"}
    entries |= {name: Entry(purpose, (_sum(data),)) for name, data in wanted.items()}
    removed, edited = (tuple(x for x in gone if state[x] == s) for s in ("whole", "edited"))
    return Plan(folder, written, removed, edited, entries, before, tuple(refusals))


def carry_out(done: Plan) -> None:
    """Write, remove, and write down what was written. Raises `RefusedError`, before anything is changed; `OSError`.

    The manifest is written before the files, with what they were and what they will be, and again after them: whoever
    kills the process in between finds every file listed as it is.
    """
    if done.refusals:
        raise RefusedError(done.refusals)
    if not (done.written or done.removed or done.entries != done.before):
        return
    done.folder.mkdir(parents=True, exist_ok=True)
    _sweep(done.folder)
    if done.written or done.removed:
        _write(done.folder, _both(done.before, done.entries))
    for name, data in done.written.items():
        path = done.folder / name
        if path.is_symlink():  # `force`: the link gives way, and what it leads to stays as it is
            path.unlink()
        write(path, data)
    for name in done.removed:
        with suppress(FileNotFoundError):
            os.unlink(done.folder / name)
        _remove_empty(done.folder, name)
    if done.entries:
        _write(done.folder, done.entries)
    else:
        (done.folder / NAME).unlink(missing_ok=True)


def read(folder: Path) -> dict[str, Entry] | None:
    """The manifest of a folder; None where there is none that can be read."""
    path = folder / NAME
    try:
        if path.is_symlink() or not path.is_file() or path.stat().st_size > _LARGEST:
            return None
        content = json.loads(path.read_bytes())
        if content["version"] != VERSION:
            return None
        found = {name: Entry(str(x["by"]), tuple(map(str, x["sha256"]))) for name, x in content["files"].items()}
        return {name: x for name, x in found.items() if _inside(name)}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _write(folder: Path, entries: Mapping[str, Entry]) -> None:
    listed = {name: {"by": x.purpose, "sha256": list(x.sums)} for name, x in sorted(entries.items())}
    lines = ",\n".join(f"  {json.dumps(name)}: {json.dumps(x)}" for name, x in listed.items())
    about = "Files that fsm has written here; it removes no others."
    head = f'{{\n "kind": "fsm manifest",\n "version": {VERSION},\n "about": {json.dumps(about)},\n "files": {{\n'
    write(folder / NAME, f"{head}{lines}\n }}\n}}\n")


def _both(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> dict[str, Entry]:
    both = dict(before)
    for name, entry in after.items():
        old = before[name].sums if name in before else ()
        both[name] = Entry(entry.purpose, tuple(dict.fromkeys((*old, *entry.sums))))
    return both


# What is there -------------------------------------------------------------------------------------------------------


def _obstacle(folder: Path, name: str, entry: Entry | None, data: bytes, ours: Ours, force: bool) -> str | None:
    """Why a file may not be written, as the end of a sentence."""
    for inner in _folders(folder, name):
        if inner.is_symlink():
            return f"is behind the link `{inner}`; remove the link"
    path = folder / name
    if path.is_symlink():
        return None if force else f"is a link to `{os.readlink(path)}`; remove it, or replace it by `--force`"
    try:
        mode = os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"cannot be looked at: {reason(error)}"
    if not path.is_file():
        return f"is {kind(mode)}, not a regular file"
    try:
        now = path.read_bytes()
    except OSError as error:
        return f"cannot be read: {reason(error)}"
    owned = now == data or (entry is not None and _sum(now) in entry.sums) or ours(now, entry is not None)
    if owned or force:
        return None
    why = "has changed since it was written" if entry is not None else "was not written by this command"
    return f"{why}; move it away, choose another folder, or overwrite it by `--force`"


def _folders(folder: Path, name: str) -> Iterator[Path]:
    """The folders between the one that is owned and a file."""
    for parent in reversed(PurePosixPath(name).parents):
        if parent.parts:
            yield folder / parent


def _state(folder: Path, name: str, entry: Entry) -> str:
    """What has become of a file that the manifest lists: `whole`, `edited`, or `gone`."""
    path = folder / name
    if any(x.is_symlink() for x in _folders(folder, name)) or not os.path.lexists(path):
        return "gone"
    if path.is_symlink() or not path.is_file():
        return "edited"
    try:
        return "whole" if _sum(path.read_bytes()) in entry.sums else "edited"
    except OSError:
        return "edited"


def _inside(name: str) -> bool:
    """Is it the name of a file in the folder? A manifest may be forged."""
    path = PurePosixPath(name)
    if not path.parts or path.is_absolute() or ".." in path.parts:
        return False
    return not set(name) & set("\\:") and HIDDEN.search(name) is None


def _holds(path: Path, data: bytes) -> bool:
    try:
        return not path.is_symlink() and path.is_file() and path.read_bytes() == data
    except OSError:
        return False


def _sweep(folder: Path) -> None:
    """Take away a manifest that a process left half written when it was killed."""
    for path in folder.glob(f".{NAME}.*{LITTER}"):
        with suppress(OSError):
            path.unlink()


def _remove_empty(folder: Path, name: str) -> None:
    """Remove the folders of a file that was removed, as far as they are empty."""
    for inner in reversed(list(_folders(folder, name))):
        try:
            inner.rmdir()
        except OSError:
            return


def _sum(data: bytes) -> str:
    return sha256(data).hexdigest()
