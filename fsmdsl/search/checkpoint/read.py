"""A search on disk, so that it can go on after it was killed.

A folder has one manifest, and for each time that the search was saved a file from each rank with what it had found
since the last time: states never change, so nothing is written twice. Files are written under another name, brought to
the disk, and renamed; the manifest comes last. Whatever is interrupted, the folder holds the last search that was saved
as a whole. The manifest has the check sums of all files, and of itself, and the seal of the user who has saved it:
a search that continues trusts the files, so nothing that another user has written may pass for them.

States stand under their numbers, which do not depend on how many ranks there are; so any number of them can go on.
"""

from __future__ import annotations

import json
import os
import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.frontier import Frontier
from fsmdsl.search.errors import SavedError
from fsmdsl.search.layout import Layout
from fsmdsl.search.lower import Lowered
from fsmdsl.search.memory import Memory
from fsmdsl.search.ranks.partition import Loaded, Span, stretches
from fsmdsl.text.files import reason
from fsmdsl.text.files.private import distrust, open_private, read_private
from fsmdsl.text.files.seal import is_sealed, seal
from fsmdsl.text.files.write import write

FORMAT = 2
MANIFEST = "manifest.json"
LARGEST_MANIFEST = 256 * 2**20

FOREIGN = (
    "it was not saved by this user, or has been changed since; start a new search, or provide the key it was sealed"
    " with (docs/scale.md)"
)
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


def identity(lowered: Lowered, firsts: Iterable[tuple[int, ...]]) -> str:
    """What a search must have in common with one that goes on with it: every step, every question, every place."""
    layout: Layout = lowered.layout
    words = [x for first in firsts for x in first]
    made_from = [FORMAT, lowered.text, sorted(layout.params.items()), words, layout.words, layout.end]
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
    try:
        sealed = seal(_text_of(content))
    except ValueError as error:
        raise OSError(0, str(error)) from None
    whole = {**content, "sha256": _sum_of(content), "seal": sealed}
    lines = (f"{json.dumps(key)}: {json.dumps(x)}" for key, x in whole.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    _write(folder, MANIFEST, [memoryview(text.encode())])


def _write(folder: Path, name: str, pieces: Sequence[memoryview]) -> tuple[int, str]:
    """How much was written, and its check sum."""
    running = sha256()

    def summed() -> Iterator[memoryview]:
        for piece in pieces:
            running.update(piece)
            yield piece

    write(folder / name, summed(), mode=0o600)
    return sum(x.nbytes for x in pieces), running.hexdigest()


def _sum_of(content: Mapping[str, Any]) -> str:
    return sha256(_text_of(content)).hexdigest()


def _text_of(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True).encode()


# Reading -------------------------------------------------------------------------------------------------------------


def read_manifest(folder: Path, of: str, system: str) -> Saved:
    """What is saved in a folder. Raises `SavedError`, also where it is not a search of this identity."""
    saved = read_any(folder)
    if saved.identity != of:
        remark = "" if saved.system == system else f" (it was saved for `{saved.system}`)"
        raise SavedError(
            f"`{folder}` holds a search of a different model than the current `{system}`{remark}; the spec, its"
            " settings, or the version of fsmdsl have changed: start a new search with `--save` and another folder"
        )
    return saved


def read_any(folder: Path) -> Saved:
    """What is saved in a folder, of whatever model. Raises `SavedError`, also where this user has not saved it."""
    path = folder / MANIFEST
    try:
        why = distrust(folder)
        if why is not None:
            raise SavedError(f"`{folder}` is not trusted: {why}")
        content = json.loads(_read_manifest(path))
        if content["format"] != FORMAT:
            raise SavedError(f"`{path}` was written by another version of fsmdsl, in format {content['format']}")
        signature = content.pop("seal")
        checksum = content.pop("sha256")
        if checksum != _sum_of(content):
            raise SavedError(f"`{path}` is damaged: its checksum does not match")
        if not _is_own(content, signature):
            raise SavedError(f"`{path}` is not trusted: {FOREIGN}")
        return _saved(content)
    except FileNotFoundError:
        raise SavedError(f"no search is saved in `{folder}`: there is no `{MANIFEST}`") from None
    except OSError as error:
        raise SavedError(f"cannot read `{path}`: {reason(error)}") from None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise SavedError(f"`{path}` is damaged: it is not a manifest") from None


def _read_manifest(path: Path) -> bytes:
    try:
        return read_private(path, LARGEST_MANIFEST)
    except ValueError as error:
        raise SavedError(f"`{path}` is not trusted: {error}") from None


def _is_own(content: Mapping[str, Any], signature: object) -> bool:
    try:
        return is_sealed(_text_of(content), signature)
    except (OSError, ValueError) as error:
        raise SavedError(f"cannot find out whether this user has saved a search: {error}") from None


def _saved(content: dict[str, Any]) -> Saved:
    """Raises `ValueError` and the like where something is not what a search would have saved."""
    most = 1 << 62
    count = _number(content["states"], 1, most)
    first = _number(content["expanded"], 0, count)
    end = _number(content["level_end"], first, count)
    levels = [_number(x, 0, first) for x in content["levels"]]
    if levels[0] != 0 or levels != sorted(set(levels)) or levels[-1] >= end:
        raise ValueError("levels")
    parts = tuple(
        tuple(_part(nth, rank, p) for rank, p in enumerate(each)) for nth, each in enumerate(content["parts"])
    )
    if sum(p.states for each in parts for p in each) != count:
        raise ValueError("states")
    return Saved(
        _text(content["system"]),
        _text(content["identity"]),
        {_text(name): _text(why) for name, why in content["not_reduced"].items()},
        _number(content["words"], 1, 1 << 16),
        Frontier(first, count, levels, end),
        [_number(x, -(1 << 63), (1 << 63) - 1) for x in content["board"]],
        _number(content["transitions"], 0, most),
        parts,
    )


def _part(nth: int, rank: int, fields: Sequence[object]) -> Part:
    name, states, length, checked = fields
    if name != part_name(nth, rank) or re.fullmatch("[0-9a-f]{64}", _text(checked)) is None:
        raise ValueError("part")
    return Part(part_name(nth, rank), _number(states, 0, 1 << 62), _number(length, 8 * _HEAD, 1 << 62), _text(checked))


def part_name(nth: int, rank: int) -> str:
    """What the file of a rank is called, by the how many-th time it is that the search is saved."""
    return f"{nth:06}-{rank:05}.states"


def _number(x: object, low: int, high: int) -> int:
    if type(x) is not int or not low <= x <= high:
        raise ValueError(x)
    return x


def _text(x: object) -> str:
    if not isinstance(x, str):
        raise TypeError(x)
    return x


def read_part(folder: Path, part: Part, width: int, count: int) -> Loaded:
    """The states of a file, of a search that has found `count`. Every length and offset in it fits. Raises
    `SavedError`."""
    path = folder / part.file
    try:
        with open_private(path) as file:
            if os.fstat(file.fileno()).st_size != part.bytes:
                raise _damaged(path, "its length does not match the manifest")
            data = Memory(-(-part.bytes // 8))
            view = memoryview(data.numbers).cast("B")
            size = file.readinto(view[: part.bytes])  # type: ignore[attr-defined]
    except FileNotFoundError:
        raise SavedError(f"`{path}`, which the manifest lists, is missing") from None
    except OSError as error:
        raise SavedError(f"cannot read `{path}`: {reason(error)}") from None
    except ValueError as error:
        raise SavedError(f"`{path}` is not trusted: {error}") from None
    if size != part.bytes or sha256(view[: part.bytes]).hexdigest() != part.sha256:
        raise _damaged(path, "its checksum does not match the manifest")
    words, states, spans, numbered = data.numbers[:_HEAD]
    if (words, states) != (width, part.states) or numbered not in (0, 1) or not 0 <= spans <= max(states, 1):
        raise _damaged(path, f"it has {states} states of {words} words")
    if part.bytes != 8 * (_HEAD + 3 * spans + width * states) + 4 * states * (1 + numbered):
        raise _damaged(path, "its length does not match its states")
    if not states:
        return Loaded((), ())
    raw = data.numbers[_HEAD : _HEAD + 3 * spans]
    span_list = [Span(*raw[k : k + 3]) for k in range(0, 3 * spans, 3)]
    places = [x.place for x in span_list]
    if places[:1] != [0] or places != sorted(set(places)) or places[-1] >= states:
        raise _damaged(path, "its spans are out of order")
    if any(not (0 <= x.number < count and 0 <= x.origin < count) for x in span_list):
        raise _damaged(path, "a span is not among the states")
    return _loaded(data, words, states, span_list, bool(numbered))


def _damaged(path: Path, why: str) -> SavedError:
    return SavedError(f"`{path}` is damaged: {why}")


def _loaded(data: Memory, words: int, count: int, spans: Sequence[Span], numbered: bool) -> Loaded:
    at_words = data.address + 8 * (_HEAD + 3 * len(spans))
    at_numbers = at_words + 8 * words * count
    at_origins = at_numbers + 4 * count * numbered
    memory = [data]
    if not numbered:
        sequence = Memory(count, "I")
        first = spans[0].number
        sequence.numbers[:count] = memoryview(array("I", range(first, first + count)))
        memory.append(sequence)
        at_numbers = sequence.address
    parts = stretches(spans, words, (at_words, at_numbers, at_origins), 0, count)
    return Loaded(tuple(parts), tuple(memory))


def files(saved: Saved, rank: int, size: int) -> Iterator[tuple[Part, ...]]:
    """What a rank has to read, each time that the search was saved: its own files, where there were as many ranks."""
    for each in saved.parts:
        yield (each[rank],) if len(each) == size else each
