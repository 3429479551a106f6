"""A search on disk, so that it can go on after it was killed.

A folder has one manifest, and for each time that the search was saved a file from each rank with what it had found
since the last time: states never change, so nothing is written twice. Files are written under another name, brought to
the disk, and renamed; the manifest comes last. Whatever is interrupted, the folder holds the last search that was saved
as a whole. The manifest has the check sums of all files, and of itself.

States stand under their numbers, which do not depend on how many ranks there are; so any number of them can go on.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from fsmdsl.explore.packed.errors import SavedError
from fsmdsl.explore.packed.frontier import Frontier
from fsmdsl.explore.packed.layout import Layout
from fsmdsl.explore.packed.lower import Lowered
from fsmdsl.explore.packed.memory import Memory
from fsmdsl.explore.packed.share import Loaded, Span, Stretch

FORMAT = 1
MANIFEST = "manifest.json"
_HEAD = 4
"""Numbers at the beginning of a file: words of a state, states, spans, whether the states' own numbers are given."""


@dataclass(frozen=True, slots=True)
class Portion:
    """States in the order of their numbers, as they stand in memory."""

    words: memoryview
    numbers: memoryview | None
    """The lower halves of their numbers; None where there is no gap between these, and the first stands in the span."""
    origins: memoryview
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """A file of the manifest."""

    file: str
    states: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Saved:
    """A manifest."""

    system: str
    identity: str
    refused: dict[str, str]
    """Why sets are not reduced by symmetry, by name."""
    width: int
    """Words of a state."""
    frontier: Frontier
    board: list[int]
    transitions: int
    parts: tuple[tuple[Part, ...], ...]
    """Each time that the search was saved: the files of the ranks."""

    @property
    def complete(self) -> bool:
        """Was every state found, and every one expanded?"""
        return self.frontier.first == self.frontier.count


def identity(lowered: Lowered, start: tuple[int, ...]) -> str:
    """What a search must have in common with one that goes on with it: every step, every question, every place."""
    layout: Layout = lowered.layout
    made_from = [FORMAT, lowered.text, sorted(layout.params.items()), list(start), layout.words, lowered.size]
    return sha256(json.dumps(made_from).encode()).hexdigest()


# Writing -------------------------------------------------------------------------------------------------------------


def write_part(folder: Path, name: str, width: int, portion: Portion) -> Part:
    """Write what one rank has found. Raises `OSError`."""
    count = len(portion.origins)
    spans = [x for s in portion.spans for x in (s.place, s.number, s.origin)]
    head = array("q", [width, count, len(portion.spans), portion.numbers is not None, *spans])
    pieces = [
        memoryview(head),
        portion.words,
        *(() if portion.numbers is None else (portion.numbers,)),
        portion.origins,
    ]
    total, checked = _write(folder, name, pieces)
    return Part(name, count, total, checked)


def write_manifest(folder: Path, saved: Saved) -> None:
    """Write the manifest; from then on it is this search that is saved. Raises `OSError`."""
    f = saved.frontier
    content = {
        "format": FORMAT,
        "system": saved.system,
        "identity": saved.identity,
        "not_reduced": saved.refused,
        "words": saved.width,
        "states": f.count,
        "expanded": f.first,
        "depth": f.depth,
        "transitions": saved.transitions,
        "level_end": f.level_end,
        "levels": list(f.begins),
        "board": list(saved.board),
        "parts": [[[p.file, p.states, p.bytes, p.sha256] for p in each] for each in saved.parts],
    }
    lines = (f"{json.dumps(key)}: {json.dumps(x)}" for key, x in {**content, "sha256": _sum_of(content)}.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    _write(folder, MANIFEST, [memoryview(text.encode())])


def _write(folder: Path, name: str, pieces: Sequence[memoryview]) -> tuple[int, str]:
    """How much was written, and its check sum."""
    total, running = 0, sha256()
    with open(folder / f"{name}.new", "wb") as file:
        for piece in pieces:
            file.write(piece)
            running.update(piece)
            total += piece.nbytes
        file.flush()
        os.fsync(file.fileno())
    os.replace(folder / f"{name}.new", folder / name)
    _sync(folder)
    return total, running.hexdigest()


def _sync(folder: Path) -> None:
    """Bring a folder's names to the disk, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _sum_of(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


# Reading -------------------------------------------------------------------------------------------------------------


def read_manifest(folder: Path, of: str, system: str) -> Saved:
    """What is saved in a folder. Raises `SavedError`, also where it is not a search of this identity."""
    saved = read_any(folder)
    if saved.identity != of:
        told = "" if saved.system == system else f" (it was saved for `{saved.system}`)"
        raise SavedError(
            f"`{folder}` holds a search of another model than `{system}` is now{told}; the spec, its settings, or the"
            " version of fsmdsl have changed: start anew with `--save` and another folder"
        )
    return saved


def read_any(folder: Path) -> Saved:
    """What is saved in a folder, of whatever model. Raises `SavedError`."""
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        if content["format"] != FORMAT:
            raise SavedError(f"`{path}` was written by another version of fsmdsl, in format {content['format']}")
        told = content.pop("sha256")
        if told != _sum_of(content):
            raise SavedError(f"`{path}` is damaged: its check sum is not the one that it states")
        return _saved(content)
    except FileNotFoundError:
        raise SavedError(f"no search is saved in `{folder}`: there is no `{MANIFEST}`") from None
    except OSError as error:
        raise SavedError(f"cannot read `{path}`: {reason(error)}") from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise SavedError(f"`{path}` is damaged: it is not a manifest") from None


def _saved(content: dict[str, Any]) -> Saved:
    frontier = Frontier(content["expanded"], content["states"], list(content["levels"]), content["level_end"])
    parts = tuple(tuple(Part(*p) for p in each) for each in content["parts"])
    return Saved(
        content["system"],
        content["identity"],
        content["not_reduced"],
        content["words"],
        frontier,
        list(content["board"]),
        content["transitions"],
        parts,
    )


def read_part(folder: Path, part: Part, width: int) -> Loaded:
    """The states of a file. Raises `SavedError`."""
    path = folder / part.file
    try:
        with open(path, "rb") as file:
            data = Memory(-(-part.bytes // 8))
            view = memoryview(data.numbers).cast("B")
            size = file.readinto(view[: part.bytes])
            longer = bool(file.read(1))
    except FileNotFoundError:
        raise SavedError(f"`{path}` is missing, which the manifest lists") from None
    except OSError as error:
        raise SavedError(f"cannot read `{path}`: {reason(error)}") from None
    if longer or size != part.bytes or sha256(view[: part.bytes]).hexdigest() != part.sha256:
        raise SavedError(f"`{path}` is damaged: its check sum is not the one in the manifest")
    words, count, spans, numbered = data.numbers[:_HEAD]
    if (words, count) != (width, part.states):
        raise SavedError(f"`{path}` is damaged: it has {count} states of {words} words")
    return _laid_out(data, words, count, spans, bool(numbered))


def _laid_out(data: Memory, words: int, count: int, spans: int, numbered: bool) -> Loaded:
    listed = data.numbers[_HEAD : _HEAD + 3 * spans]
    found = [Span(*listed[k : k + 3]) for k in range(0, 3 * spans, 3)]
    at_words = data.address + 8 * (_HEAD + 3 * spans)
    at_numbers = at_words + 8 * words * count
    at_origins = at_numbers + 4 * count * numbered
    kept = [data]
    if not numbered:
        given = Memory(count, "I")
        if count:
            first = found[0].number
            given.numbers[:count] = memoryview(array("I", range(first, first + count)))
        kept.append(given)
        at_numbers = given.address
    ends = [*(s.place for s in found[1:]), count]
    stretches = (
        Stretch(
            at_words + 8 * words * s.place, at_numbers + 4 * s.place, at_origins + 4 * s.place, end - s.place,
            s.number, s.origin,
        )
        for s, end in zip(found, ends, strict=True)
    )  # fmt: skip
    return Loaded(tuple(stretches), tuple(kept))


def files(saved: Saved, rank: int, size: int) -> Iterator[tuple[Part, ...]]:
    """What a rank has to read, each time that the search was saved: its own files, where there were as many ranks."""
    for each in saved.parts:
        yield (each[rank],) if len(each) == size else each


def reason(error: OSError) -> str:
    """What the system says of it."""
    return (error.strerror or "unknown error").lower()
