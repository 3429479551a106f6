"""Which worlds a search has found without a crash, and where crashes and recoveries lead."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TypeGuard

from fsmdsl.runs.search_result import Edge, Searched
from fsmdsl.step import CrashStep, RecoverStep, Step, TooManyValuesError, Universe, fire

Crash = tuple[int, CrashStep]
"""The number of a world, and how the system crashes there."""

NOWHERE = -1


class Parts:
    """Which worlds are reached without a crash of everything, and where crashes and recoveries lead."""

    def __init__(self, search: Searched) -> None:
        self.free = list(search.begins)
        """Those without a crash, nearest first."""
        self.is_free = bytearray(search.states)
        for n in self.free:
            self.is_free[n] = True
        self.complete = True
        """Is `free` all of them? Not if a limit kept one out."""
        self.crashes: dict[int, Crash] = {}
        """The worlds right after a crash, each with a crash that leads to it."""
        self.failing: list[Crash] = []
        """Crashes that are faults."""
        self.crashed = array("q", [NOWHERE]) * search.states
        """Where a crash between steps leads, by world."""
        self.recovered = array("q", [NOWHERE]) * search.states
        """Where `recover` leads, by world."""


def parts(universe: Universe, search: Searched) -> Parts:
    """Go along every edge once, first those of the worlds without a crash.

    A world that is reached with a crash first may be reached without one as well, on a longer way.
    """
    found = Parts(search)
    for at in found.free:  # grows on the way
        for step, target in _outgoing(search, at, found):
            if _of_everything(step):
                _crash(universe, search, at, step, target, found)
            elif target is None:
                found.complete = found.complete and _fails(universe, search, at, step)
            elif not found.is_free[target]:
                found.is_free[target] = True
                found.free.append(target)
    for at in range(search.states):
        if not found.is_free[at]:
            for step, target in _outgoing(search, at, found):
                if _of_everything(step):
                    _crash(universe, search, at, step, target, found)
                elif isinstance(step, RecoverStep) and target is not None:
                    found.recovered[at] = target
    return found


def _of_everything(step: Step) -> TypeGuard[CrashStep]:
    """Is a step one of the crashes that are asked about? That of some instances alone is a step like others."""
    return isinstance(step, CrashStep) and not step.of


def _crash(universe: Universe, search: Searched, at: int, step: CrashStep, target: int | None, found: Parts) -> None:
    """Note a crash; of several that lead to the same world, the first."""
    if target is None:
        if _fails(universe, search, at, step):
            found.failing.append((at, step))
        return
    if step.inside is None:
        found.crashed[at] = target
    if target not in found.crashes or at < found.crashes[target][0]:
        found.crashes[target] = (at, step)


def _fails(universe: Universe, search: Searched, at: int, step: Step) -> bool:
    return fire(universe, search.world(at), step).fault is not None


def _outgoing(search: Searched, at: int, found: Parts) -> Iterator[Edge]:
    try:
        yield from search.outgoing(at)
    except TooManyValuesError:
        found.complete = False
