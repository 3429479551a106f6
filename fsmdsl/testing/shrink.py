"""From a run that shows a difference, a shorter one that shows one too: the shortest, where there are few that short.

1. The shortest way to the state in which the last step was taken, and that step.
2. As long as it gets shorter: parts of it are left out (delta debugging, Zeller and Hildebrandt 2002).
3. The nearest way to each state, with each step from there, nearest first.
4. All runs that are shorter, shortest first.

What an implementation remembers beside the state that the model has makes 2 and 4 necessary. Each trial begins anew.
Together they take at most `Implementation.shrink_steps` steps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl.runs.space import Visit, visits
from fsmdsl.step import EventStep, Result, Step, TooManyValuesError, Universe, World, enabled, fire
from fsmdsl.testing.comparison import DifferenceError, SideBySide, ignored, refusable
from fsmdsl.testing.drive import drivable
from fsmdsl.testing.implementation import Implementation
from fsmdsl.testing.landscape import unhandled

Run = tuple[Step, ...]


class _SpentError(Exception):
    """No more steps may be taken."""


def shrink(twin: type[Implementation], difference: DifferenceError) -> DifferenceError:
    """A difference that takes no more steps than the one that was found."""
    search = _Shrinking(twin, difference)
    try:
        search.direct()
        search.leave_out()
        search.nearest()
        search.all_shorter()
    except _SpentError:
        pass
    return search.best


class _Shrinking:
    """The search, with the shortest difference until now."""

    def __init__(self, twin: type[Implementation], difference: DifferenceError) -> None:
        self.twin, self.best = twin, difference
        self.driver = twin()
        self.universe: Universe = difference.universe
        self.left = twin.shrink_steps
        self._enabled: dict[World, list[Step]] = {}
        self._results: dict[tuple[World, Step], Result] = {}
        self.outside = frozenset(self._outside(difference.steps))

    def direct(self) -> None:
        """The failing step at the end of a shortest way to its state."""
        *before, last = self.best.steps or (None,)
        world = self.universe.start
        for step in before:
            assert step is not None, "one of a run"
            world = self._fire(world, step).world
        if last is not None and (way := self._way(world)) is not None and len(way) < len(before):
            self._try((*way, last))

    def leave_out(self) -> None:
        """Parts, halves first, then smaller ones down to single steps."""
        size = max(len(self.best.steps) // 2, 1)
        while size and self.best.steps:
            steps = self.best.steps
            cuts = range(0, len(steps), size)
            if not any(self._try((*steps[:at], *steps[at + size :])) for at in cuts):
                size //= 2
            size = min(size, len(self.best.steps))

    def nearest(self) -> None:
        """From each state, reached in a shortest way, each step."""
        ways: dict[int, Run] = {0: ()}
        for visit in self._visits():
            way = ways.pop(visit.number)
            if len(way) + 1 >= len(self.best.steps):
                return
            for arc in visit.arcs:
                if arc.target is not None and arc.target > visit.number and arc.target not in ways:
                    ways[arc.target] = (*way, arc.step)
            for step in self._choices(visit.world):
                if self._try((*way, step)):
                    return

    def all_shorter(self) -> None:
        """Every run that is shorter: what it finds first is a shortest one."""
        for length in range(1, len(self.best.steps)):
            for run in self._runs(self.universe.start, length):
                if self._try(run):
                    return

    def _runs(self, world: World, length: int) -> Iterator[Run]:
        if length == 0:
            yield ()
            return
        for step in self._choices(world):
            yield from ((step, *rest) for rest in self._runs(self._fire(world, step).world, length - 1))

    def _choices(self, world: World) -> Iterator[Step]:
        """Steps that come into question: those that can come next, and events that have to be refused."""
        yield from (x for x in self._next(world) if self._fire(world, x).fault is None)
        yield from (x.step for x in unhandled(self.driver, self.universe, 0, world, set()))

    def _visits(self) -> Iterator[Visit]:
        return visits(self.universe, self.twin.tour_states, lambda step: drivable(self.driver, step))

    def _way(self, goal: World) -> Run | None:
        ways: dict[int, Run] = {0: ()}
        for visit in self._visits():
            way = ways.pop(visit.number)
            if visit.world == goal:
                return way
            if len(way) >= len(self.best.steps):
                return None
            for arc in visit.arcs:
                if arc.target is not None and arc.target > visit.number and arc.target not in ways:
                    ways[arc.target] = (*way, arc.step)
        return None

    def _outside(self, steps: Sequence[Step]) -> Iterator[Step]:
        """Events of the run that the system's environment would not have sent, and that are handled all the same."""
        world = self.universe.start
        for step in steps:
            result = self._fire(world, step)
            if result.fault is None and isinstance(step, EventStep) and step not in self._next(world):
                yield step
            world = result.world

    def _allowed(self, world: World, step: Step) -> bool:
        result = self._fire(world, step)
        if result.fault is not None:
            return refusable(self.driver, step, result)
        return step in self.outside or step in self._next(world) or self._is_ignored(world, step)

    def _is_ignored(self, world: World, step: Step) -> bool:
        return self.driver.refusal is not None and ignored(step, self._fire(world, step))

    def _next(self, world: World) -> list[Step]:
        """The steps that can come next, and that the implementation takes."""
        if world not in self._enabled:
            try:
                steps = enabled(self.universe, world)
            except TooManyValuesError:
                steps = []
            self._enabled[world] = [x for x in steps if drivable(self.driver, x)]
        return self._enabled[world]

    def _fire(self, world: World, step: Step) -> Result:
        if (world, step) not in self._results:
            self._results[world, step] = fire(self.universe, world, step)
        return self._results[world, step]

    def _try(self, run: Run) -> bool:
        """Does a run of the model show a difference? Then it is the best until now."""
        world = self.universe.start
        for step in run:
            if not self._allowed(world, step):
                return False
            world = self._fire(world, step).world
        try:
            self._follow(run)
        except DifferenceError as difference:
            if len(difference.steps) < len(self.best.steps):
                self.best = difference
                return True
        return False

    def _follow(self, run: Run) -> None:
        both = SideBySide(self.twin(), self.universe)
        try:
            for step in run:
                if not self.left:
                    raise _SpentError
                self.left -= 1
                both.take(step, self._fire(both.world, step))
        finally:
            both.close()
