"""Answers that are awaited: their codes, in the order of the requests. Read as a program: see `program.source`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fsmdsl.program.source import Row

    FIRST = END = 0


def expect(t: Row, code: int) -> int:
    """An answer is awaited from now on. False if there is no room to say so."""
    for n in range(FIRST, END):
        if t[n] == 0:
            t[n] = code
            return True
    return False


def unasked(t: Row, code: int) -> None:
    """No such answer is awaited any more."""
    at = FIRST
    for n in range(FIRST, END):
        one = t[n]
        t[n] = 0
        if one != code:
            t[at] = one
            at += 1


def answered(t: Row, code: int) -> int:
    """The first such answer has come."""
    removed = False
    for n in range(FIRST, END):
        if t[n] == code and not removed:
            removed = True
        if removed:
            t[n] = t[n + 1] if n + 1 < END else 0
    return 0
