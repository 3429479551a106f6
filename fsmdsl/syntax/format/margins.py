"""Comments and blank lines, by the tokens that they stand beside."""

from __future__ import annotations

import re
from bisect import bisect_left

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.syntax.parse.reading import Reading
from fsmdsl.text.source import Source, breaks

_CROWDED = re.compile(r"\A(///?)(?=\w)")


@dataclass(slots=True)
class Above:
    """A comment on a line of its own, and whether a blank line is before it."""

    blank: bool
    text: str


@dataclass(slots=True)
class Margin:
    """What stands around a token: comments on the lines before it, whether a blank line, a comment behind it."""

    above: list[Above] = field(default_factory=list)
    blank: bool = False
    behind: str = ""


def margins(source: Source, reading: Reading) -> list[Margin]:
    """The margin of every token."""
    text, tokens = source.text, reading.tokens
    all_margins = [Margin() for _ in tokens]
    starts = [t.start for t in tokens]
    end_before = [0, *(t.end for t in tokens)]  # of the token or comment before each token
    for c in reading.comments:
        words = _CROWDED.sub(r"\1 ", c.text.rstrip(), count=1)
        i = bisect_left(starts, c.end)
        if c.previous >= 0 and breaks(text, c.previous, c.start) == 0:
            all_margins[i - 1].behind = words
        else:
            all_margins[i].above.append(Above(_blank(text, end_before[i], c.start), words))
        end_before[i] = c.end
    for i, token in enumerate(tokens):
        all_margins[i].blank = i > 0 and _blank(text, end_before[i], token.start)
    return all_margins


def _blank(text: str, start: int, end: int) -> bool:
    return breaks(text, start, end) > 1
