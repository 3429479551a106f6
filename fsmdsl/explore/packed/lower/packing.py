"""`pack` and `unpack`: rows to words and back."""

from __future__ import annotations

from functools import reduce
from operator import or_

from fsmdsl.explore.packed.layout import Layout
from fsmdsl.explore.packed.lower.context import AT, OUT, S, T
from fsmdsl.explore.packed.lower.convert import code_of, number_of
from fsmdsl.explore.program.builder import Builder, function, numbers, rows
from fsmdsl.explore.program.nodes import ZERO, Function, Var

WORDS, C = Var("words"), Var("c")


def pack(layout: Layout) -> Function:
    """`pack` writes the words of a row from a place on."""
    b = Builder()
    for word in range(layout.words):
        placed = [(code_of(T[p.place], p.shape), p.shift) for p in layout.packing if p.word == word]
        parts = [code << shift if shift else code for code, shift in placed]
        b.set(OUT[AT + word], reduce(or_, parts) if parts else ZERO)
    return function("pack", (*rows("t", "out"), *numbers("at")), b.block, "The words of a row.")


def unpack(layout: Layout) -> Function:
    """`unpack` reads a row from words that begin at a place."""
    b = Builder()
    words = [Var(f"w{n}") for n in range(layout.words)]
    for n, word in enumerate(words):
        b.set(word, WORDS[AT + n])
    for p in layout.packing:
        word, s = words[p.word], p.shape
        code = (word >> p.shift if p.shift else word) & (1 << s.bits) - 1
        if s.far is not None:
            b.set(C, code)
        b.set(S[p.place], number_of(code if s.far is None else C, s))
    parameters = (*rows("words"), *numbers("at"), *rows("s"))
    return function("unpack", parameters, b.block, "The row of words.")
