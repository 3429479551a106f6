"""What every engine of a packed search can be asked, whether plain, compiled or spread over ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from fsmdsl.explore.packed.frontier import Frontier


class Engine(Protocol):
    """States by number, in the order in which one process would find them."""

    frontier: Frontier

    @property
    def board(self) -> list[int]:
        """What was found first, and what was ever followed; see `Board`."""
        ...

    def run(self, pause: Callable[[], bool], most: int | None) -> bool:
        """Expand states until there are none left (True), or `pause` says so, or there are more than `most`."""
        ...

    def rewind(self, most: int) -> None:
        """Forget the states beyond so many, and that the one was expanded from which the first of them was found."""
        ...

    def find(self, words: tuple[int, ...]) -> int | None:
        """The number of a state, if it was found."""
        ...

    def state(self, n: int, /) -> tuple[int, ...]:
        """The words of a state."""
        ...

    def origin(self, n: int, /) -> int:
        """The state from which one was found."""
        ...

    def fired(self) -> int:
        """Steps taken."""
        ...

    def noted(self, place: int) -> int:
        """What was noted at a place of a row, if anything was; of several processes, by this one."""
        ...

    def note_rest(self) -> None:
        """Ask the questions of the states that are not expanded."""
        ...
