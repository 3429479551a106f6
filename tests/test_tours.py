"""Tours of twins follow all that can be followed, and a difference is shortened to a shortest run: both are compared
with what another search finds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from loading import SPECS, model_of
from random_systems import text_of
from stepping import compiled, only_system
from test_testing import LeaseTwin, NotNowError
from tiers import today

from fsmdsl import model as m
from fsmdsl.step import (
    CrashStep,
    EventStep,
    FaultError,
    Followed,
    Step,
    TooManyValuesError,
    Universe,
    World,
    enabled,
    fire,
)
from fsmdsl.step.values import domain
from fsmdsl.testing import Row, Tour, Twin
from fsmdsl.testing.tour import tour

# What a tour covers --------------------------------------------------------------------------------------------------

Pairs = set[tuple[Row, Row]]


def twin(**more: object) -> Twin:
    made = type("Mine", (Twin,), {"refusal": NotNowError, **more})()
    assert isinstance(made, Twin)
    return made


def taken(universe: Universe, world: World, step: Step) -> tuple[set[Row], World]:
    """The rows that a step follows, and where it leads."""
    result = fire(universe, world, step)
    if result.fault is not None:
        return set(), world
    happened = (h for h in result.cascade if isinstance(h, Followed))
    return {Row(universe.machines[h.instance].qualified, h.transition) for h in happened}, result.world


def followed(made: Tour) -> tuple[set[Row], Pairs]:
    """The rows of its walks, fired anew, and the pairs of those of one step and the next."""
    rows: set[Row] = set()
    pairs: Pairs = set()
    for walk in made.walks:
        world, before = made.universe.start, set[Row]()
        for step in walk:
            unhandled = fire(made.universe, world, step).world == world and step not in enabled(made.universe, world)
            now, world = taken(made.universe, world, step)
            rows |= now
            pairs |= set(product(before, now))
            before = before if unhandled else now
    return rows, pairs


def reachable(universe: Universe) -> tuple[set[Row], Pairs]:
    """The rows of all steps between reachable states, and of those that can come behind each."""
    arcs: dict[World, list[tuple[set[Row], World]]] = {}
    waiting = [universe.start]
    while waiting:
        world = waiting.pop()
        if world in arcs:
            continue
        steps = [x for x in enabled(universe, world) if not (isinstance(x, CrashStep) and x.inside)]
        arcs[world] = [taken(universe, world, x) for x in steps if fire(universe, world, x).fault is None]
        waiting += (after for _, after in arcs[world])
    rows = {row for listed in arcs.values() for now, _ in listed for row in now}
    behind = (product(now, later) for x in arcs.values() for now, after in x for later, _ in arcs[after])
    return rows, {pair for pairs in behind for pair in pairs}


def unhandled(universe: Universe) -> set[tuple[str, str, str]]:
    """Machine, state and event, where some reachable world does not handle, or ignores, the event's first form."""
    shown: set[tuple[str, str, str]] = set()
    seen, waiting = {universe.start}, [universe.start]
    while waiting:
        world = waiting.pop()
        for n, machine in enumerate(universe.machines):
            for e in machine.events if not world.down else ():
                values = [domain(p.type, universe) for p in e.parameters]
                if not e.from_environment or not all(values):
                    continue
                result = fire(universe, world, EventStep(n, e.name, tuple(x[0] for x in values)))
                refused = result.fault is not None and result.fault.kind == "unhandled" and not result.cascade
                if refused or (result.fault is None and result.world == world and not _followed(result.cascade)):
                    shown.add((machine.qualified, world.states[n], e.name))
        after = {taken(universe, world, x)[1] for x in enabled(universe, world) if not getattr(x, "inside", None)}
        waiting += after - seen
        seen |= after
    return shown


def _followed(cascade: Sequence[object]) -> bool:
    return any(isinstance(x, Followed) for x in cascade)


def complete(universe: Universe, pairs: bool) -> Tour:
    """A tour, compared with what there is."""
    made = tour(twin(tour="pairs" if pairs else "rows"), universe)
    assert made.coverage.complete
    rows, behind = followed(made)
    assert rows == made.coverage.rows
    assert (rows, behind if pairs else None) == (reachable(universe)[0], reachable(universe)[1] if pairs else None)
    assert made.coverage.unhandled == unhandled(universe)
    named = {Row(x.qualified, t.index) for x in universe.machines for t in x.transitions}
    assert made.coverage.never == named - rows
    return made


MODEL = model_of(SPECS)
assert MODEL is not None
SMALL = ["hived.PreemptionSmall", "yunikorn.core.OneApplication", "yunikorn.shim.OneTask"]


@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("name", SMALL)
def test_a_tour_follows_all_that_can_be_followed(name: str, pairs: bool) -> None:
    assert MODEL is not None
    complete(Universe(MODEL, MODEL.systems[name]), pairs)


@pytest.mark.parametrize("seed", today(range(10)))
def test_tours_through_random_systems(seed: int) -> None:
    model: m.Model = compiled(text_of(seed))
    universe = Universe(model, only_system(model))
    try:
        few = universe.fault is None and len(_some(universe)) < 400
    except (FaultError, TooManyValuesError):  # what can happen somewhere is not known
        return
    if few:
        complete(universe, pairs=True)


def _some(universe: Universe) -> list[World]:
    """Up to 400 worlds."""
    worlds = [universe.start]
    for world in worlds:
        for x in enabled(universe, world):
            after = fire(universe, world, x).world
            if after not in worlds and len(worlds) < 400:
                worlds.append(after)
    return worlds


def test_a_tour_says_what_it_covers() -> None:
    text = str(type("Mine", (LeaseTwin,), {"without": frozenset({"crash"})}).walks())
    assert text.splitlines() == [
        "lease.Shared: 1 walk, 9 steps, 5 of 6 rows, 6 events that are not handled",
        "  not followed, in no reachable state: lease.Node: crash",
    ]


def test_a_tour_of_some_states_says_so() -> None:
    made = type("Mine", (LeaseTwin,), {"tour_states": 3}).walks()
    assert not made.coverage.complete
    assert "not followed, not in the states that were looked at: lease.Node: gone" in str(made)
