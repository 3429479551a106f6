"""`canonical`: of all worlds that differ only in which member of a symmetric set is which, always the same one.

Members are sorted by everything that concerns one: what stands in its own columns, and where something refers to it.
Members of whom all of that is the same can be exchanged without a trace, so that any order of them will do. Where two
sets refer to one another (or members to members), those of one are arranged in every way, the others sorted each time,
and the arrangement with the smallest words is taken; what can be said of a member without saying who another one is
(how many refer to it) leaves few arrangements to be tried.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import permutations
from math import factorial

from fsmdsl.explore.packed.layout import Layout
from fsmdsl.explore.packed.lower.concerns import Piece, everything, outline, ranks
from fsmdsl.explore.packed.lower.context import Context
from fsmdsl.explore.packed.lower.renaming import Renaming
from fsmdsl.explore.packed.lower.writer import Writer
from fsmdsl.explore.packed.shapes import LARGEST
from fsmdsl.explore.symmetry import SymmetricSet

LONGEST_LINES = 3000
"""Keys whose text is longer are computed in a loop."""


@dataclass(frozen=True, slots=True)
class _Places:
    """Where it stands, for a set: the keys of its members, who comes to which place, which place each gets."""

    keys: int
    words: int
    """Of a key."""
    order: int
    new: int
    spare: int


def canonical(context: Context) -> list[str]:
    """The function and all that it needs."""
    layout, reduction = context.layout, context.reduction
    lines: list[str] = []
    places: dict[SymmetricSet, _Places] = {}
    for x in reduction.sets:
        exact = x in reduction.ordered
        words = _words(everything(layout, x) if exact else outline(layout, x, reduction))
        places[x] = p = _reserve(layout, x, len(words))
        functions, head = ranks(layout, x) if exact else ([], [])
        lines += [*functions, *_keys(x, p, words, head), *_sort(x, p)]
        lines += [*Renaming(context, x, p.new, p.spare).lines(f"rename_{x.first}"), *_order(x, exact=exact)]
    if reduction.arranged:
        lines += [*_ties(reduction.arranged, places), *_arranged(context, places)]
    else:
        lines += ["def canonical(t):", '    """Members in order."""', *_in_order(reduction.ordered, 1)]
    return [*lines, "    return 0"]


def _reserve(layout: Layout, x: SymmetricSet, words: int) -> _Places:
    keys, order, new, spare = (layout.reserve(x.count * n) for n in (words, 1, 1, 1))
    return _Places(keys, words, order, new, spare)


def _in_order(sets: Iterable[SymmetricSet], depth: int) -> list[str]:
    return [f"{'    ' * depth}order_{x.first}(t)" for x in sets]


# Keys ----------------------------------------------------------------------------------------------------------------


def _words(pieces: Iterable[Piece]) -> list[str]:
    """Pieces, one above the other, as few words as need be."""
    words: list[list[str]] = [["0"]]
    used = 0
    for text, bits in pieces:
        if used + bits > LARGEST:
            words.append([])
            used = 0
        if bits:
            words[-1].append(f"{text} << {used}" if used else text)
        used += bits
    return [" | ".join(parts[1:] if len(parts) > 1 and parts[0] == "0" else parts) for parts in words]


def _keys(x: SymmetricSet, p: _Places, words: Sequence[str], head: Sequence[str]) -> list[str]:
    """`keys`. Keys of one word are compared at once: mostly all are in order already."""
    lines = [f"def keys_{x.first}(t):", f'    """What concerns each of `{x.name}`. Are they in order?"""', *head]
    if len(words) == 1 and x.count * len(words[0]) < LONGEST_LINES:
        lines += [f"    k{j} = {_of_member(words[0], j)}" for j in range(x.count)]
        lines += [f"    t[{p.keys + j}] = k{j}" for j in range(x.count)]
        return [*lines, f"    return {' and '.join(f'k{j} <= k{j + 1}' for j in range(x.count - 1))}", ""]
    lines.append(f"    for j in range({x.count}):")
    lines += [f"        t[{p.keys + n * x.count} + j] = {text}" for n, text in enumerate(words)]
    return [*lines, "    return False", ""]


def _of_member(text: str, j: int) -> str:
    """A text about the member `j`, for one member."""
    text = re.sub(r"(\d+) \+ j\b", lambda found: str(int(found[1]) + j), text)
    return re.sub(r"\bj\b", str(j), text)


def _sort(x: SymmetricSet, p: _Places) -> list[str]:
    """`less` and `sort`."""
    compared = []
    for n in range(p.words - 1):
        a, b = (f"t[{p.keys + n * x.count} + {at}]" for at in "ab")
        compared += [f"    if {a} != {b}:", f"        return {a} < {b}"]
    a, b = (f"t[{p.keys + (p.words - 1) * x.count} + {at}]" for at in "ab")
    return [
        f"def less_{x.first}(t, a, b):",
        '    """Does one stand before another?"""',
        *compared,
        f"    return {a} < {b}",
        "",
        f"def sort_{x.first}(t):",
        '    """Who comes to which place? True if anyone has to move."""',
        "    moved = False",
        f"    for j in range({x.count}):",
        "        i = j",
        f"        while i > 0 and less_{x.first}(t, j, t[{p.order - 1} + i]):",
        f"            t[{p.order} + i] = t[{p.order - 1} + i]",
        "            i -= 1",
        "            moved = True",
        f"        t[{p.order} + i] = j",
        "    if moved:",
        f"        for j in range({x.count}):",
        f"            t[{p.new} + t[{p.order} + j]] = j",
        "    return moved",
        "",
    ]


def _order(x: SymmetricSet, *, exact: bool) -> list[str]:
    """`order`. Where arrangements are to be tried it must be known who stands where, also if nobody has to move."""
    first = [f"    if keys_{x.first}(t):", "        return 0"] if exact else [f"    keys_{x.first}(t)"]
    return [
        f"def order_{x.first}(t):",
        f'    """`{x.name}` in order."""',
        *first,
        f"    if sort_{x.first}(t):",
        f"        rename_{x.first}(t)",
        "    return 0",
        "",
    ]


# Arrangements --------------------------------------------------------------------------------------------------------


def _ties(sets: Iterable[SymmetricSet], places: dict[SymmetricSet, _Places]) -> list[str]:
    """`tied`: are there several of whom the same is known? `keeps`: does an arrangement exchange such members only?"""
    lines: list[str] = []
    for x in sets:
        p = places[x]
        lines += [
            f"def tied_{x.first}(t):",
            '    """Is the same known of two of them?"""',
            f"    for j in range({x.count - 1}):",
            f"        if not less_{x.first}(t, t[{p.order} + j], t[{p.order + 1} + j]):",
            "            return True",
            "    return False",
            "",
            f"def keeps_{x.first}(t, at):",
            '    """Does an arrangement leave all where they are, but for those of whom the same is known?"""',
            f"    for j in range({x.count}):",
            f"        a, b = t[{p.order} + j], t[{p.order} + t[at + j]]",
            f"        if less_{x.first}(t, a, b) or less_{x.first}(t, b, a):",
            "            return False",
            "    return True",
            "",
        ]
    return lines


def _arranged(context: Context, places: dict[SymmetricSet, _Places]) -> list[str]:
    layout, reduction = context.layout, context.reduction
    row, best, other = layout.reserve(layout.row), layout.reserve(layout.words), layout.reserve(layout.words)
    tables = {k: _table(layout, k) for k in {x.count for x in reduction.arranged}}
    w = Writer()
    for x in reduction.arranged:
        w.line(f"order_{x.first}(t)")
    with w.block(f"if not ({' or '.join(f'tied_{x.first}(t)' for x in reduction.arranged)}):"):
        w.put(_in_order(reduction.ordered, 2))
        w.line("return 0")
    with w.block(f"for i in range({layout.row}):"):
        w.line(f"t[{row} + i] = t[i]")
    w.line("found = False")
    with ExitStack() as inside:
        for x in reduction.arranged:
            p = f"p{x.first}"
            inside.enter_context(w.block(f"for n{x.first} in range({factorial(x.count)}):"))
            w.line(f"{p} = {tables[x.count]} + n{x.first} * {x.count}")
            inside.enter_context(w.block(f"if keeps_{x.first}(t, {p}):"))
        with w.block(f"for i in range({layout.row}):"):
            w.line(f"t[i] = t[{row} + i]")
        for x in reduction.arranged:
            with w.block(f"for j in range({x.count}):"):
                w.line(f"t[{places[x].new} + j] = t[p{x.first} + j]")
            w.line(f"rename_{x.first}(t)")
        w.put(_in_order(reduction.ordered, w.depth))
        w.line(f"pack(t, t, {other})")
        less = _less(best, other, layout.words)
        with w.block(f"if not found or {less}:"):
            w.line("found = True")
            for n in range(layout.words):
                w.line(f"t[{best + n}] = t[{other + n}]")
    w.line(f"unpack(t, {best}, t)")
    return ["def canonical(t):", '    """Of all arrangements the one with the smallest words."""', *w.lines]


def _table(layout: Layout, k: int) -> int:
    """All arrangements of so many, one behind the other, where nothing changes them."""
    numbers = [n for arrangement in permutations(range(k)) for n in arrangement]
    table = layout.reserve(len(numbers))
    layout.params.update({table + n: x for n, x in enumerate(numbers)})
    return table


def _less(best: int, other: int, words: int) -> str:
    """Are the words of one arrangement less than those of the best?"""
    text = f"t[{other + words - 1}] < t[{best + words - 1}]"
    for n in reversed(range(words - 1)):
        text = f"t[{other + n}] < t[{best + n}] or t[{other + n}] == t[{best + n}] and ({text})"
    return f"({text})"
