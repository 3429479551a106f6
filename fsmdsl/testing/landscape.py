"""The states that a tour goes through, and what there is to see in each: rows, pairs of rows, events not handled.

Each sight is a bit of a number, so that the sights of a state, and those that are left, are numbers too.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.runs.space import visits
from fsmdsl.step import EventStep, Followed, Result, Step, TooManyValuesError, Universe, World, fire
from fsmdsl.step.values import domain
from fsmdsl.testing.comparison import ignored, refusable
from fsmdsl.testing.drive import drivable
from fsmdsl.testing.implementation import Implementation


@dataclass(frozen=True, slots=True, order=True)
class Row:
    """A transition: its machine (qualified) and its index in the text."""

    machine: str
    index: int


class Pair(NamedTuple):
    """Two rows that are followed in two steps, one right behind the other."""

    first: Row
    second: Row


class Unhandled(NamedTuple):
    """An event from the environment that a machine does not handle, or ignores, in a state."""

    machine: str
    state: str
    event: str


Sight = Row | Pair | Unhandled


@dataclass(frozen=True, slots=True)
class Path:
    """A step to another state, or to the same one, and what it shows."""

    step: Step
    target: int
    rows: tuple[Row, ...]
    unhandled: Unhandled | None = None


@dataclass(slots=True)
class Landscape:
    """States by number, with the paths from each."""

    universe: Universe
    worlds: list[World] = field(default_factory=list)
    paths: list[list[Path]] = field(default_factory=list)
    complete: bool = True
    """Are these all states?"""

    def rows(self) -> set[Row]:
        """Those that some path follows."""
        return {row for paths in self.paths for path in paths for row in path.rows}


def landscape(twin: Implementation, universe: Universe) -> Landscape:
    """The nearest states (`Implementation.tour_states`). Where refusals count, an event that is not handled is a path
    from the nearest state of that kind."""
    land, events = Landscape(universe), set[Unhandled]()
    for visit in visits(universe, twin.tour_states, lambda step: drivable(twin, step)):
        paths = []
        for arc in visit.arcs:
            if arc.target is not None:
                paths.append(Path(arc.step, arc.target, _rows(universe, arc.result)))
            elif arc.result.fault is None:
                land.complete = False
        for path in unhandled(twin, universe, visit.number, visit.world, events):
            assert path.unhandled is not None, "that is what it shows"
            events.add(path.unhandled)
            paths.append(path)
        land.worlds.append(visit.world)
        land.paths.append(paths)
    return land


def _rows(universe: Universe, result: Result) -> tuple[Row, ...]:
    followed = (h for h in result.cascade if isinstance(h, Followed))
    return tuple(dict.fromkeys(Row(universe.machines[h.instance].qualified, h.transition) for h in followed))


def unhandled(
    twin: Implementation, universe: Universe, number: int, world: World, seen: set[Unhandled]
) -> Iterator[Path]:
    """The events from the environment that change nothing in a state, but for those that were seen: each with the
    first arguments there are. None where the implementation need not refuse any."""
    if twin.refusal is None or world.down:
        return
    for n, machine in enumerate(universe.machines):
        for event in (e for e in machine.events if e.from_environment):
            sight = Unhandled(machine.qualified, world.states[n], event.name)
            if sight in seen:
                continue
            try:
                values = [domain(p.type, universe) for p in event.parameters]
            except TooManyValuesError:
                continue
            if not all(values):
                continue
            step = EventStep(n, event.name, tuple(x[0] for x in values))
            result = fire(universe, world, step)
            if refusable(twin, step, result) or (ignored(step, result) and result.world == world):
                yield Path(step, number, (), sight)


def sights(path: Path, before: Path | None, pairs: bool) -> Iterator[Sight]:
    """What a path shows, behind another one."""
    if path.unhandled is not None:
        yield path.unhandled
    yield from path.rows
    if pairs and before is not None:
        yield from (Pair(a, b) for a, b in product(before.rows, path.rows))
