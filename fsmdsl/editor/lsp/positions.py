"""Places as the protocol counts them, and as everything else does.

The protocol counts lines from 0, ends them at `\\n`, `\\r\\n` and `\\r`, and counts columns in UTF-16 code units, or in
what client and server have agreed on. Everything else has offsets in code points.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import lru_cache

from lsprotocol import types as t
from pygls.uris import from_fs_path, to_fs_path

from fsmdsl.text.source import line_ends

Encoding = t.PositionEncodingKind | str


class Lines:
    """A text as lines, in an encoding."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._text = text
        self._encoding = encoding
        self._starts = [0]
        self._ends: list[int] = []
        for end, start in line_ends(text):
            self._ends.append(end)
            self._starts.append(start)
        self._ends.append(len(text))

    def offset(self, at: t.Position) -> int:
        """The offset of a position; the end of the line, or of the text, for one beyond it."""
        if at.line < 0:
            return 0
        if at.line >= len(self._starts):
            return len(self._text)
        start, end = self._starts[at.line], self._ends[at.line]
        return start + _units_to_points(self._text[start:end], max(at.character, 0), self._encoding)

    def between(self, at: t.Position) -> bool:
        """Whether a position stands between two characters (or beyond the text), and not inside one."""
        if not 0 <= at.line < len(self._starts) or self._encoding == t.PositionEncodingKind.Utf32:
            return True
        start = self._starts[at.line]
        line = self._text[start : self._ends[at.line]]
        if line.isascii():
            return True
        before = line[: _units_to_points(line, max(at.character, 0), self._encoding)]
        return units(before, self._encoding) <= max(at.character, 0)

    def position(self, offset: int) -> t.Position:
        """The position of an offset."""
        offset = min(max(offset, 0), len(self._text))
        line = bisect_right(self._starts, offset) - 1
        before = self._text[self._starts[line] : min(offset, self._ends[line])]
        return t.Position(line, units(before, self._encoding))

    def range(self, start: int, end: int) -> t.Range:
        """The range between two offsets."""
        return t.Range(self.position(start), self.position(end))

    def first_line(self, start: int, end: int) -> t.Range:
        """A stretch, or as much of it as stands on its first line."""
        line = bisect_right(self._starts, min(start, len(self._text))) - 1
        end = min(end, len(self._text[: self._ends[line]].rstrip()))
        return self.range(start, max(end, start))


def units(text: str, encoding: Encoding) -> int:
    """The length of a text as the protocol counts it."""
    if text.isascii() or encoding == t.PositionEncodingKind.Utf32:
        return len(text)
    if encoding == t.PositionEncodingKind.Utf8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _units_to_points(line: str, offset: int, encoding: Encoding) -> int:
    if line.isascii() or encoding == t.PositionEncodingKind.Utf32:
        return min(offset, len(line))
    spent = 0
    for n, character in enumerate(line):
        if spent >= offset:
            return n
        spent += units(character, encoding)
    return len(line)


@lru_cache(maxsize=16)
def lines(text: str, encoding: Encoding) -> Lines:
    """The lines of a text; those of the last few texts are kept."""
    return Lines(text, encoding)


def path_of(uri: str) -> str:
    """The path of a file, or what the client calls a text that is not in a file."""
    return (to_fs_path(uri) or uri) if uri.startswith("file:") else uri


def uri_of(path: str) -> str:
    """What the client calls a file."""
    if re.match(r"[a-z][a-z0-9+.-]+:", path):
        return path
    return from_fs_path(path) or path
