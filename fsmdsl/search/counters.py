"""The boards of workers: what each has noted, and all of them as one. See `lower.Board`."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl.search.lower import Lowered
from fsmdsl.search.memory import Memory
from fsmdsl.search.plain import row
from fsmdsl.search.shapes import LARGEST


class CounterMemory:
    """A board, or a row, as a search begins. `numbers` are those that are never wider than a word."""

    def __init__(self, lowered: Lowered) -> None:
        words = lowered.width // 64
        self._memory = Memory((lowered.layout.end + 1) * words)
        self.address = self._memory.address
        self.numbers = self._memory.numbers[::words]
        for place, number in enumerate(row(lowered)):
            for n in range(words if number else 0):
                self._memory.numbers[words * place + n] = _signed(number >> 64 * n)


def _signed(number: int) -> int:
    """The lowest 64 bits, as a number with a sign."""
    return (number + (1 << 63) & (1 << 64) - 1) - (1 << 63)


def counted(lowered: Lowered) -> Sequence[int]:
    """The places of a board that a search adds to."""
    b = lowered.board
    answered = range(b.answered, b.first)
    return [*lowered.counts, *answered, *lowered.flags, *lowered.firsts]


def merged(lowered: Lowered, boards: Sequence[CounterMemory]) -> list[int]:
    """The boards of all workers, as one."""
    one = list(boards[0].numbers)
    for other in boards[1:]:
        numbers = other.numbers
        for place in lowered.counts:
            one[place] += numbers[place]
        for place in lowered.flags:
            one[place] |= numbers[place]
        for place in lowered.firsts:
            one[place] = min((x for x in (one[place], numbers[place]) if x), default=0)
    return one


def answered(lowered: Lowered, board: Sequence[int]) -> list[int]:
    """A board in which all questions count as answered for which a first state is known: no other is first."""
    counters, b = list(board), lowered.board
    for n in range(lowered.questions):
        if counters[b.first + n]:
            counters[b.answered + n // LARGEST] |= 1 << n % LARGEST
    return counters
