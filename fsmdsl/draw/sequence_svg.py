"""A sequence diagram as SVG, laid out here: columns as wide as what stands between them needs, rows from top to bottom.

Widths are those of an average letter; texts have room to spare in narrow fonts, and are short of none in wide ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from typing import assert_never

from fsmdsl.draw.dot import FONT, GREY, LINES, PALE, RED, TONES
from fsmdsl.draw.restyle import STYLE
from fsmdsl.draw.sequence import WIDTH, Change, Failure, Item, Message, Note, Participant, Sequence, Step, numbered
from fsmdsl.draw.text import wrapped

LETTER = 6.6
LINE = 15
MARGIN = 16
BLUE = TONES["focus"]


@dataclass
class _Canvas:
    """Where columns are, how far down the drawing has come, and what has been drawn."""

    columns: list[float]
    width: float
    y: float = 0
    drawn: list[str] = field(default_factory=list)

    def centre(self, participant: int | None) -> float:
        return self.width / 2 if participant is None else self.columns[participant]


def as_svg(chart: Sequence, prefix: str = "") -> str:
    """The diagram as an `<svg>` element that can stand in a page. `prefix` keeps ids of several apart."""
    columns, width = _columns(chart)
    canvas = _Canvas(columns, width, y=MARGIN)
    _headings(canvas, chart.participants)
    top = canvas.y
    for place, (n, item) in enumerate(numbered(chart.items)):
        name = f"{prefix}step-{n}" if isinstance(item, Step) else f"{prefix}item-{place}"
        canvas.drawn.append(f'<g id="{name}" class="{type(item).__name__.lower()}">')
        _item(canvas, n, item)
        canvas.drawn.append("</g>")
    height = canvas.y + MARGIN
    lines = [
        f'<line x1="{x:.1f}" y1="{top}" x2="{x:.1f}" y2="{height - 6}" stroke="{GREY}" stroke-opacity="0.45"/>'
        for x in columns
    ]
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" class="fsm-diagram" role="img" {size}'
    title = escape(chart.title)
    body = "\n".join([*lines, *canvas.drawn])
    return (
        f'{opening} aria-label="{title}" font-family="{FONT}" font-size="12">\n<style>{STYLE}</style>\n{body}\n</svg>\n'
    )
