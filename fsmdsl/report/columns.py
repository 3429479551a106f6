"""Counts as columns side by side: a small picture of how a search grew and ebbed, level by level."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

HEIGHT = 64
WIDEST = 640
"""Of the picture, however many columns there are."""
MOST = 24
"""Of one column."""


def columns(counts: Sequence[int]) -> str:
    """An `<svg>` element; each column says its place and count when pointed at. Takes the colours of the text."""
    if not counts:
        return ""
    wide = min(WIDEST / len(counts), MOST)
    gap = 1 if wide > 3 else 0
    highest = max(*counts, 1)
    told = f"{len(counts)} levels, at most {highest:,} states"
    size = f'width="{wide * len(counts):.0f}" height="{HEIGHT}" viewBox="0 0 {wide * len(counts):.2f} {HEIGHT}"'
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(told)}" {size}>']
    for n, count in enumerate(counts):
        high = max(count / highest * (HEIGHT - 2), 1 if count else 0)
        place = f'x="{n * wide:.2f}" y="{HEIGHT - high:.2f}" width="{wide - gap:.2f}" height="{high:.2f}"'
        title = f"depth {n}: {count:,} state{'s' * (count != 1)}"
        drawn.append(f'<rect {place} fill="currentColor" fill-opacity="0.45"><title>{title}</title></rect>')
    return "\n".join([*drawn, "</svg>\n"])
