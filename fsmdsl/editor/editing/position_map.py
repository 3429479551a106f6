"""What was found at a place of a text, for as long as the text there stays as it was."""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl.dataclasses import replace
from fsmdsl.editor.editing.findings import Mark
from fsmdsl.text.diagnostics import Diagnostic, Label
from fsmdsl.text.source import Source, Span


class Shift:
    """From a text to a later one: what stands before the first difference stays, what stands behind the last moves."""

    def __init__(self, before: str, after: str) -> None:
        shorter = min(len(before), len(after))
        self._first = _longest(shorter, lambda n: before[:n] == after[:n])
        same = _longest(shorter - self._first, lambda n: before[len(before) - n :] == after[len(after) - n :])
        self._last = len(before) - same
        self._by = len(after) - len(before)

    def place(self, start: int, end: int) -> tuple[int, int] | None:
        """Where a stretch is in the later text; None if it was changed."""
        if end <= self._first:
            return start, end
        return (start + self._by, end + self._by) if start >= self._last else None


def _longest(most: int, holds: Callable[[int], bool]) -> int:
    """The greatest number up to `most` for which something holds that holds for all smaller ones."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def moved_mark(mark: Mark, shift: Shift) -> Mark | None:
    """A finding of an exploration in a later text."""
    place = shift.place(mark.start, mark.end)
    return None if place is None else replace(mark, start=place[0], end=place[1])


def moved_diagnostic(d: Diagnostic, shift: Shift, after: Source) -> Diagnostic | None:
    """A finding of `checks` in a later text, without what it has to say of places that have changed."""
    span = _moved(d.span, shift, after)
    if span is None:
        return None
    labels = ((_moved(x.span, shift, after), x.text) for x in d.labels)
    return replace(d, span=span, labels=tuple(Label(s, text) for s, text in labels if s is not None), fix=None)


def _moved(span: Span, shift: Shift, after: Source) -> Span | None:
    if span.source.name != after.name:
        return span
    place = shift.place(span.start, span.end)
    return None if place is None else Span(after, *place)
