"""What an editor shows between the words: what a document's label stands for where it is mentioned."""

from __future__ import annotations

from fsmdsl.dataclasses import dataclass
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.editor.editing.declarations import labelled

MAX_HINT = 40


@dataclass(frozen=True, slots=True)
class Hint:
    """A text behind a place, and what more there is to say of it."""

    offset: int
    text: str
    tooltip: str


def hints(analysis: Analysis, path: str, start: int, end: int) -> list[Hint]:
    """For each label that is mentioned (behind `via`, `priority`, `fair`, `timeout … of`), its row."""
    by_place: dict[int, Hint] = {}
    for use in analysis.uses_in(path):
        if use.meaning.kind == "label" and not use.declares and start <= use.span.start and use.span.end <= end:
            rows = labelled(analysis, use.meaning)
            before = by_place.get(use.span.end)
            tooltip = rows if before is None else f"{before.tooltip}; {rows}"
            if rows:
                text = tooltip if len(tooltip) <= MAX_HINT else f"{tooltip[: MAX_HINT - 1]}…"
                by_place[use.span.end] = Hint(use.span.end, text, tooltip)
    return list(by_place.values())
