"""The text of a spec, and places in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, cached_property

from fsmdsl.dataclasses import dataclass, field


@cache
def line_end() -> re.Pattern[str]:
    """What ends a line, here and in every message: as in the protocol of editors, and nothing else that Unicode knows.
    Like other expressions here it is compiled where it is first needed: most commands do without."""
    return re.compile(r"\r\n|\n|\r")


_PARTS = r'("(?:[^"\\\r\n]|\\.)*")|//[^\r\n]*'
"""A string, or a comment."""


def plain(text: str) -> str:
    """A piece of a spec on one line, without comments."""
    if "//" in text:
        text = re.sub(_PARTS, lambda part: part[1] or " ", text)
    return " ".join(text.split())


def line_ends(text: str) -> Iterator[tuple[int, int]]:
    """Where the end of each line stands in a text, as half-open ranges of offsets."""
    if "\r" in text:
        yield from (x.span() for x in line_end().finditer(text))
    else:
        yield from ((i, i + 1) for i, c in enumerate(text) if c == "\n")


def breaks(text: str, start: int, end: int) -> int:
    """How many lines end between two offsets."""
    if text.find("\r", start, end) < 0:
        return text.count("\n", start, end)
    return sum(1 for _ in line_end().finditer(text, start, end))


def line_around(text: str, offset: int) -> tuple[int, int]:
    """Where the line of an offset begins, and where it ends, without its end."""
    if text.startswith("\r\n", offset - 1):
        offset -= 1
    start = max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1
    end = line_end().search(text, offset)
    return start, len(text) if end is None else end.start()


def next_line(text: str, offset: int) -> int:
    """Where the line behind that of an offset begins; the end of the text where there is none."""
    end = line_end().search(text, offset)
    return len(text) if end is None else end.end()


@dataclass(frozen=True)
class Source:
    """One `.fsm` text and the name it goes by in messages (a path, or `<stdin>`)."""

    name: str
    text: str = field(repr=False)

    @cached_property
    def line_starts(self) -> list[int]:
        """Offsets at which each line begins."""
        return [0, *(end for _, end in line_ends(self.text))]

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset, both counted from 1, the column in code points."""
        from bisect import bisect_right

        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def line(self, number: int) -> str:
        """The text of a line, counted from 1, without its end."""
        start, end = line_around(self.text, self.line_starts[number - 1])
        return self.text[start:end]


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of offsets in one source."""

    source: Source = field(repr=False)
    start: int
    end: int

    def __str__(self) -> str:
        line, column = self.source.position(self.start)
        return f"{self.source.name}:{line}:{column}"

    @property
    def text(self) -> str:
        """What the author wrote here."""
        return self.source.text[self.start : self.end]

    @property
    def quote(self) -> str:
        """The same on one line and without comments, as messages and pictures have it."""
        return plain(self.text)

    def contains(self, other: Span) -> bool:
        """Is the other span a part of this one?"""
        return self.source is other.source and self.start <= other.start and other.end <= self.end

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of another of the same source."""
        return Span(self.source, self.start, other.end)


NOWHERE = Span(Source("<built in>", ""), 0, 0)
"""The span of what no author wrote."""
