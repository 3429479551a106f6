"""`pack` and `unpack`: rows to words and back."""

from __future__ import annotations

from functools import reduce
from operator import or_

from fsmdsl.program.builder import Builder, function, numbers, rows, words
from fsmdsl.program.nodes import ZERO, Expr, Function, Var
from fsmdsl.search.layout import Layout
from fsmdsl.search.lower.context import AT, OUT, S, T
from fsmdsl.search.lower.values.convert import code_of, number_of
from fsmdsl.search.word_layout import Piece

WORDS = Var("words")


def pack(layout: Layout) -> Function:
    """`pack` writes the words of a row from a place on."""
    b = Builder()
    parts: list[list[Expr]] = [[] for _ in range(layout.words)]
    for p in layout.packing:
        code: Expr = code_of(T[p.place], p.shape)
        if len(p.pieces) > 1:
            code = b.temporary(code)
        for x in p.pieces:
            part = code if len(p.pieces) == 1 else code >> x.first & x.mask
            parts[x.word].append(part << x.shift)
    for word, codes in enumerate(parts):
        b.set(OUT[AT + word], reduce(or_, codes) if codes else ZERO)
    return function("pack", (*rows("t"), *words("out"), *numbers("at")), b.block, "The words of a row.")


def unpack(layout: Layout) -> Function:
    """`unpack` reads a row from words that begin at a place."""
    b = Builder()
    read = [Var(f"w{n}") for n in range(layout.words)]
    for n, word in enumerate(read):
        b.set(word, WORDS[AT + n])

    def part(x: Piece) -> Expr:
        return (read[x.word] >> x.shift & x.mask) << x.first

    for p in layout.packing:
        code = reduce(or_, map(part, p.pieces))
        b.set(S[p.place], number_of(code, p.shape))
    parameters = (*words("words"), *numbers("at"), *rows("s"))
    return function("unpack", parameters, b.block, "The row of words.")
