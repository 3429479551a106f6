"""Members of a symmetric set, sorted by their keys: see `canonical`. Read as a program: see `program.source`.

`less` and the numbers in capitals are the set's: `COUNT` members, who comes to which place from `ORDER` on, which place
each gets from `NEW` on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Row

    COUNT = ORDER = NEW = 0

    def less(t: Row, a: int, b: int) -> int: ...


def sort(t: Row) -> int:
    """Who comes to which place? True if anyone has to move."""
    moved = False
    for j in range(COUNT):
        i = j
        while i > 0 and less(t, j, t[ORDER - 1 + i]):
            t[ORDER + i] = t[ORDER - 1 + i]
            i -= 1
            moved = True
        t[ORDER + i] = j
    if moved:
        for j in range(COUNT):
            t[NEW + t[ORDER + j]] = j
    return moved


def tied(t: Row) -> int:
    """Is the same known of two of them?"""
    for j in range(COUNT - 1):  # noqa: SIM110
        if not less(t, t[ORDER + j], t[ORDER + 1 + j]):
            return True
    return False


def keeps(t: Row, at: int) -> int:
    """Does an arrangement leave all where they are, but for those of whom the same is known?"""
    for j in range(COUNT):
        a, b = t[ORDER + j], t[ORDER + t[at + j]]
        if less(t, a, b) or less(t, b, a):
            return False
    return True
