"""Which worlds a search has found without a crash, and which of them a crash leads to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeGuard

from fsmdsl.runs.liveness.plan import Crashes
from fsmdsl.runs.search_result import Edge, Searched
from fsmdsl.step import CrashStep, Step, TooManyValuesError, Universe, fire

Crash = tuple[int, CrashStep]
"""The number of a world, and how the system crashes there."""


class Parts:
    """Which worlds are reached without a crash of everything, and where crashes lead."""

    def __init__(self, search: Searched) -> None:
        self.free = list(search.begins)
        """Those without a crash, nearest first."""
        self.is_free = bytearray(search.states)
        for n in self.free:
            self.is_free[n] = True
        self.complete = True
        """Is `free` all of them? Not if a limit kept one out."""
        self.crashes: dict[int, int] = {}
        """The worlds right after a crash, each with the first world in which a crash leads to it."""
        self.failing: list[Crash] = []
        """Crashes that are faults."""

    def crash(self, at: int, target: int) -> None:
        """Note that a crash in one world leads to another."""
        self.crashes[target] = min(at, self.crashes.get(target, at))

    def step(self, target: int) -> None:
        """Note that a world is reached without a crash."""
        if not self.is_free[target]:
            self.is_free[target] = True
            self.free.append(target)


def parts(universe: Universe, search: Searched) -> Parts:
    """Go along every edge once, first those of the worlds without a crash.

    A world that is reached with a crash first may be reached without one as well, on a longer way.
    """
    bit = _crash_bit(search)
    return _by_definition(universe, search) if bit is None else _by_graph(search, bit)


def crash_to(search: Searched, at: int, target: int) -> CrashStep:
    """The first crash that leads from one world to another."""
    return next(step for step, n in search.outgoing(at) if _of_everything(step) and n == target)


def _of_everything(step: Step) -> TypeGuard[CrashStep]:
    """Is a step one of the crashes that are asked about? That of some instances alone is a step like others."""
    return isinstance(step, CrashStep) and not step.of


# By the graph --------------------------------------------------------------------------------------------------------


def _crash_bit(search: Searched) -> int | None:
    """The bit of an edge's mark that says it is a crash; None where the graph does not say all that is asked here:
    which crashes are faults, what a limit kept out, and which crashes are those of some instances."""
    if search.plan is None or search.stopped is not None or search.faults or search.universe.system.process_crashes:
        return None
    return next((1 << n for n, o in enumerate(search.plan.obligations) if isinstance(o, Crashes)), None)


def _by_graph(search: Searched, bit: int) -> Parts:
    parts, graph = Parts(search), search.graph()

    def follow(at: int) -> None:
        for e in range(graph.offsets[at], graph.offsets[at + 1]):
            if graph.marks[e] & bit:
                parts.crash(at, graph.targets[e])
            elif parts.is_free[at]:
                parts.step(graph.targets[e])

    for at in parts.free:  # grows on the way
        follow(at)
    for at in range(search.states):
        if not parts.is_free[at]:
            follow(at)
    return parts


# By the definition ---------------------------------------------------------------------------------------------------


def _by_definition(universe: Universe, search: Searched) -> Parts:
    parts = Parts(search)
    for at in parts.free:  # grows on the way
        for step, target in _outgoing(search, at, parts):
            if _of_everything(step):
                _crash(universe, search, at, step, target, parts)
            elif target is None:
                parts.complete = parts.complete and _fails(universe, search, at, step)
            else:
                parts.step(target)
    for at in range(search.states):
        if not parts.is_free[at]:
            for step, target in _outgoing(search, at, parts):
                if _of_everything(step):
                    _crash(universe, search, at, step, target, parts)
    return parts


def _crash(universe: Universe, search: Searched, at: int, step: CrashStep, target: int | None, parts: Parts) -> None:
    if target is not None:
        parts.crash(at, target)
    elif _fails(universe, search, at, step):
        parts.failing.append((at, step))


def _fails(universe: Universe, search: Searched, at: int, step: Step) -> bool:
    return fire(universe, search.world(at), step).fault is not None


def _outgoing(search: Searched, at: int, parts: Parts) -> Iterator[Edge]:
    try:
        yield from search.outgoing(at)
    except TooManyValuesError:
        parts.complete = False
