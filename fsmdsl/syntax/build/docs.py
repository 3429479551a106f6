"""Which declaration a doc comment belongs to.

NOTE(docs): a `///` on lines of its own belongs to the declaration, or part of one, that begins with the token after it.
A `///` behind something belongs to the innermost declaration, or part of one, which that something ends or is inside
of; behind an opening brace, to what the brace opens. Signs between parts (`,` `|` `<` `>` `;`) do not count,
and behind a `;` that begins its line it is on a line of its own.
A comment behind the last of several events or actions belongs to all of them, unless another has one of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl.text.source import Source, breaks
from fsmdsl.syntax.tree import Comment, Token

SEPARATORS = frozenset({",", "|", "<", ">", ";"})


class Docs:
    """The doc comments of a file, by the tokens beside them. See NOTE(docs)."""

    def __init__(self, source: Source, tokens: Sequence[Token], comments: Sequence[Comment]) -> None:
        self._leading: dict[int, str] = {}
        self._places: list[int] = []
        self._trailing: list[str] = []
        doc_comments = [c for c in comments if c.doc]
        if not doc_comments:
            return
        from bisect import bisect_left

        starts = [t.start for t in tokens]
        for c in doc_comments:
            words = c.text.removeprefix("///").strip()
            after = bisect_left(starts, c.end)
            if c.previous >= 0 and breaks(source.text, c.previous, c.start) == 0:
                self._places.append(_end_before(tokens, after - 1))
                self._trailing.append(words)
            elif (start := _start_after(tokens, after)) is not None:
                before = self._leading.get(start)
                self._leading[start] = words if before is None else f"{before}\n{words}"

    def before(self, start: int) -> str:
        """The comment on the lines before what begins there."""
        return self._leading.get(start, "")

    def behind(self, start: int, end: int) -> str:
        """The comments behind what stands there or behind its parts. Each is given out once: inner parts ask first."""
        if not self._places:
            return ""
        from bisect import bisect_right

        first, last = bisect_right(self._places, start), bisect_right(self._places, end)
        comments = "\n".join(filter(None, self._trailing[first:last]))
        del self._places[first:last], self._trailing[first:last]
        return comments


def _end_before(tokens: Sequence[Token], i: int) -> int:
    while i > 0 and tokens[i].kind in SEPARATORS:
        i -= 1
    return tokens[i].end


def _start_after(tokens: Sequence[Token], i: int) -> int | None:
    while i < len(tokens) and tokens[i].kind in SEPARATORS:
        i += 1
    return tokens[i].start if i < len(tokens) else None
