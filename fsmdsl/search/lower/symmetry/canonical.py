"""`canonical`: of all worlds that differ only in which member of a symmetric set is which, always the same one.

Members are sorted by everything that concerns one: what stands in its own columns, and where something refers to it.
Members of whom all of that is the same can be exchanged without a trace, so that any order of them will do. Where two
sets refer to one another (or members to members), those of one are arranged in every way, the others sorted each time,
and the arrangement with the smallest words is taken; what can be said of a member without saying who another one is
(how many refer to it) leaves few arrangements to be tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from functools import reduce
from itertools import pairwise, permutations
from math import factorial
from operator import or_

from fsmdsl.dataclasses import dataclass
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import (
    FALSE,
    TRUE,
    ZERO,
    Expr,
    Function,
    Int,
    Not,
    Statement,
    Var,
    all_of,
    any_of,
    call,
)
from fsmdsl.program.queries import rewritten, subexpressions
from fsmdsl.search.layout import Layout
from fsmdsl.search.lower.context import Context, T
from fsmdsl.search.lower.helpers import of_library
from fsmdsl.search.lower.symmetry.concerns import Piece, everything, outline, ranks
from fsmdsl.search.lower.symmetry.renaming import J, Renaming
from fsmdsl.search.shapes import LARGEST
from fsmdsl.search.symmetry import SymmetricSet

LONGEST_KEYS = 1140
"""Keys that take more nodes, for all members together, are computed in a loop."""

A, B, HAS_KEY, PLACE = (Var(name) for name in ("a", "b", "has_key", "i"))


@dataclass(frozen=True, slots=True)
class _Places:
    """Where it stands, for a set: the keys of its members, who comes to which place, which place each gets."""

    keys: int
    words: int
    """Of a key."""
    order: int
    new: int
    spare: int


def canonical(context: Context) -> list[Function]:
    """The function and all that it needs."""
    layout, reduction = context.layout, context.reduction
    functions: list[Function] = []
    places: dict[SymmetricSet, _Places] = {}
    for x in reduction.sets:
        exact = x in reduction.ordered
        if exact:
            pieces, (needed, head) = everything(layout, x), ranks(layout, x)
        else:
            pieces, needed, head = outline(layout, x, reduction), [], []
        words = _words(pieces)
        p = _Places(layout.reserve(x.count * len(words)), len(words), *(layout.reserve(x.count) for _ in range(3)))
        places[x] = p
        functions += [*needed, _keys(x, p, words, head), _less(x, p), _library(x, p)["sort"]]
        functions += [*Renaming(context, x, p.new, p.spare).functions(f"rename_{x.first}"), _order(x, exact=exact)]
    if reduction.arranged:
        for x in reduction.arranged:
            library = _library(x, places[x])
            functions += [library["tied"], library["keeps"]]
        return [*functions, _arranged(context, places)]
    b = Builder()
    _in_order(b, reduction.ordered)
    return [*functions, function("canonical", rows("t"), b.block, "Members in order.")]


def _in_order(b: Builder, sets: Iterable[SymmetricSet]) -> None:
    for x in sets:
        b.do(call(f"order_{x.first}", T))


def _library(x: SymmetricSet, p: _Places) -> dict[str, Function]:
    """What is written by hand, for a set: `sort`; `tied` and `keeps` for those of whom arrangements are tried."""
    names = {name: f"{name}_{x.first}" for name in ("less", "sort", "tied", "keeps")}
    constants = {"COUNT": x.count, "ORDER": p.order, "NEW": p.new}
    functions = of_library("members.py", constants, names)
    return dict(zip(("sort", "tied", "keeps"), functions, strict=True))


# Keys ----------------------------------------------------------------------------------------------------------------


def _words(pieces: Iterable[Piece]) -> list[Expr]:
    """Pieces, one above the other, as few words as need be."""
    words: list[list[Expr]] = [[]]
    used = 0
    for piece, bits in pieces:
        if used + bits > LARGEST:
            words.append([])
            used = 0
        if bits:
            words[-1].append(piece << used)
        used += bits
    return [reduce(or_, parts) if parts else ZERO for parts in words]


def _keys(x: SymmetricSet, p: _Places, words: Sequence[Expr], head: Sequence[Statement]) -> Function:
    """`keys`. Keys of one word are compared at once: mostly all are in order already."""
    b = Builder()
    b.splice(head)
    if len(words) == 1 and x.count * _size(words[0]) < LONGEST_KEYS:
        keys = [Var(f"k{j}") for j in range(x.count)]
        for j, key in enumerate(keys):
            b.set(key, _of_member(words[0], j))
        for j, key in enumerate(keys):
            b.set(T[p.keys + j], key)
        b.return_(all_of([key <= following for key, following in pairwise(keys)]))
    else:
        with b.count(J, x.count):
            for n, word in enumerate(words):
                b.set(T[p.keys + n * x.count + J], word)
        b.return_(FALSE)
    return function(f"keys_{x.first}", rows("t"), b.block, f"What concerns each of `{x.name}`. Are they in order?")


def _size(x: Expr) -> int:
    """How many nodes an expression has."""
    return sum(1 for _ in subexpressions(x))


def _of_member(x: Expr, j: int) -> Expr:
    """An expression about the member `j`, for one member."""
    return rewritten(x, lambda y: Int(j) if y == J else y)


def _less(x: SymmetricSet, p: _Places) -> Function:
    """`less`: by the words of the keys, from the first."""
    b = Builder()
    one, other = ([T[p.keys + n * x.count + at] for n in range(p.words)] for at in (A, B))
    b.return_(_smaller(one, other))
    return function(f"less_{x.first}", (*rows("t"), *numbers("a", "b")), b.block, "Does one stand before another?")


def _order(x: SymmetricSet, *, exact: bool) -> Function:
    """`order`. Where arrangements are to be tried it must be known who stands where, also if nobody has to move."""
    b, keys = Builder(), call(f"keys_{x.first}", T)
    if exact:
        with b.if_(keys):
            b.return_(0)
    else:
        b.do(keys)
    with b.if_(call(f"sort_{x.first}", T)):
        b.do(call(f"rename_{x.first}", T))
    return function(f"order_{x.first}", rows("t"), b.block, f"`{x.name}` in order.")


# Arrangements --------------------------------------------------------------------------------------------------------


def _arranged(context: Context, places: dict[SymmetricSet, _Places]) -> Function:
    layout, reduction = context.layout, context.reduction
    row, best, other = layout.reserve(layout.row), layout.reserve(layout.words), layout.reserve(layout.words)
    tables = {k: _table(layout, k) for k in {x.count for x in reduction.arranged}}
    b = Builder()
    _in_order(b, reduction.arranged)
    with b.if_(Not(any_of([call(f"tied_{x.first}", T) for x in reduction.arranged]))):
        _in_order(b, reduction.ordered)
        b.return_(0)
    with b.count(PLACE, layout.row):
        b.set(T[row + PLACE], T[PLACE])
    b.set(HAS_KEY, FALSE)
    with ExitStack() as inside:
        for x in reduction.arranged:
            n, p = Var(f"n{x.first}"), Var(f"p{x.first}")
            inside.enter_context(b.count(n, factorial(x.count)))
            b.set(p, tables[x.count] + n * x.count)
            inside.enter_context(b.if_(call(f"keeps_{x.first}", T, p)))
        with b.count(PLACE, layout.row):
            b.set(T[PLACE], T[row + PLACE])
        for x in reduction.arranged:
            with b.count(J, x.count):
                b.set(T[places[x].new + J], T[Var(f"p{x.first}") + J])
            b.do(call(f"rename_{x.first}", T))
        _in_order(b, reduction.ordered)
        b.do(call("pack", T, T, other))
        words = ([T[place + n] for n in range(layout.words)] for place in (other, best))
        with b.if_(any_of([Not(HAS_KEY), _smaller(*words)])):
            b.set(HAS_KEY, TRUE)
            for word in range(layout.words):
                b.set(T[best + word], T[other + word])
    b.do(call("unpack", T, best, T))
    return function("canonical", rows("t"), b.block, "Of all arrangements the one with the smallest words.")


def _table(layout: Layout, k: int) -> int:
    """All arrangements of so many, one behind the other, where nothing changes them."""
    entries = [n for arrangement in permutations(range(k)) for n in arrangement]
    table = layout.reserve(len(entries))
    layout.params.update({table + n: x for n, x in enumerate(entries)})
    return table


def _smaller(one: Sequence[Expr], other: Sequence[Expr]) -> Expr:
    """Are some words less than others, from the first on?"""
    smaller = one[-1] < other[-1]
    for x, y in reversed([*zip(one[:-1], other[:-1], strict=True)]):
        smaller = any_of([x < y, all_of([x.equals(y), smaller])])
    return smaller
