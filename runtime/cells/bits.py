"""Sets of positions as the bits of a number: Python's whole numbers go through 64 positions at a time."""

from __future__ import annotations

from collections.abc import Iterator


def first(bits: int) -> int:
    """The lowest position; the set must not be empty."""
    return (bits & -bits).bit_length() - 1


def each(bits: int) -> Iterator[int]:
    """All positions, rising. Costs what it yields, not the length of the set, as long as few are taken."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def span(start: int, count: int) -> int:
    """The positions from `start` on."""
    return ((1 << count) - 1) << start
