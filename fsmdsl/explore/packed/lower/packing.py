"""`pack` and `unpack`: rows to words and back."""

from __future__ import annotations

from functools import reduce
from operator import or_

from fsmdsl.explore.packed.layout import Layout
from fsmdsl.explore.packed.lower.context import AT, OUT, S, T
from fsmdsl.explore.packed.shapes import Shape
from fsmdsl.explore.program.builder import Builder, function, numbers, rows
from fsmdsl.explore.program.nodes import ZERO, Choice, Expr, Function, Int, Var

WORDS, C = Var("words"), Var("c")


def pack(layout: Layout) -> Function:
    """`pack` writes the words of a row from a place on."""
    b = Builder()
    for word in range(layout.words):
        parts = [_code(T[p.place], p.shape, p.shift) for p in layout.packing if p.word == word]
        b.set(OUT[AT + word], reduce(or_, parts) if parts else ZERO)
    return function("pack", (*rows("t", "out"), *numbers("at")), b.block, "The words of a row.")


def _code(number: Expr, s: Shape, shift: int) -> Expr:
    """The code of a number, where it stands in a word."""
    if s.none is None:
        code = number - s.low if s.low else number
    elif s.none == s.low - 1:
        code = number + -s.none
    else:
        code = Choice(number.equals(s.none), ZERO, number - (s.low - 1))
    return code << shift if shift else code


def unpack(layout: Layout) -> Function:
    """`unpack` reads a row from words that begin at a place."""
    b = Builder()
    words = [Var(f"w{n}") for n in range(layout.words)]
    for n, word in enumerate(words):
        b.set(word, WORDS[AT + n])
    for p in layout.packing:
        word, s = words[p.word], p.shape
        code = (word >> p.shift if p.shift else word) & (1 << s.bits) - 1
        if s.none is not None and s.none != s.low - 1:
            b.set(C, code)
            b.set(S[p.place], Choice(C.equals(0), Int(s.none), C + (s.low - 1)))
        else:
            base = s.low if s.none is None else s.none
            b.set(S[p.place], code + base if base else code)
    parameters = (*rows("words"), *numbers("at"), *rows("s"))
    return function("unpack", parameters, b.block, "The row of words.")
