"""What loops that are run in every order share: see `orders`. Read as a program: see `program.source`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Row

    COPIED = SIZE = STACK = END = DOUBT = CUT = 0


def keep(t: Row, at: int) -> None:
    """A copy of the row."""
    for i in range(COPIED):
        t[at + i] = t[i]


def bring(t: Row, at: int) -> None:
    """The row as it was."""
    for i in range(COPIED):
        t[i] = t[at + i]


def same(t: Row, at: int) -> int:
    """Is the row as it was?"""
    for i in range(COPIED):  # noqa: SIM110
        if t[i] != t[at + i]:
            return False
    return True


def begin_orders(t: Row, k: int, doubt: int) -> int:
    """Where the rows of all parts of so many members are kept, this one the first; below 0: nowhere."""
    first: int = t[STACK]
    if t[DOUBT] == 0 and (k > 16 or first + (SIZE << k) > END):
        t[DOUBT] = doubt + 1
    if t[DOUBT] != 0:
        return -1
    t[STACK] = first + (SIZE << k)
    keep(t, first)
    t[first + COPIED] = 0
    for part in range(1, 1 << k):
        t[first + part * SIZE + COPIED] = -1
    return first


def compare(t: Row, at: int, f: int, doubt: int) -> None:
    """What a part has come to: the same as before? After a fault the row means nothing."""
    if t[at + COPIED] == -1:
        t[at + COPIED] = f
        keep(t, at)
    elif t[DOUBT] == 0 and (t[at + COPIED] != f or ((f == 0 or f == CUT) and not same(t, at))):
        t[DOUBT] = doubt
