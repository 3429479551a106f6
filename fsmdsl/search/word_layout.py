"""Where the codes of a row stand in the words of a state."""

from __future__ import annotations

from collections.abc import Iterable

from fsmdsl.dataclasses import dataclass
from fsmdsl.search.shapes import Shape

WORD = 63
"""Bits of a word that are used: the sign is not, so that plain and compiled code see the same numbers."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Bits of a code that stand in one word."""

    word: int
    shift: int
    first: int
    """The lowest of them in the code."""
    mask: int


@dataclass(frozen=True, slots=True)
class Packing:
    """A place of the row in a word, or in as many as its code needs."""

    place: int
    shape: Shape
    pieces: tuple[Piece, ...]

    def code(self, words: Iterable[int]) -> int:
        """The code in the words of a state that have a piece of it."""
        return sum((word >> x.shift & x.mask) << x.first for x, word in zip(self.pieces, words, strict=True))


def packed(places: Iterable[tuple[int, Shape]]) -> tuple[list[Packing], int]:
    """One after the other, none across two words unless it needs several; and the number of words, one or more."""
    packing: list[Packing] = []
    word = shift = 0
    for place, s in places:
        if shift and shift + s.bits > WORD:
            word, shift = word + 1, 0
        pieces: list[Piece] = []
        for first in range(0, s.bits, WORD):
            if shift == WORD:
                word, shift = word + 1, 0
            bits = min(WORD, s.bits - first)
            pieces.append(Piece(word, shift, first, (1 << bits) - 1))
            shift += bits
        packing.append(Packing(place, s, tuple(pieces)))
    return packing, word + 1
