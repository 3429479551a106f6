"""Diagnostics as text: a headline, the line with the place marked, and what to do.

error[FSM101]: there is no state `Shut`
  --> door.fsm:4:13
   |
 4 |     Open -> Shut on push
   |             ^^^^
   = help: declare it
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fsmdsl.text.diagnostics import Diagnostic, Severity
from fsmdsl.text.source import NOWHERE, Span
from fsmdsl.text.terminal import printable

Paint = Callable[[str, str], str]
"""Text and the role it plays (`error`, `warning`, `note`, `place`, `quiet`, `strong`) to text, coloured or not."""

WIDEST = 160
"""Columns of a source line that are shown; the rest of a longer one is cut."""


def plain(text: str, role: str) -> str:
    """No colours."""
    return text


def frames(diagnostics: Sequence[Diagnostic], paint: Paint = plain) -> str:
    """All diagnostics, a blank line between them."""
    return "\n".join(frame(d, paint) for d in diagnostics)


def frame(d: Diagnostic, paint: Paint = plain) -> str:
    """One diagnostic, ending in a newline."""
    role = str(d.severity)
    lines = [f"{paint(f'{role}[{d.rule.code}]', role)}{paint(f': {printable(d.message)}', 'strong')}"]
    gutter = len(str(max((_line(x) for x in (d.span, *(label.span for label in d.labels))), default=1)))
    lines += _excerpt(d.span, "", role, gutter, paint)
    for label in d.labels:
        lines += _excerpt(label.span, label.text, "note", gutter, paint, of=d.span)
    margin = " " * (gutter + 1) + paint("=", "place")
    lines += [f"{margin} {paint('note', 'strong')}: {_indented(note, gutter + 9)}" for note in d.remarks]
    if d.advice is not None:
        lines.append(f"{margin} {paint('help', 'strong')}: {_indented(d.advice, gutter + 9)}")
    return "\n".join(lines) + "\n"


def _indented(text: str, by: int) -> str:
    """Lines of a note, none of which can begin where a diagnostic does."""
    return ("\n" + " " * by).join(map(printable, text.split("\n")))


def _line(span: Span) -> int:
    return span.source.position(span.start)[0]


def _excerpt(span: Span, text: str, role: str, gutter: int, paint: Paint, *, of: Span | None = None) -> Iterator[str]:
    if span == NOWHERE:
        return
    arrow = paint("-->" if of is None else ":::", "place")
    if not span.source.text:
        yield f"{' ' * gutter}{arrow} {printable(span.source.name)}"
        return
    number, column = span.source.position(span.start)
    yield f"{' ' * gutter}{arrow} {printable(span.source.name)}:{number}:{column}"
    bar = paint("|", "place")
    yield f"{' ' * gutter} {bar}"
    line = span.source.line(number)
    length = max(min(span.end - span.start, len(line) - column + 1), 1)
    excerpt, before, width = _windowed(line, column - 1, length)
    yield f"{paint(str(number).rjust(gutter), 'place')} {bar} {excerpt}"
    mark = paint(("^" if of is None else "-") * width, role)
    yield f"{' ' * gutter} {bar} {' ' * before}{mark}{' ' + printable(text) if text else ''}"


def _windowed(line: str, column: int, length: int) -> tuple[str, int, int]:
    """The part of a line that is shown, with the screen columns before the mark and under it."""
    start = max(column - WIDEST // 2, 0) if column + length > WIDEST else 0
    lead = "…" if start else ""
    tail = "…" if len(line) > start + WIDEST else ""
    excerpt = lead + _visible(line[start : start + WIDEST]) + tail
    before = _width(lead + _visible(line[start:column]))
    under = _width(_visible(line[column : min(column + length, start + WIDEST)]))
    return excerpt, before, max(under, 1)


def _visible(text: str) -> str:
    """Tabs as four spaces, what cannot be shown as a dot."""
    return "".join("    " if c == "\t" else c if c.isprintable() else "·" for c in text)


def _width(text: str) -> int:
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def tally(diagnostics: Sequence[Diagnostic]) -> str:
    """`2 errors, 1 warning`; empty when there is nothing to count."""
    counts = {s: sum(d.severity is s for d in diagnostics) for s in (Severity.ERROR, Severity.WARNING, Severity.NOTE)}
    return ", ".join(f"{n} {s}{'s' * (n != 1)}" for s, n in counts.items() if n)
