"""The words of a text by what they are, for colours."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.model.resolve.names.meanings import Kind, Use
from fsmdsl.syntax.parse.table import load

TokenKind = Kind | Literal["keyword", "comment", "doc", "string", "number", "sign", "name"]
"""What a word is: the kind of thing that it names, or what it is to the grammar. A `name` is not known to mean
anything."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """A stretch of a text that is of one kind. `durable` fields, `amended` and unreachable things are not told apart
    here; `declares` says that the name is declared here."""

    start: int
    end: int
    kind: TokenKind
    declares: bool = False


def highlights(analysis: Analysis, path: str, start: int = 0, end: int | None = None) -> list[Highlight]:
    """All words, signs and comments of a file between two places, in the order of the text; none overlap."""
    document = analysis.documents.get(path)
    if document is None:
        return []
    marks = [*_words(analysis, path, start, end)]
    marks += (Highlight(c.start, c.end, "doc" if c.doc else "comment") for c in document.comments(start, end))
    marks.sort(key=lambda h: h.start)
    return marks


def _words(analysis: Analysis, path: str, start: int, end: int | None) -> Iterator[Highlight]:
    uses = analysis.uses_in(path)
    starts = [u.span.start for u in uses]
    words = load().words
    for token in analysis.documents[path].tokens(start, end):
        match token.kind:
            case "NAME":
                n = bisect_left(starts, token.start)
                yield _name(token.start, token.end, uses[n] if n < len(uses) else None)
            case "STRING":
                yield Highlight(token.start, token.end, "string")
            case "INT" | "DURATION":
                yield Highlight(token.start, token.end, "number")
            case "ENTRY" | "EXIT":
                yield Highlight(token.start, token.end, "keyword")
            case kind if kind in words:
                yield Highlight(token.start, token.end, "keyword")
            case _:
                yield Highlight(token.start, token.end, "sign")


def _name(start: int, end: int, use: Use | None) -> Highlight:
    if use is None or use.span.start != start:
        return Highlight(start, end, "name")
    return Highlight(start, end, use.meaning.kind, use.declares)
