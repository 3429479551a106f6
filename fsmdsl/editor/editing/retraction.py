"""Taking a declaration out of a text: with its doc comments, and with the comma of a list."""

from __future__ import annotations

import re

from fsmdsl.editor.editing.document import Document
from fsmdsl.editor.editing.rename import Edit
from fsmdsl.text.source import Span, line_around, next_line


def withdrawn(document: Document, span: Span) -> Edit | None:
    """The change that takes out a declaration, or one of several in a list; None where that would not be all of it."""
    text = document.source.text
    start, end = line_around(text, span.start)[0], next_line(text, span.end)
    before, behind = text[start : span.start], text[span.end : end]
    opens = re.fullmatch(r"\s*(event|action|opaque|import|async\s+action)?\s*", before)
    if opens is not None and (not behind.strip() or behind.strip().startswith(("//", "from", "->"))):
        return Edit(Span(document.source, _with_comments(text, start), end), "")
    comma = re.match(r"\s*,\s*", text[span.end :])
    if comma is not None:
        return Edit(Span(document.source, span.start, span.end + comma.end()), "")
    after_comma = re.search(r"\s*,\s*\Z", text[: span.start])
    if after_comma is not None:
        return Edit(Span(document.source, after_comma.start(), span.end), "")
    return None


def _with_comments(text: str, start: int) -> int:
    """The beginning of the doc comments on the lines before a line."""
    while start > 0:
        line = line_around(text, start - 1)[0]
        if not text[line:start].strip().startswith("///"):
            break
        start = line
    return start
