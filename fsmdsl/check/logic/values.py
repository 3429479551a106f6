"""Sets of possible values, and what operators make of them.

Numbers are a `range` where they are contiguous; everything else is a `frozenset`. An empty set stands for a fault:
there is no value.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from fsmdsl.syntax.operators import COMPARISONS, LARGEST, ORDERS, Arithmetic, bounds, may_divide_by_zero, number

Values = range | frozenset[Any]

TRUE: frozenset[Any] = frozenset({True})
FALSE: frozenset[Any] = frozenset({False})
EITHER: frozenset[Any] = frozenset({True, False})
FAULT: frozenset[Any] = frozenset()

MAX_PAIRS = 1024
"""Maximum number of pairs of values that are compared one by one. For more pairs, only the bounds are compared."""


def one(value: Any) -> Values:
    """A single value."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return range(value, value + 1) if whole else frozenset({value})


def negated(v: Values) -> Values:
    """What `not` makes of truth values."""
    return FALSE if v == TRUE else TRUE if v == FALSE else v


def compared(operator: str, a: Values, b: Values) -> frozenset[Any]:
    """Which truth values a comparison can have. None has no order: such a comparison has no value."""
    if operator not in ("==", "!="):
        a, b = (x if isinstance(x, range) else x - {None} for x in (a, b))
    if not a or not b:
        return FAULT
    test = COMPARISONS[operator]
    if len(a) * len(b) <= MAX_PAIRS and not (isinstance(a, range) and isinstance(b, range)):
        return frozenset(test(x, y) for x, y in product(a, b))
    if isinstance(a, range) and isinstance(b, range):
        return _by_ends(operator, a, b)
    disjoint = not any(x in b for x in a) if len(a) < len(b) else not any(x in a for x in b)
    if disjoint and operator in ("==", "!="):
        return FALSE if operator == "==" else TRUE
    return EITHER


def _by_ends(operator: str, a: range, b: range) -> frozenset[Any]:
    """The ends say in which ways the numbers of two ranges can stand to each other."""
    low, high = a[0] - b[-1], a[-1] - b[0]
    ways = {way for way, possible in (("<", low < 0), ("=", low <= 0 <= high), (">", high > 0)) if possible}
    true_ways = ORDERS[operator]
    return TRUE if ways <= true_ways else EITHER if ways & true_ways else FALSE


def computed(operator: Arithmetic, a: Values, b: Values) -> Values:
    """The results of an operator of numbers."""
    if not a or not b:
        return FAULT
    if isinstance(a, frozenset) and isinstance(b, frozenset) and len(a) * len(b) <= MAX_PAIRS:
        pairs = ((x, y) for x, y in product(a, b) if not may_divide_by_zero(operator, (y, y)))
        return frozenset(number(operator, x, y) for x, y in pairs)
    low, high = bounds(operator, ends(a), ends(b))
    return range(max(low, -LARGEST), min(high, LARGEST) + 1)


def ends(numbers: Values) -> tuple[int, int]:
    """The smallest and the greatest of some numbers."""
    return (numbers[0], numbers[-1]) if isinstance(numbers, range) else (min(numbers), max(numbers))


def extreme(pick: Callable[[Any, Any], Any], a: Values, b: Values) -> Values:
    """The smaller or greater of two numbers (or of two members' places)."""
    if not a or not b:
        return FAULT
    if isinstance(a, range) and isinstance(b, range):
        return range(pick(a[0], b[0]), pick(a[-1], b[-1]) + 1)
    return frozenset(pick(x, y) for x, y in product(a, b))


def joined(a: Values, b: Values) -> Values:
    """The values of either. Many numbers are never listed, so with them it may be some between."""
    if not a or not b:
        return a or b
    ranges = [x for x in (a, b) if isinstance(x, range)]
    if len(ranges) == 2 or any(len(x) > MAX_PAIRS for x in ranges):
        (a_low, a_high), (b_low, b_high) = ends(a), ends(b)
        return range(min(a_low, b_low), max(a_high, b_high) + 1)
    return frozenset(a) | frozenset(b)
