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
    return [b.fired, *answered, *_seen(lowered), *_firsts(lowered)]


def merged(lowered: Lowered, boards: Sequence[Memory]) -> list[int]:
    """The boards of all workers, as one."""
    fired = lowered.board.fired
    one = list(boards[0].numbers)
    for other in boards[1:]:
        numbers = other.numbers
        one[fired] += numbers[fired]
        for place in _seen(lowered):
            one[place] |= numbers[place]
        for place in _firsts(lowered):
            one[place] = min((x for x in (one[place], numbers[place]) if x), default=0)
    return one


def _seen(lowered: Lowered) -> list[int]:
    """What was followed, and which guards were false or true."""
    b = lowered.board
    return [*b.followed.values(), *b.guards.values(), *(x + 1 for x in b.guards.values())]


def _firsts(lowered: Lowered) -> list[int]:
    """The numbers of the first states of a kind."""
    b = lowered.board
    return [b.dead, *range(b.first, b.first + lowered.asked), *range(b.faults, b.faults + b.codes)]
