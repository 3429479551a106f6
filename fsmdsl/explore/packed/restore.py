"""A compiled search whose states come from elsewhere: from a disk, or from the ranks that have found them."""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl.explore.packed.compiled import Compiled
from fsmdsl.explore.packed.frontier import Frontier
from fsmdsl.explore.packed.lower import Lowered
from fsmdsl.explore.packed.native import Function
from fsmdsl.explore.packed.plain import Plain
from fsmdsl.explore.packed.shapes import LARGEST


class Refilled(Compiled):
    """`fill` writes the words and origins of as many states as the frontier says; the board is what they answered."""

    def __init__(
        self,
        lowered: Lowered,
        functions: dict[str, Function],
        workers: int,
        room: int,
        frontier: Frontier,
        board: list[int],
        fill: Callable[[Compiled], None],
    ) -> None:
        self._fill_states = fill
        nothing = Plain(lowered)
        nothing.frontier, nothing.board = frontier, answered(lowered, board)
        super().__init__(nothing, functions, workers, room)

    def _take_over(self, plain: Plain) -> None:
        super()._take_over(plain)
        self._fill_states(self)


def answered(lowered: Lowered, board: list[int]) -> list[int]:
    """A board in which all questions count as answered for which a first state is known: no other is first."""
    found, b = list(board), lowered.board
    for n in range(lowered.asked):
        if found[b.first + n]:
            found[b.answered + n // LARGEST] |= 1 << n % LARGEST
    return found
