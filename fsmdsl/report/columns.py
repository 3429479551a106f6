"""Counts as columns side by side: a small picture of how a search grew and ebbed, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

HEIGHT = 96
WIDEST = 720
"""Of the columns together, however many there are."""
MAX_WIDTH = 28
"""Of one column."""
LEFT = 58
"""For the count at the left of the highest column."""
BELOW = 20


def columns(counts: Sequence[int]) -> str:
    """An `<svg>` element; each column says its place and count when pointed at. Takes the colours of the text."""
    if not counts:
        return ""
    wide = min(WIDEST / len(counts), MAX_WIDTH)
    gap = 2 if wide > 8 else 1 if wide > 3 else 0
    highest = max(*counts, 1)
    label = f"{len(counts)} levels, at most {highest:,} states"
    width, height = LEFT + wide * len(counts) + 2, HEIGHT + BELOW
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.2f} {height}"'
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(label)}" {size}>']
    for n, count in enumerate(counts):
        high = max(count / highest * (HEIGHT - 8), 1 if count else 0)
        place = f'x="{LEFT + n * wide:.2f}" y="{HEIGHT - high:.2f}" width="{wide - gap:.2f}" height="{high:.2f}"'
        title = f"depth {n}: {count:,} state{'s' * (count != 1)}"
        drawn.append(f'<rect {place} fill="currentColor" fill-opacity="0.7"><title>{title}</title></rect>')
    drawn.append(f'<path d="M{LEFT} {HEIGHT + 0.5}H{width:.2f}" stroke="currentColor" stroke-opacity="0.4"/>')
    drawn += [
        f'<text x="{LEFT - 8}" y="16" text-anchor="end">{highest:,}</text>',
        f'<text x="{LEFT - 8}" y="{HEIGHT + 1}" text-anchor="end">0</text>',
        *(_depth(n, LEFT + (n + 0.5) * wide - gap / 2) for n in _marked(len(counts), wide)),
    ]
    return "\n".join([*drawn, "</svg>\n"])


def _marked(count: int, wide: float) -> list[int]:
    """The depths that are written below: round numbers, far enough apart to be read, and the last."""
    apart = next(x for x in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10**9) if x * wide >= 26)
    return [*(n for n in range(0, count - 1, apart) if (count - 1 - n) * wide >= 26 or not n), count - 1]


def _depth(n: int, x: float) -> str:
    return f'<text x="{x:.2f}" y="{HEIGHT + 15}" text-anchor="middle">{n}</text>'
