"""Functions that every module has: sets as bits, channels as stretches of a row. Read as a program: see
`program.source`. What stands for the numbers in capitals depends on the layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Row

    COPIED = 0


def copy(s: Row, t: Row) -> None:
    """A step begins."""
    for i in range(COPIED):
        t[i] = s[i]


# Sets ----------------------------------------------------------------------------------------------------------------


def ones(x: int) -> int:
    """How many elements a set has."""
    n = 0
    while x:
        x &= x - 1
        n += 1
    return n


def lowest(x: int) -> int:
    """The place of the lowest element."""
    return ones((x & -x) - 1)


def highest(x: int) -> int:
    """The highest element, as a set; 0 if there is none."""
    if x <= 0:
        return 0
    while x & x - 1:
        x &= x - 1
    return x


def first_subset(of: int, size: int) -> int:
    """The first subset of so many elements, or -1."""
    if size < 0 or ones(of) < size:
        return -1
    x = 0
    for _ in range(size):
        low = of & -of
        x |= low
        of ^= low
    return x


def next_subset(of: int, x: int) -> int:
    """The subset of as many elements that comes behind one with the last element of all, or -1."""
    for n in range(1, ones(x) + 1):
        top = highest(x)
        x ^= top
        rest = of & -(top << 1)
        if ones(rest) >= n:
            return x | first_subset(rest, n)
    return -1


# Channels ------------------------------------------------------------------------------------------------------------


def put(t: Row, at: int, message: int) -> int:
    """A channel holds one message more."""
    t[at + 1 + t[at]] = message
    t[at] += 1
    return 0


def put_sorted(t: Row, at: int, message: int) -> int:
    """One message more, in its place."""
    n = t[at]
    while n > 0 and t[at + n] > message:
        t[at + 1 + n] = t[at + n]
        n -= 1
    t[at + 1 + n] = message
    t[at] += 1
    return 0


def take_out(t: Row, at: int, k: int) -> int:
    """A channel holds one message less."""
    n = t[at]
    for i in range(k, n - 1):
        t[at + 1 + i] = t[at + 2 + i]
    t[at + n] = 0
    t[at] -= 1
    return 0


def double(t: Row, at: int, k: int) -> int:
    """A channel holds a message twice."""
    i = t[at]
    while i > k:
        t[at + 1 + i] = t[at + i]
        i -= 1
    t[at] += 1
    return 0
