"""The operators between two values: their names, and what they give where both sides are known.

Everything but the definition of a step (`step.evaluate`) reads them here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal, assert_never

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]

Arithmetic = Literal["+", "-", "*"]
"""Of two numbers. Written in a spec as in Python."""

SetOperator = Literal["union", "difference", "intersection"]
"""Of two sets."""

Written = Literal["+", "-", "*", "&"]
"""What a spec writes between numbers and sets alike."""

LARGEST = 10**18 - 1
"""No number that a spec computes is larger, nor its opposite; so it fits into a word."""

Bounds = tuple[int, int]
"""The smallest and the largest of some numbers."""

# Comparisons. The tables are looked into with any operator, so they are typed by `str`.

COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {"==": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}

COMPLEMENT: Mapping[str, Comparison] = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
"""Of each comparison, the one that holds where it does not."""

TURNED: Mapping[str, Comparison] = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Of each comparison, the same with its sides exchanged."""

ORDERS: Mapping[str, frozenset[str]] = {
    "==": frozenset("="), "!=": frozenset("<>"), "<": frozenset("<"), "<=": frozenset("<="), ">": frozenset(">"),
    ">=": frozenset(">="),
}  # fmt: skip
"""Of each comparison, the ways in which its sides can stand to each other where it holds: less, equal, greater."""

# Numbers and sets


def of_numbers(written: Written) -> Arithmetic | None:
    """What a sign means between numbers, if it means anything."""
    match written:
        case "+" | "-" | "*":
            return written
        case "&":
            return None
        case _:
            assert_never(written)


def of_sets(written: Written) -> SetOperator | None:
    """What a sign means between sets, if it means anything."""
    match written:
        case "+":
            return "union"
        case "-":
            return "difference"
        case "&":
            return "intersection"
        case "*":
            return None
        case _:
            assert_never(written)


def number(operator: Arithmetic, a: int, b: int) -> int:
    """The result for two numbers."""
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case _:
            assert_never(operator)


def bounds(operator: Arithmetic, a: Bounds, b: Bounds) -> Bounds:
    """Between which numbers the results are for numbers between others: they are extreme where both sides are."""
    corners = [number(operator, x, y) for x, y in product(a, b)]
    return min(corners), max(corners)


def combined(operator: SetOperator, a: frozenset[object], b: frozenset[object]) -> frozenset[object]:
    """The result for two sets."""
    match operator:
        case "union":
            return a | b
        case "difference":
            return a - b
        case "intersection":
            return a & b
        case _:
            assert_never(operator)
