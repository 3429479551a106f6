"""Widths of text in Helvetica, so that a picture has the same layout on every machine, whatever fonts it has.

The tables are the advance widths of Helvetica, which Arial and Liberation Sans share, in thousandths of the font size.
The SVG gives each text its width (`textLength`), to which a renderer fits the font that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from unicodedata import combining, east_asian_width

LINE_HEIGHT = 1.2
"""Height of a line, as a multiple of the font size."""


def _table(widths: str) -> Mapping[str, int]:
    """The width of each printable ASCII character, from the space onwards."""
    return {chr(32 + n): int(width) for n, width in enumerate(widths.split())}


_REGULAR = _table("""
278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 278 278 584 584
584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 611 722 667 944 667 667 611 278
278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500
500 334 260 334 584
""")

_BOLD = _table("""
278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 333 333 584 584
584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 611 722 667 944 667 667 611 333
278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 611 611 611 611 389 556 333 611 556 778 556 556
500 389 280 389 584
""")

_FULL_WIDTH = 1000
_OTHER = 600
"""A letter outside ASCII; symbols (arrows, signs of sets) and East Asian letters are as wide as they are high."""


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """The width of one line of text at a font size, in the size's unit."""
    table = _BOLD if bold else _REGULAR
    return sum(table[c] if c in table else _other(c) for c in text) * size / 1000


def _other(character: str) -> int:
    if combining(character):
        return 0
    symbol = "\u2030" <= character <= "\u2bff" or east_asian_width(character) in "WF" or character > "\uffff"
    return _FULL_WIDTH if symbol else _OTHER
