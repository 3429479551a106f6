"""One bit for each instance, in scratch: in one word, or, for more instances than a word has bits, in several.

A mask stands at a place of the row that the layout gives (`busy`, `touched`, `waited`); how many words it takes is
`Layout.mask_words`. With one word, an instance's bit is that of its number; with several, each has `PER_WORD` bits of
`layout`.
"""

from __future__ import annotations

from functools import reduce
from operator import add

from fsmdsl.program.builder import Builder
from fsmdsl.program.nodes import ONE, ZERO, Choice, Element, Expr, Int, Var, any_of, number
from fsmdsl.search import layout as layouts
from fsmdsl.search.layout import Layout
from fsmdsl.search.symmetry import SymmetricSet

Instance = Expr | int


def test(layout: Layout, row: Var, mask: int, instance: Instance) -> Expr:
    """1 if the bit of an instance is set, else 0."""
    word, bit = _place(layout, row, mask, instance)
    return word >> bit & 1


def add_to(layout: Layout, b: Builder, row: Var, mask: int, instance: Instance) -> None:
    """Set the bit of an instance."""
    word, bit = _place(layout, row, mask, instance)
    b.update(word, "|", 1 << bit)


def remove_from(layout: Layout, b: Builder, row: Var, mask: int, instance: Instance) -> None:
    """Clear the bit of an instance."""
    word, bit = _place(layout, row, mask, instance)
    b.update(word, "&", ~(1 << bit))


def _place(layout: Layout, row: Var, mask: int, instance: Instance) -> tuple[Element, Expr]:
    """The word of an instance, and its bit in there."""
    n = number(instance)
    if layout.mask_words == 1:
        return row[mask], n
    per_word = layouts.PER_WORD
    return row[mask + (n >> per_word.bit_length() - 1)], n & per_word - 1


def several(layout: Layout, row: Var, mask: int, x: SymmetricSet) -> Expr:
    """Are the bits of more than one member of a set of instances set? Not 0 if so."""
    if layout.mask_words == 1:
        here = row[mask] & x.bits
        return here & here - 1
    per_word = layouts.PER_WORD
    parts = [(row[mask + k], x.bits >> k * per_word & (1 << per_word) - 1) for k in range(layout.mask_words)]
    words = [word & Int(bits) for word, bits in parts if bits]
    in_words = reduce(add, [Choice(word, ONE, ZERO) for word in words])
    return any_of([*(word & word - 1 for word in words), in_words > 1])
