"""The reachable states of a system by the definition of the language, breadth first: small spaces, every step in hand.

For readers that want worlds and steps (graphs, tours, certificates). Verdicts come from `explore`, which is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fsmdsl.dataclasses import dataclass
from fsmdsl.step import Fault, Result, Step, TooManyValuesError, Universe, World, enabled, fire, unoffered, within


@dataclass(frozen=True, slots=True)
class Arc:
    """A step that can come next. `target` is the number of the state behind it; None where the step fails, or where
    there were as many states as asked for."""

    step: Step
    result: Result
    target: int | None


@dataclass(frozen=True, slots=True)
class Visit:
    """A state by its number, with all that can come next; worlds in which the system may begin are the first.
    `unknown`: why that cannot be said."""

    number: int
    world: World
    arcs: tuple[Arc, ...]
    unknown: TooManyValuesError | None = None
    unoffered: tuple[Fault, ...] = ()
    """What has no value in the environment there."""


def visits(universe: Universe, most: int, accepted: Callable[[Step], bool] = lambda _: True) -> Iterator[Visit]:
    """Each state once, in the order of its number: nearest first. Takes the steps that are accepted, none
    beyond the bounds of the system, and numbers no more states than `most`. Time and memory are in proportion to
    states and steps."""
    worlds = list(universe.starts[:most])
    number = {world: n for n, world in enumerate(worlds)}
    for at, world in enumerate(worlds):
        try:
            inside = within(universe, world)
            steps = [x for x in enabled(universe, world) if accepted(x)] if inside else []
            faults = unoffered(universe, world) if inside else []
        except TooManyValuesError as error:
            yield Visit(at, world, (), error)
            continue
        arcs = []
        for step in steps:
            result = fire(universe, world, step)
            target = None if result.fault is not None else number.get(result.world)
            if result.fault is None and target is None and len(worlds) < most:
                target = number[result.world] = len(worlds)
                worlds.append(result.world)
            arcs.append(Arc(step, result, target))
        yield Visit(at, world, tuple(arcs), unoffered=tuple(faults))
