"""What could be written at a place: words that the grammar accepts there, and names that would mean something."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.context_at import CursorContext, around
from fsmdsl.editor.editing.grammar_completion import names
from fsmdsl.model.resolve.names.meanings import Kind
from fsmdsl.syntax.parse.table import load
from fsmdsl.syntax.words import MEANINGS, WORDS

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


@dataclass(frozen=True, slots=True)
class Completion:
    """Something that could stand in the place of the text from `start` to `end`. Those of the same `rank` are equally
    likely; lower comes first."""

    label: str
    kind: Kind | Literal["keyword", "function", "type"]
    start: int
    end: int
    detail: str = ""
    doc: str = ""
    rank: int = 1


def complete(analysis: Analysis, path: str, offset: int) -> list[Completion]:
    """What could be written where the cursor is; what was begun there is replaced. Best first."""
    document = analysis.documents.get(path)
    if document is None:
        return []
    text = document.source.text
    offset = min(max(offset, 0), len(text))
    begun = _WORD.search(text[max(offset - 100, 0) : offset])
    start = offset if begun is None else offset - len(begun[0])
    place = around(analysis, path, start)
    if place is None or (start and text[start - 1].isdigit()):
        return []
    candidates = [
        *(Completion(x.name, x.kind, start, offset, x.detail, x.doc, x.rank) for x in names(analysis, place)),
        *(Completion(word, "keyword", start, offset, "", MEANINGS.get(word, ""), rank) for word, rank in _words(place)),
    ]
    first: dict[str, Completion] = {}
    for x in sorted(candidates, key=lambda x: x.rank):
        first.setdefault(x.label, x)
    return list(first.values())


_CONTINUING = frozenset(x.text for x in WORDS if x.continues)


def _words(place: CursorContext) -> Iterator[tuple[str, int]]:
    """Words that may stand there, with their ranks."""
    words = load().words
    for kind in sorted(place.accepted.words):
        if kind == "ENTRY":
            yield "on entry", 3
        elif kind == "EXIT":
            yield "on exit", 3
        elif kind in words and kind != "module":
            yield kind, 0 if kind in _CONTINUING else 3
        elif kind == "module" and not place.module.syntax.name:
            yield kind, 3
