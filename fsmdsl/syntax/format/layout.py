"""Rows to lines: what stands in columns, and what has to be broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.syntax.format.doc import WIDTH, Doc, Group, Line, Nest, flat, lines
from fsmdsl.syntax.format.margins import Above

INDENT = 4
GAPS = {"transition": 2, "event": 2, "hook": 2, "step": 3}
"""The space between the columns of some kinds of rows, if there is more than one row."""

COUNTED = 96
"""Longer lines do not push the comments of others to the right."""


@dataclass(slots=True)
class Cell:
    """A column's part of a row. One that does not count may be wider than its column."""

    doc: Doc
    counts: bool = True
    gap: int | None = None
    soft: bool = False
    """Whether it may go to a line of its own."""
    text: str | None = field(init=False)
    """The text on one line, if it can stand on one."""

    def __post_init__(self) -> None:
        self.text = flat(self.doc)


@dataclass(slots=True)
class Row:
    """A declaration, or the beginning or end of one. Rows of one kind that follow one another share columns.

    `wrap` makes the lines if the row is too long for one; it gets the columns and what can stand in them.
    """

    kind: str
    indent: int
    cells: list[Cell]
    above: list[Above] = field(default_factory=list)
    blank: bool = False
    behind: str = ""
    above_indent: int | None = None
    table: bool = False
    wrap: Callable[[Columns], list[str]] | None = None

    def joins(self, before: Row) -> bool:
        """Whether a row shares columns with the one before it. Rows of a table do even if comments set them apart."""
        if not self.kind or (self.kind, self.indent) != (before.kind, before.indent):
            return False
        apart = self.blank or any(a.blank for a in self.above)
        return not apart or (self.table and before.table and bool(self.above) and not self.blank)

    def join(self) -> None:
        """Have no blank line before the row and its comments."""
        if self.above:
            self.above[0].blank = False
        else:
            self.blank = False

    def separate(self) -> None:
        """Put a blank line before the row and its comments."""
        if self.above:
            self.above[0].blank = True
        else:
            self.blank = True


@dataclass(frozen=True, slots=True)
class Columns:
    """Where the cells of a paragraph begin, and the space between them."""

    starts: tuple[int, ...]
    gap: int

    def place(self, cells: Sequence[Cell], indent: int) -> str | None:
        """The cells on one line, each in its column or as soon as there is room; None if one has to be broken."""
        line = " " * (indent * INDENT)
        for i, cell in enumerate(cells):
            if cell.text is None:
                return None
            if cell.text:
                written = len(line.rstrip())
                gap = self.gap if cell.gap is None else cell.gap
                line = line.ljust(max(self.starts[i], written + gap if written else 0)) + cell.text
        return line


def text(rows: Sequence[Row]) -> str:
    """The whole file."""
    text_lines: list[str] = []
    for paragraph in _paragraphs(rows):
        columns = _columns(paragraph)
        bodies = [_body(row, columns) for row in paragraph]
        behind = _comment_column(paragraph, bodies)
        for row, body in zip(paragraph, bodies, strict=True):
            _write_above(text_lines, row)
            if row.behind:
                body[-1] = body[-1].ljust(behind if len(body) == 1 else 0) + " " * INDENT + row.behind
            text_lines.extend(body)
    return "\n".join([*text_lines, ""]) if text_lines else ""


def _write_above(text_lines: list[str], row: Row) -> None:
    indent = " " * INDENT * (row.indent if row.above_indent is None else row.above_indent)
    for a in row.above:
        text_lines.extend(["", indent + a.text] if a.blank and text_lines else [indent + a.text])
    if row.blank and text_lines:
        text_lines.append("")


def _paragraphs(rows: Sequence[Row]) -> Iterator[list[Row]]:
    current: list[Row] = []
    for row in rows:
        if current and not row.joins(current[-1]):
            yield current
            current = []
        current.append(row)
    if current:
        yield current


def _columns(paragraph: Sequence[Row]) -> Columns:
    first = paragraph[0]
    gap = GAPS.get(first.kind, 1) if len(paragraph) > 1 or first.kind == "step" else 1
    starts: list[int] = []
    at = first.indent * INDENT
    for i in range(max(len(row.cells) for row in paragraph)):
        starts.append(at)
        width = max(_width(row, i) for row in paragraph)
        if width:
            behind = next((row.cells[i + 1].gap for row in paragraph if i + 1 < len(row.cells)), None)
            at += width + (gap if behind is None else behind)
    return Columns(tuple(starts), gap)


def _width(row: Row, i: int) -> int:
    """How wide a row needs a column to be: as its cell is, if another one is to stand behind it."""
    if i >= len(row.cells) or not row.cells[i].counts or not any(c.text != "" for c in row.cells[i + 1 :]):
        return 0
    return len(row.cells[i].text or "")


def _body(row: Row, columns: Columns) -> list[str]:
    if not row.cells:
        return []
    line = columns.place(row.cells, row.indent)
    if line is not None and len(line) <= WIDTH:
        return [line]
    if row.wrap is not None:
        return row.wrap(columns)
    return broken(row.cells, row.indent)


def broken(cells: Sequence[Cell], indent: int) -> list[str]:
    """Cells side by side, regardless of columns, broken where they may be."""
    parts: list[Doc] = []
    for cell in cells:
        if cell.text != "":
            parts.extend([Nest(Group([Line(), cell.doc]))] if cell.soft and parts else [" " if parts else "", cell.doc])
    return lines(parts, indent * INDENT)


def _comment_column(paragraph: Sequence[Row], bodies: Sequence[list[str]]) -> int:
    lengths = [len(b[0]) for row, b in zip(paragraph, bodies, strict=True) if row.behind and len(b) == 1]
    return max((n for n in lengths if n <= COUNTED), default=0)
