"""The states of a system counted once more, by the definition: how often each transition fires, where instances are,
and, of a small system, every state and step. The explorer itself keeps only what it needs for its verdicts."""

from __future__ import annotations

from collections import Counter

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.space import Arc, Visit, visits
from fsmdsl.step import Followed, TooManyValuesError, Universe, World
from fsmdsl.step.describe import describe

STEPS = 2000
"""Steps that are looked at in one system; the rest of a larger one is not counted."""

SMALL = 200
"""So many states can be drawn."""


@dataclass
class Census:
    """`fired` counts by machine (qualified) and index of the transition in how many steps it is followed, `inhabited`
    by machine and state in how many states of the system some instance is in it."""

    fired: Counter[tuple[str, int]] = field(default_factory=Counter)
    inhabited: Counter[tuple[str, str]] = field(default_factory=Counter)
    complete: bool = True
    """Were all states looked at?"""
    worlds: list[World] = field(default_factory=list)
    depths: list[int] = field(default_factory=list)
    edges: dict[tuple[int, int], list[str]] = field(default_factory=dict)
    """The steps from state to state, as the author would write them. Kept while there are at most `SMALL` states."""
    failing: dict[int, list[str]] = field(default_factory=dict)
    """Steps that fail, by the state that they are taken in."""

    @property
    def drawable(self) -> bool:
        """Is everything there that a picture of all states needs?"""
        return self.complete and 0 < len(self.worlds) <= SMALL


def census(model: m.Model, system: m.System, most: int = STEPS) -> Census:
    """Visits the states breadth first, without regard to symmetry, until so many steps were looked at."""
    universe = Universe(model, system)
    counted = Census()
    if universe.fault is not None:
        return counted
    try:
        counted.worlds += universe.starts[: most + 1]
    except TooManyValuesError:
        counted.complete = False
        return counted
    counted.depths += [0] * len(counted.worlds)
    taken = 0
    for visit in visits(universe, most + 1):
        _inhabit(counted, universe, visit.world)
        taken += len(visit.arcs)
        if taken > most:
            counted.complete = False
            break
        for arc in visit.arcs:
            _take(counted, universe, visit, arc)
    return counted


def _take(counted: Census, universe: Universe, visit: Visit, arc: Arc) -> None:
    followed = [h for h in arc.result.cascade if isinstance(h, Followed)]
    counted.fired.update({(universe.machines[h.instance].qualified, h.transition) for h in followed})
    if arc.target is None:
        counted.failing.setdefault(visit.number, []).append(describe(universe, arc.step, visit.world))
        return
    if arc.target == len(counted.worlds):
        counted.worlds.append(arc.result.world)
        counted.depths.append(counted.depths[visit.number] + 1)
    if len(counted.worlds) <= SMALL:
        said = describe(universe, arc.step, visit.world)
        counted.edges.setdefault((visit.number, arc.target), []).append(said)


def _inhabit(counted: Census, universe: Universe, world: World) -> None:
    there = {(machine.qualified, s) for machine, s in zip(universe.machines, world.states, strict=True)}
    for machine, leaf in there:
        counted.inhabited.update((machine, s) for s in universe.model.machines[machine].ancestors(leaf))
