"""The files that an editor works on: those on disk, with unsaved texts laid over them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.editor.editing.analysis import Analysis, analyse
from fsmdsl.editor.editing.document import Document, read_document
from fsmdsl.model.resolve import Memory
from fsmdsl.model.workspace import STUDY_FOLDER, home_of, shipped
from fsmdsl.text.files.read import UnreadableError, read_text, root_of
from fsmdsl.text.source import Source

MIN_MEMORIES = 64
"""Minimum number of remembered sets of files that belong together. More sets are remembered in larger workspaces."""


class OpenDocuments:
    """Files by their paths, and what they mean together.

    Files belong together that import each other, by any way. Those in the folders are known without being opened, but
    for studies (see `workspace`), which are read when they are opened or imported.
    """

    def __init__(self, folders: Iterable[str | Path] = ()) -> None:
        self.follow_links = False
        """Read through links that lead out of the folders, see `text.files.read`."""
        self._folders = [Path(f) for f in folders]
        self._overlay: dict[str, Document] = {}
        self._read: dict[str, Document | None] = {}
        self._spec_paths: set[str] = set()
        self._homes: dict[tuple[str, str], str | None] = {}
        self._memories: dict[frozenset[str], tuple[Memory, Analysis | None]] = {}
        self.look_again()

    # Texts -----------------------------------------------------------------------------------------------------------

    def open(self, path: str, text: str) -> Document:
        """Lay a text over a file, or change the text that is; the file need not be there."""
        before = self._overlay.get(path) or self._read.get(path)
        if before is not None and before.source.text == text:
            self._overlay[path] = before
            return before
        if path not in self._spec_paths and path not in self._overlay:
            self._homes.clear()
        document = self._overlay[path] = read_document(Source(path, text), before)
        if before is not None and before.name != document.name:
            self._homes.clear()
        return document

    def close(self, path: str) -> None:
        """Go back to what is on disk."""
        before = self._overlay.pop(path, None)
        self._read.pop(path, None)
        if not os.path.exists(path):
            self._memories = {key: x for key, x in self._memories.items() if path not in key}
        if before is not None:
            self._homes.clear()

    def changed_on_disk(self, paths: Iterable[str]) -> None:
        """Files were written, made or deleted."""
        for path in paths:
            self._read.pop(path, None)
        self.look_again()

    def folders(self, added: Iterable[str | Path], removed: Iterable[str | Path] = ()) -> None:
        """Work on other folders."""
        removed_paths = {Path(f) for f in removed}
        self._folders = [f for f in self._folders if f not in removed_paths] + [Path(f) for f in added]
        self.look_again()

    def look_again(self) -> None:
        """See which files there are."""
        self._homes.clear()
        self._spec_paths = {str(path) for folder in self._folders for path in _specs(folder)}

    def document(self, path: str) -> Document | None:
        """A file as it stands; None where there is none that can be read."""
        document = self._overlay.get(path)
        if document is not None:
            return document
        if path not in self._read:
            self._read[path] = _from_disk(path, None if self.follow_links else self._root(path))
        return self._read[path]

    def _root(self, path: str) -> Path:
        """The folder out of which a file may not lead."""
        return next((x for x in self._folders if Path(path).is_relative_to(x)), root_of(Path(path)))

    @property
    def paths(self) -> tuple[str, ...]:
        """All files that are open or in the folders."""
        return tuple(sorted(self._spec_paths | self._overlay.keys()))

    # Together --------------------------------------------------------------------------------------------------------

    def analysis(self, path: str) -> Analysis:
        """A file and all that belong together with it, as they stand. The same object as long as nothing changes."""
        documents = self.documents(path)
        key = frozenset(documents)
        memory, last = self._memories.get(key, (Memory(), None))
        if last is not None and _same(last.documents, documents):
            return last
        analysis = analyse(documents, memory, self._earlier(last, documents))
        self._memories.pop(key, None)  # inserted again at the end: the first entry is the least recently used
        self._memories[key] = memory, analysis
        while len(self._memories) > max(MIN_MEMORIES, 2 * len(self._spec_paths | self._overlay.keys())):
            del self._memories[next(iter(self._memories))]
        return analysis

    def documents(self, path: str) -> Mapping[str, Document]:
        """A file and all that belong together with it, by path."""
        return {p: d for p in sorted(self._together(path)) if (d := self.document(p)) is not None}

    def _earlier(self, last: Analysis | None, documents: Mapping[str, Document]) -> m.Model | None:
        if last is not None:
            return last.earlier
        analyses = [a for _, a in self._memories.values() if a is not None and a.documents.keys() & documents.keys()]
        return next((a.earlier for a in analyses if a.earlier is not None), None)

    def _together(self, path: str) -> set[str]:
        """The files that a file imports or is imported by, by any way."""
        paths, waiting = {path}, [path]
        neighbours: dict[str, set[str]] = {}
        for one in {*self.paths, path}:
            for other in self._imported(one):
                neighbours.setdefault(one, set()).add(other)
                if not shipped(other):  # those who import the library have nothing to do with each other
                    neighbours.setdefault(other, set()).add(one)
        while waiting:
            at = waiting.pop()
            for other in neighbours.get(at, set()) - paths:
                paths.add(other)
                waiting.append(other)
        return paths

    def _imported(self, path: str) -> Iterator[str]:
        document = self.document(path)
        for name in () if document is None else document.imports:
            key = (path, name)
            if key not in self._homes:
                self._homes[key] = self._home(path, name)
            home = self._homes[key]
            if home is not None:
                yield home

    def _home(self, path: str, name: str) -> str | None:
        """The file of an imported module: the nearest on disk, else any that is known, else that of the library."""
        near = home_of(Path(path), name)
        beside = [] if near is None else [str(near)]
        candidates = [*self.paths, *beside] if near is not None and shipped(near) else [*beside, *self.paths]
        for candidate in candidates:
            document = self.document(candidate)
            if document is not None and document.name == name:
                return candidate
        return None


def _same(one: Mapping[str, Document], other: Mapping[str, Document]) -> bool:
    return one.keys() == other.keys() and all(one[p] is other[p] for p in one)


PASSED_OVER = frozenset({STUDY_FOLDER, "node_modules", "__pycache__", "venv"})


def _specs(folder: Path) -> Iterator[Path]:
    for here, inside, files in os.walk(folder):
        inside[:] = sorted(x for x in inside if not x.startswith(".") and x not in PASSED_OVER)
        yield from (Path(here, x) for x in sorted(files) if x.endswith(".fsm"))


def _from_disk(path: str, within: Path | None) -> Document | None:
    try:
        return read_document(Source(path, read_text(Path(path), within)))
    except UnreadableError:
        return None
