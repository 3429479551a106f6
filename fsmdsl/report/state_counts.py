"""Every state and step of a small system, by the definition, for a picture of them."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.space import Arc, Visit, visits
from fsmdsl.step import TooManyValuesError, Universe, World
from fsmdsl.step.describe import describe

STEPS = 2000
"""Maximum number of steps that can be drawn."""

SMALL = 200
"""Maximum number of states that can be drawn."""


@dataclass
class Census:
    """States by number, those of one depth together."""

    complete: bool = True
    """Are all states and steps here?"""
    worlds: list[World] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    edges: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    """The steps from state to state, as the author would write them."""
    failing: dict[int, list[str]] = field(default_factory=dict)
    """Steps that fail, by the state that they are taken in."""

    @property
    def drawable(self) -> bool:
        """Is there a picture of all states?"""
        return self.complete and bool(self.worlds)


def census(model: m.Model, system: m.System, *, states: int = SMALL, steps: int = STEPS) -> Census:
    """Visits the states breadth first, without symmetry reduction, up to a number of states and of steps."""
    universe = Universe(model, system)
    space = Census()
    if universe.fault is not None:
        return space
    try:
        space.worlds += universe.starts[: states + 1]
    except TooManyValuesError:
        return Census(complete=False)
    space.depths += [0] * len(space.worlds)
    for visit in visits(universe, states + 1):
        steps -= len(visit.arcs)
        if steps < 0 or visit.unknown is not None:
            return Census(complete=False)
        for arc in visit.arcs:
            _take(space, universe, visit, arc)
        if len(space.worlds) > states:
            return Census(complete=False)
    return space


def _take(space: Census, universe: Universe, visit: Visit, arc: Arc) -> None:
    text = describe(universe, arc.step, visit.world)
    if arc.target is None:
        space.failing.setdefault(visit.number, []).append(text)
        return
    if arc.target == len(space.worlds):
        space.worlds.append(arc.result.world)
        space.depths.append(space.depths[visit.number] + 1)
    space.edges.setdefault((visit.number, arc.target), []).append(text)
