"""A sequence diagram as SVG, laid out here: columns as far apart as what stands between them needs, rows downwards.

Each line of text has a fixed width (see `metrics`), to which the reader's font is fitted. Lifelines are interrupted
behind text, since the colour of the page is not known.
"""

from __future__ import annotations

from collections import abc
from collections.abc import Iterator
from html import escape
from itertools import pairwise
from typing import assert_never

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.draw.metrics import text_width
from fsmdsl.draw.palette import FONT, GREY, RED, TONES
from fsmdsl.draw.restyle import STYLE
from fsmdsl.draw.sequence import (
    WIDTH,
    Change,
    Failure,
    Item,
    LoopBegins,
    LoopEnds,
    Message,
    Note,
    Participant,
    Sequence,
    Step,
    numbered,
)
from fsmdsl.draw.text import clean, wrapped

SIZE = 12
"""Of text, in pixels."""
LETTER = 6.6
"""Width of an average letter, to choose how many fit in a line."""
LINE = 15
MARGIN = 16
BOX = 20
"""By how much a box is wider than its text."""

LOOP = 16
"""Width of the sign before the title of what is repeated."""

BLUE = TONES["focus"]
_INK = 'fill="currentColor"'


def as_svg(chart: Sequence, prefix: str = "") -> str:
    """The diagram as an `<svg>` element that can stand in a page. `prefix` keeps ids of several apart."""
    canvas = _Canvas(*_columns(chart))
    bottom = max((_heading(canvas, x, p) for x, p in zip(canvas.columns, chart.participants, strict=True)), default=0)
    canvas.y = bottom
    for place, (n, item) in enumerate(numbered(chart.items)):
        name = f"{prefix}step-{n}" if isinstance(item, Step) else f"{prefix}item-{place}"
        canvas.drawn.append(f'<g id="{name}" class="{type(item).__name__.lower()}">')
        _item(canvas, n, item)
        canvas.drawn.append("</g>")
    height = canvas.y + MARGIN
    size = f'width="{canvas.width:.0f}" height="{height:.0f}" viewBox="0 0 {canvas.width:.0f} {height:.0f}"'
    look = f'class="fsm-diagram" role="img" aria-label="{_text(chart.title)}" font-family="{FONT}" font-size="{SIZE}"'
    body = "\n".join([*_lifelines(canvas, bottom, height - 6), *canvas.drawn])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {look} {size}>\n<style>{STYLE}</style>\n{body}\n</svg>\n'


@dataclass
class _Canvas:
    """Where the columns are, how far down the drawing has come, what has been drawn, and where lifelines are left out
    (column, from, to)."""

    columns: list[float]
    width: float
    y: float = MARGIN
    drawn: list[str] = field(default_factory=list)
    gaps: list[tuple[int, float, float]] = field(default_factory=list)
    loops: list[float] = field(default_factory=list)
    """Where the loops begin that have not ended."""

    def centre(self, participant: int | None) -> float:
        return self.width / 2 if participant is None else self.columns[participant]

    def gap(self, left: float, right: float, top: float, bottom: float) -> None:
        self.gaps.extend((i, top, bottom) for i, x in enumerate(self.columns) if left <= x <= right)

    def text(
        self, lines: abc.Sequence[str], x: float, y: float, look: str = _INK, anchor: str = "middle", *,
        bold: bool = False, size: int = SIZE,
    ) -> None:  # fmt: skip
        """Lines from `y` downwards."""
        weight = ' font-weight="bold"' if bold else ""
        smaller = f' font-size="{size}"' if size != SIZE else ""
        for n, line in enumerate(lines):
            place = f'x="{x:.1f}" y="{y + 11 + n * LINE:.1f}" text-anchor="{anchor}"'
            fit = f'textLength="{text_width(clean(line), size, bold=bold):.1f}" lengthAdjust="spacingAndGlyphs"'
            self.drawn.append(f"<text {place} {fit} {look}{weight}{smaller}>{_text(line)}</text>")


def _text(text: str) -> str:
    return escape(clean(text))


def _wide(lines: abc.Sequence[str], *, bold: bool = False) -> float:
    return max((text_width(clean(line), SIZE, bold=bold) for line in lines), default=0)


# Columns -------------------------------------------------------------------------------------------------------------


def _columns(chart: Sequence) -> tuple[list[float], float]:
    """The middle of each column, and the width of it all. `needs[i, j]` is how far `j` is right of `i` at least; -1 is
    the left margin and one more than the last the right one."""
    last = len(chart.participants)
    needs = {(i - 1, i): 40.0 for i in range(last + 1)}
    heads = [max(_wide([p.name], bold=True), _wide([p.state])) / 2 + BOX / 2 for p in chart.participants]
    for i, half in enumerate(heads):
        _need(needs, i, half, last)
    for i, halves in enumerate(pairwise(heads)):
        needs[i, i + 1] = sum(halves) + 10  # these stand side by side, all else in a row of its own
    for item in chart.items:
        _item_needs(needs, item, last)
    right = [float(MARGIN)] * (last + 2)
    for j in range(last + 1):
        right[j + 1] = max(right[i + 1] + need for (i, k), need in needs.items() if k == j)
    titles = [_wide([f"00: {item.title}"], bold=True) for item in chart.items if isinstance(item, Step)]
    return right[1:-1], max([right[-1] + MARGIN, *(min(title, 720.0) + 3 * MARGIN for title in titles)])


def _need(needs: dict[tuple[int, int], float], i: int, half: float, last: int) -> None:
    """Room on both sides of a column."""
    for pair in ((i - 1, i), (i, i + 1)):
        margin = 0 if pair[0] < 0 or pair[1] == last else 10
        needs[pair] = max(needs[pair], half + margin)


def _item_needs(needs: dict[tuple[int, int], float], item: Item, last: int) -> None:
    match item:
        case Message(source, target, text, _):
            wide = _wide(wrapped(text, WIDTH)) + 34
            if source is not None and target is not None and source != target:
                pair = (min(source, target), max(source, target))
            elif (target is None and source is not None) or (source == target and source is not None):
                pair = (source, source + 1)
                wide += 16
            else:
                pair = ((target or 0) - 1, target or 0)
            needs[pair] = max(needs.get(pair, 0), wide)
        case Change(participant):
            _need(needs, participant, _wide(wrapped(item.label, WIDTH)) / 2 + BOX / 2, last)
        case Note(int() as participant, text):
            _need(needs, participant, _wide(wrapped(text, WIDTH)) / 2 + BOX / 2, last)
        case Failure(int() as participant, text):
            _need(needs, participant, _wide(wrapped(text, WIDTH), bold=True) / 2 + BOX / 2, last)
        case Step() | Note() | Failure() | LoopBegins() | LoopEnds():
            pass
        case _:
            assert_never(item)


# Rows ----------------------------------------------------------------------------------------------------------------


def _heading(canvas: _Canvas, x: float, p: Participant) -> float:
    """A box with the name, the first state below it; where that ends."""
    half = _wide([p.name], bold=True) / 2 + BOX / 2
    dashed = ' stroke-dasharray="4 3"' if p.kind == "channel" else ""
    outline = "none" if p.kind == "environment" else "currentColor"
    look = f'{_INK} fill-opacity="0.05" stroke="{outline}"{dashed}'
    canvas.drawn.append(f'<rect x="{x - half:.1f}" y="{MARGIN}" width="{2 * half:.1f}" height="26" rx="6" {look}/>')
    canvas.text([p.name], x, MARGIN + 7, bold=True)
    canvas.text([p.state] if p.state else [], x, MARGIN + 29, f'fill="{GREY}" font-style="italic"', size=11)
    return MARGIN + 26 + (18 if p.state else 0)


def _item(canvas: _Canvas, n: int, item: Item) -> None:
    match item:
        case Step(title):
            _step(canvas, f"{n}: {title}")
        case Message():
            _message(canvas, item)
        case Change(participant):
            look = f'fill="{BLUE}" fill-opacity="0.16" stroke="{BLUE}"'
            _box(canvas, participant, item.label, f'{look} rx="9"', _INK)
        case Note(participant, text):
            _box(canvas, participant, text, f'{_INK} fill-opacity="0.06" stroke="{GREY}" rx="2"', _INK)
        case Failure(participant, text):
            look = f'fill="{RED}" stroke="{RED}" rx="2"'
            _box(canvas, participant, text, look, 'fill="white"', bold=True)
        case LoopBegins(title):
            _begin_loop(canvas, title)
        case LoopEnds():
            _end_loop(canvas)
        case _:
            assert_never(item)


def _step(canvas: _Canvas, title: str) -> None:
    lines = wrapped(title, int((canvas.width - 3 * MARGIN) / LETTER))
    top = canvas.y + 12
    high = len(lines) * LINE + 8
    band = f'x="6" y="{top:.1f}" width="{canvas.width - 12:.1f}" height="{high}" rx="4"'
    canvas.drawn.append(f'<rect {band} {_INK} fill-opacity="0.08"/>')
    canvas.text(lines, MARGIN, top + 4.5, anchor="start", bold=True)
    canvas.gap(0, canvas.width, top, top + high)
    canvas.y = top + high + 2


def _begin_loop(canvas: _Canvas, title: str) -> None:
    """The head of the frame around what is repeated; the frame itself is drawn when its end is known."""
    top = canvas.y + 12
    canvas.loops.append(top)
    wide = _wide([title], bold=True) + BOX + LOOP
    corner = f"3,{top:.1f} {3 + wide:.1f},{top:.1f} {3 + wide:.1f},{top + 13:.1f} {wide - 5:.1f},{top + 21:.1f}"
    canvas.drawn.append(f'<polygon points="{corner} 3,{top + 21:.1f}" fill="{BLUE}"/>')
    canvas.text([f"↻ {title}"], MARGIN - 4, top + 4, 'fill="white"', "start", bold=True)
    canvas.gap(0, wide, top, top + 21)
    canvas.y = top + 18


def _end_loop(canvas: _Canvas) -> None:
    top = canvas.loops.pop()
    canvas.y += 10
    frame = f'x="3" y="{top:.1f}" width="{canvas.width - 6:.1f}" height="{canvas.y - top:.1f}" rx="2"'
    canvas.drawn.append(f'<rect {frame} fill="none" stroke="{BLUE}" stroke-width="2"/>')


def _box(canvas: _Canvas, participant: int | None, text: str, look: str, ink: str, *, bold: bool = False) -> None:
    lines = wrapped(text, WIDTH if participant is not None else int((canvas.width - 4 * MARGIN) / LETTER))
    x, top = canvas.centre(participant), canvas.y + 8
    half, high = _wide(lines, bold=bold) / 2 + BOX / 2, len(lines) * LINE + 6
    canvas.drawn.append(f'<rect x="{x - half:.1f}" y="{top:.1f}" width="{2 * half:.1f}" height="{high}" {look}/>')
    canvas.text(lines, x, top + 3.5, ink, bold=bold)
    canvas.gap(x - half, x + half, top, top + high)
    canvas.y = top + high


def _message(canvas: _Canvas, message: Message) -> None:
    lines = wrapped(message.text, WIDTH)
    top = canvas.y + 8
    wide = _wide(lines)
    if message.source == message.target and message.source is not None:
        x = canvas.columns[message.source]
        canvas.text(lines, x + 34, top, anchor="start")
        canvas.gap(x + 30, x + 34 + wide, top, top + len(lines) * LINE)
        end = top + max(len(lines) * LINE, 18)
        canvas.drawn.append(f'<path d="M{x:.1f} {top + 4:.1f}h26V{end:.1f}H{x + 2:.1f}" fill="none" stroke="{GREY}"/>')
        _head(canvas, x, end, -1, message.posted)
    else:
        left, right = _ends(canvas, message, wide + 24)
        middle = (left + right) / 2
        canvas.text(lines, middle, top)
        canvas.gap(middle - wide / 2 - 3, middle + wide / 2 + 3, top, top + len(lines) * LINE)
        end = top + len(lines) * LINE + 5
        canvas.drawn.append(f'<path d="M{left:.1f} {end:.1f}H{right:.1f}" fill="none" stroke="{GREY}"/>')
        _head(canvas, right, end, 1 if right > left else -1, message.posted)
    canvas.y = end + 2


def _ends(canvas: _Canvas, message: Message, length: float) -> tuple[float, float]:
    """Where an arrow begins and ends; from outside it comes from the left, and to the outside it goes to the right."""
    match message.source, message.target:
        case int() as source, int() as target:
            return canvas.columns[source], canvas.columns[target]
        case int() as source, _:
            return canvas.columns[source], canvas.columns[source] + length
        case _, target:
            x = canvas.columns[target or 0]
            return x - length, x


def _head(canvas: _Canvas, x: float, y: float, towards: int, hollow: bool) -> None:
    """The head of an arrow; hollow where the receiver is not reached yet."""
    back = x - 8 * towards
    points = f"{back:.1f},{y - 4:.1f} {x:.1f},{y:.1f} {back:.1f},{y + 4:.1f}"
    if hollow:
        canvas.drawn.append(f'<polyline points="{points}" fill="none" stroke="{GREY}"/>')
    else:
        canvas.drawn.append(f'<polygon points="{points}" fill="{GREY}"/>')


def _lifelines(canvas: _Canvas, top: float, bottom: float) -> Iterator[str]:
    for i, x in enumerate(canvas.columns):
        at = top
        for _, start, end in sorted(gap for gap in canvas.gaps if gap[0] == i):
            if start > at:
                yield _lifeline(x, at, start)
            at = max(at, end)
        yield _lifeline(x, at, bottom)


def _lifeline(x: float, top: float, bottom: float) -> str:
    return f'<line x1="{x:.1f}" y1="{top:.1f}" x2="{x:.1f}" y2="{bottom:.1f}" stroke="{GREY}" stroke-opacity="0.55"/>'
