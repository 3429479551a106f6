"""What a check of whole explorations stands on: worlds by number and the steps between them, whoever explored."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Protocol, TypeGuard

from fsmdsl.explore.trace import Trace
from fsmdsl.step import CrashStep, RecoverStep, Step, TooManyValuesError, Universe, World, fire

Edge = tuple[Step, int | None]
"""A step, and the number of the world it leads to; None where it fails, or a limit kept that world out."""


class Explored(Protocol):
    """The worlds that were found, each once. Instances of symmetric sets are not exchanged for one another.

    If numbers ascend with the distance from the beginning, what is found first is nearest.
    """

    @property
    def firsts(self) -> Iterable[int]:
        """The numbers of the worlds that a run begins in."""
        ...

    @property
    def stopped(self) -> str | None:
        """Why not every world was found: `stopped at 10000 states`."""
        ...

    @property
    def beyond(self) -> int:
        """How many of them are beyond the bounds of the system."""
        ...

    def __len__(self) -> int: ...

    def world(self, number: int) -> World:
        """A world that was found."""
        ...

    def outgoing(self, number: int) -> Iterable[Edge]:
        """The steps that are followed from a world: those enabled there, none beyond the bounds of the system. May
        raise `TooManyValuesError`, as `enabled` does."""
        ...

    def trace(self, number: int) -> Trace:
        """A run to a world."""
        ...


# Going through -------------------------------------------------------------------------------------------------------


Crash = tuple[int, CrashStep]
"""The number of a world, and how the system crashes there."""

NOWHERE = -1


class Parts:
    """Which worlds are reached without a crash of everything, and where crashes and recoveries lead."""

    def __init__(self, explored: Explored) -> None:
        self.free = list(explored.firsts)
        """Those without a crash, nearest first."""
        self.is_free = bytearray(len(explored))
        for n in self.free:
            self.is_free[n] = True
        self.complete = True
        """Is `free` all of them? Not if a limit kept one out."""
        self.crashes: dict[int, Crash] = {}
        """The worlds right after a crash, each with a crash that leads to it."""
        self.failing: list[Crash] = []
        """Crashes that are faults."""
        self.crashed = array("q", [NOWHERE]) * len(explored)
        """Where a crash between steps leads, by world."""
        self.recovered = array("q", [NOWHERE]) * len(explored)
        """Where `recover` leads, by world."""


def parts(universe: Universe, explored: Explored) -> Parts:
    """Go along every edge once, first those of the worlds without a crash.

    A world that is reached with a crash first may be reached without one as well, on a longer way.
    """
    found = Parts(explored)
    for at in found.free:  # grows on the way
        for step, target in _outgoing(explored, at, found):
            if _of_everything(step):
                _crash(universe, explored, at, step, target, found)
            elif target is None:
                found.complete = found.complete and _fails(universe, explored, at, step)
            elif not found.is_free[target]:
                found.is_free[target] = True
                found.free.append(target)
    for at in range(len(explored)):
        if not found.is_free[at]:
            for step, target in _outgoing(explored, at, found):
                if _of_everything(step):
                    _crash(universe, explored, at, step, target, found)
                elif isinstance(step, RecoverStep) and target is not None:
                    found.recovered[at] = target
    return found


def _of_everything(step: Step) -> TypeGuard[CrashStep]:
    """Is a step one of the crashes that are asked about? That of some instances alone is a step like others."""
    return isinstance(step, CrashStep) and not step.of


def _crash(universe: Universe, explored: Explored, at: int, step: CrashStep, target: int | None, found: Parts) -> None:
    """Note a crash; of several that lead to the same world, the first."""
    if target is None:
        if _fails(universe, explored, at, step):
            found.failing.append((at, step))
        return
    if step.inside is None:
        found.crashed[at] = target
    if target not in found.crashes or at < found.crashes[target][0]:
        found.crashes[target] = (at, step)


def _fails(universe: Universe, explored: Explored, at: int, step: Step) -> bool:
    return fire(universe, explored.world(at), step).fault is not None


def _outgoing(explored: Explored, at: int, found: Parts) -> Iterator[Edge]:
    try:
        yield from explored.outgoing(at)
    except TooManyValuesError:
        found.complete = False
