"""The operators between two values: their names, and what they give where both sides are known.

Everything but the definition of a step (`step.evaluate`) reads them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import product
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Literal, assert_never

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]

Arithmetic = Literal["+", "-", "*", "/", "%"]
"""Of two numbers. `/` and `%` round down (Python's `//` and `%`), and have no value where the right side is 0."""

SetOperator = Literal["union", "difference", "intersection"]
"""Of two sets."""

Written = Literal["+", "-", "*", "/", "%", "&"]
"""What a spec writes between numbers and sets alike."""

LARGEST = 10**18 - 1
"""Maximum absolute value of computed numbers. It fits into a machine word."""

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
        case "+" | "-" | "*" | "/" | "%":
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
        case "*" | "/" | "%":
            return None
        case _:
            assert_never(written)


def number(operator: Arithmetic, a: int, b: int) -> int:
    """The result for two numbers. Raises `ZeroDivisionError`."""
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            return a // b
        case "%":
            return a % b
        case _:
            assert_never(operator)


def bounds(operator: Arithmetic, a: Bounds, b: Bounds) -> Bounds:
    """Between which numbers the results are for numbers between others, where there are any: those of `+`, `-` and `*`
    are extreme where both sides are, those of `/` also where the right side is nearest to 0."""
    match operator:
        case "+" | "-" | "*":
            return _extremes(number(operator, x, y) for x, y in product(a, b))
        case "/":
            divisors = [y for y in {*b, -1, 1} if y and b[0] <= y <= b[1]]
            return _extremes(number(operator, x, y) for x, y in product(a, divisors))
        case "%":
            return _remainders(a, b)
        case _:
            assert_never(operator)


def _extremes(numbers: Iterable[int]) -> Bounds:
    values = [*numbers] or [0]
    return min(values), max(values)


def _remainders(a: Bounds, b: Bounds) -> Bounds:
    """A remainder has the sign of the divisor, and is nearer to 0; a number that is smaller than the divisor is its own
    remainder."""
    if a[0] >= 0 and a[1] < b[0]:
        return a
    highest = max(b[1] - 1, 0)
    return min(b[0] + 1, 0), min(a[1], highest) if a[0] >= 0 and b[0] >= 0 else highest


def may_divide_by_zero(operator: str, divisor: Bounds) -> bool:
    """Can an operation have no value, because its right side is between these numbers?"""
    return operator in ("/", "%") and divisor[0] <= 0 <= divisor[1]


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
