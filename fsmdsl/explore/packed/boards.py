"""The boards of workers: what each has noted, and all of them as one. See `lower.Board`."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl.explore.packed.lower import Lowered
from fsmdsl.explore.packed.memory import Memory
from fsmdsl.explore.packed.plain import row


def fresh(lowered: Lowered) -> Memory:
    """A board, or a row, as a search begins."""
    board = Memory(lowered.size + 1)
    for place, number in enumerate(row(lowered)):
        board.numbers[place] = number
    return board


def counted(lowered: Lowered) -> Sequence[int]:
    """The places of a board that a search adds to."""
    b = lowered.board
    answered = range(b.answered, b.first)
    return [b.fired, *answered, *lowered.flags, *lowered.firsts]


def merged(lowered: Lowered, boards: Sequence[Memory]) -> list[int]:
    """The boards of all workers, as one."""
    fired = lowered.board.fired
    one = list(boards[0].numbers)
    for other in boards[1:]:
        numbers = other.numbers
        one[fired] += numbers[fired]
        for place in lowered.flags:
            one[place] |= numbers[place]
        for place in lowered.firsts:
            one[place] = min((x for x in (one[place], numbers[place]) if x), default=0)
    return one
