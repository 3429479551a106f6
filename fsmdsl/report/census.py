"""The states of a system counted once more, by the definition: how often each transition fires, where instances are,
and, of a small system, every state and step. The explorer itself keeps only what it needs for its verdicts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from fsmdsl import model as m
from fsmdsl.describe import describe
from fsmdsl.step import FaultError, Followed, TooManyValuesError, Universe, World, enabled, fire, initial

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
    begin = initial(universe)
    number = {begin: 0}
    counted.worlds.append(begin)
    counted.depths.append(0)
    taken = 0
    for at, world in enumerate(counted.worlds):
        _inhabit(counted, universe, world)
        try:
            steps = enabled(universe, world)
        except (FaultError, TooManyValuesError):
            continue
        if taken + len(steps) > most:
            counted.complete = False
            break
        taken += len(steps)
        for step in steps:
            result = fire(universe, world, step)
            followed = [h for h in result.cascade if isinstance(h, Followed)]
            counted.fired.update({(universe.machines[h.instance].qualified, h.transition) for h in followed})
            if result.fault is not None:
                counted.failing.setdefault(at, []).append(describe(universe, step, world))
                continue
            if result.world not in number:
                number[result.world] = len(number)
                counted.worlds.append(result.world)
                counted.depths.append(counted.depths[at] + 1)
            if len(number) <= SMALL:
                said = describe(universe, step, world)
                counted.edges.setdefault((at, number[result.world]), []).append(said)
    return counted


def _inhabit(counted: Census, universe: Universe, world: World) -> None:
    there = {(machine.qualified, s) for machine, s in zip(universe.machines, world.states, strict=True)}
    for machine, leaf in there:
        counted.inhabited.update((machine, s) for s in universe.model.machines[machine].ancestors(leaf))
