"""The files that a page may read and write: those of the folders and files that the person named, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from threading import RLock
from time import monotonic

from fsmdsl.dataclasses import dataclass
from fsmdsl.model.workspace import STUDY_FOLDER, distinct
from fsmdsl.text.files import reason
from fsmdsl.text.files import write as disk
from fsmdsl.text.files.read import UnreadableError, check_size, decoded, read_bytes

LOOK_AGAIN = 2.0
"""Seconds for which a list of files is reused, so that not every keystroke searches all folders."""


class RefusedError(Exception):
    """A file cannot be read or written; the message says why."""


class ConflictError(Exception):
    """A file differs from the version that the page has: another program has written to it."""

    def __init__(self, now: Document | None) -> None:
        super().__init__("the file has changed on disk")
        self.now = now


@dataclass(frozen=True, slots=True)
class Document:
    """A file as it is on disk. `version` is the same exactly when the text is."""

    name: str
    text: str
    version: str


class Documents:
    """Files by the name under which the person knows them: the path as given, and what is below it.

    Questions are answered in several threads. They look through the folders one after the other, so that an old list
    never replaces a newer one; and they write one after the other, so that of two pages the second learns of the first.
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = [Path(p) for p in paths]
        self._files: dict[str, Path | None] = {}
        """By name, the folder out of which no link may lead; None for a file that the person named."""
        self._looked = -LOOK_AGAIN
        self._lock = RLock()

    def names(self, *, anew: bool = False) -> tuple[str, ...]:
        """All `.fsm` files, in the order in which `fsm check` reads them; `anew`: as it is at this moment."""
        with self._lock:
            if anew or monotonic() - self._looked > LOOK_AGAIN:
                self._files = {str(path): within for path, within in distinct(self._served())}
                self._looked = monotonic()
            return tuple(self._files)

    def _served(self) -> Iterator[tuple[Path, Path | None]]:
        for p in self.paths:
            if p.is_dir():
                yield from ((f, p) for f in _inside(p))
            else:
                yield p, None

    def read(self, name: str) -> Document:
        """A file as it is now. Raises `RefusedError`."""
        self._check_is_served(name)
        return self._read(name)

    def every(self, *, anew: bool = False) -> list[Document]:
        """All files that can be read."""
        documents = []
        for name in self.names(anew=anew):
            try:
                documents.append(self._read(name))
            except RefusedError:
                continue
        return documents

    def write(self, name: str, text: str, base: str) -> Document:
        """Replace a file whose version is `base`. Raises `ConflictError` where it is another by now."""
        self._check_is_served(name)
        data = _encoded(name, text)
        with self._lock:
            try:
                now: Document | None = self._read(name)
            except RefusedError:
                now = None
            if now is None or now.version != base:
                raise ConflictError(now)
            try:
                disk.write(Path(name), data, follow=True)
            except OSError as error:
                raise RefusedError(f"cannot write `{name}`: {reason(error)}") from error
        return Document(name, text, _version(data))

    def create(self, folder: Path, stem: str, text: str) -> Document:
        """A new file beside one of the others; never replaces one. Raises `RefusedError`."""
        path = folder / f"{stem}.fsm"
        if str(path) not in {str(Path(n).parent / path.name) for n in self.names()}:
            raise RefusedError(f"`{path}` is not beside the specs")
        data = _encoded(str(path), text)
        try:
            disk.create(path, data)
        except FileExistsError as error:
            raise RefusedError(f"`{path}` already exists; choose another name") from error
        except (OSError, ValueError) as error:
            raise RefusedError(f"cannot write `{path}`: {reason(error)}") from error
        with self._lock:
            if path not in self.paths and not any(p.is_dir() and path.is_relative_to(p) for p in self.paths):
                self.paths.append(path)
            self.names(anew=True)
        return Document(str(path), text, _version(data))

    def _read(self, name: str) -> Document:
        try:
            data = read_bytes(Path(name), self._files.get(name))
            return Document(name, decoded(data), _version(data))
        except UnreadableError as error:
            raise RefusedError(f"`{name}`: {error}") from error

    def _check_is_served(self, name: str) -> None:
        if name not in self.names() and name not in self.names(anew=True):
            raise RefusedError(f"`{name}` is not one of the specs served")


def _inside(folder: Path) -> list[Path]:
    paths = sorted(folder.rglob("*.fsm"))
    return [p for p in paths if not any(x.startswith(".") or x == STUDY_FOLDER for x in p.relative_to(folder).parts)]


def _encoded(name: str, text: str) -> bytes:
    try:
        check_size(text)
    except UnreadableError as error:
        raise RefusedError(f"cannot write `{name}`: {error}") from error
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise RefusedError(f"cannot write `{name}`: character {error.start} is an unpaired surrogate") from error


def _version(data: bytes) -> str:
    return sha256(data).hexdigest()[:32]
