"""The parts of a packed search: an engine that expands states, what hands over to the next engine, and a store.

An engine is plain Python, machine code, or spread over several processes; `Engines` says which comes next. A store
keeps states on a disk while the search goes on. `compose` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.frontier import Frontier

Together = Literal["sum", "max"]


@dataclass(frozen=True, slots=True)
class Expansion:
    """What the program says about one state."""

    board: Sequence[int]
    """What it notes about this state alone; see `lower.CounterLayout`."""
    successors: Sequence[tuple[int, ...]]
    """The words of the states that its steps lead to, in the order of the steps."""


class Engine(Protocol):
    """States by number, in the order in which one process would find them."""

    frontier: Frontier

    @property
    def board(self) -> list[int]:
        """What was found first, and what was ever followed (`CounterMemory`). Where several take part, at the end."""
        ...

    def merged(self) -> list[int]:
        """The same, in the middle of a search."""
        ...

    def run(self, pause: Callable[[], bool], most: int | None) -> bool:
        """Expand states until there are none left (True), or `pause` says so, or there are more than `most`. `pause` is
        asked at the beginning of each level, and often in between."""
        ...

    def rewind(self, most: int) -> None:
        """Forget the states beyond so many, and that the one was expanded from which the first of them was found."""
        ...

    def agree(self, numbers: Sequence[int], how: Together) -> list[int]:
        """The sum or maximum, place by place, over all processes that take part."""
        ...

    def find(self, words: tuple[int, ...]) -> int | None:
        """The number of a state, if it was found."""
        ...

    def state(self, n: int, /) -> tuple[int, ...]:
        """The words of a state."""
        ...

    def origin(self, n: int, /) -> int:
        """The state from which one was found; 0 of those that a run begins in."""
        ...

    def fired(self) -> int:
        """Steps taken, by this process."""
        ...

    def used(self) -> int:
        """Bytes in use, by this process; about."""
        ...

    def noted(self, place: int) -> int:
        """What was noted at a place of a row, if anything was; by this process."""
        ...

    def note_rest(self) -> None:
        """Ask the questions of the states that are not expanded."""
        ...


class OneProcess:
    """What engines of a single process have in common."""

    def merged(self: Engine) -> list[int]:
        """See `Engine`."""
        return self.board

    def agree(self, numbers: Sequence[int], how: Together) -> list[int]:
        """See `Engine`."""
        return list(numbers)


class Engines:
    """Which engine a search uses, and when it changes over to the next. This one: plain Python to the end."""

    note: str | None = None
    """Why the search is slower than it could be."""

    @property
    def watched(self) -> bool:
        """Is the search looked at while it runs? Not where several processes do the same, each for itself."""
        return True

    def better(self, engine: Engine) -> bool:
        """Is there a better one to change over to, in the middle of the search?"""
        return False

    def next(self, engine: Engine) -> Engine:
        """The better one, with the same states; or the same. Also called at the beginning."""
        return engine

    def full(self, engine: Engine) -> bool:
        """Is there no room for more states?"""
        return False

    def last(self, engine: Engine) -> tuple[Engine, str | None]:
        """The engine that has the graph when the search is over; or why there is none."""
        return engine, None

    def stop(self) -> None:
        """Nothing is compiled any more."""


class Store:
    """Where a search is kept while it goes on. This one: nowhere."""

    note: str | None = None
    """What went otherwise than it was asked for."""

    def due(self) -> bool:
        """Is it time to save again?"""
        return False

    def save(self, engine: Engine, /) -> None:
        """Save what was found since the last time; by all processes together."""
