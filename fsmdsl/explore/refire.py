"""The steps between the worlds that a search has found, fired anew: a search keeps none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fsmdsl.explore.search_result import Finding, Searched
from fsmdsl.explore.trace import Trace
from fsmdsl.step import FaultError, Universe, World, enabled, fire, within

if TYPE_CHECKING:
    from fsmdsl.explore.recovery.explored import Edge


@dataclass(slots=True)
class Refired:
    """An `Explored`: worlds by number, and numbers by world."""

    search: Searched
    world_of: Callable[[int], World]
    number_of: Callable[[World], int | None]

    @property
    def firsts(self) -> range:
        """The numbers of the worlds that a run begins in."""
        return range(self.search.levels[0])

    @property
    def universe(self) -> Universe:
        """What the steps are fired in."""
        return self.search.universe

    @property
    def stopped(self) -> str | None:
        """Why not every world was found."""
        return self.search.stopped

    @property
    def beyond(self) -> int:
        """How many are beyond the bounds of the system."""
        return self.search.beyond

    def __len__(self) -> int:
        return self.search.states

    def world(self, number: int) -> World:
        """A world that was found."""
        return self.world_of(number)

    def outgoing(self, number: int) -> Iterator[Edge]:
        """The steps that are enabled in a world; none is followed beyond the bounds of the system."""
        world = self.world_of(number)
        try:
            steps = enabled(self.universe, world) if within(self.universe, world) else []
        except FaultError:
            return
        for step in steps:
            result = fire(self.universe, world, step)
            yield step, None if result.fault is not None else self._number(result.world)

    def _number(self, world: World) -> int | None:
        """A search that a limit on states has stopped still knows some beyond it."""
        number = self.number_of(world)
        return None if number is None or number >= len(self) else number

    def trace(self, number: int) -> Trace:
        """A shortest run to a world."""
        return self.search.trace(Finding(number))
