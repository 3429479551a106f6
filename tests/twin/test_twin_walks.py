"""One meaning: random walks give the same states, outputs and faults in `step` and in the generated classes."""

from __future__ import annotations

from pathlib import Path

import pytest
from loading import SPECS, model_of
from mirror import Packages
from oracle import Oracle
from random_charts import machine_of
from tiers import enough, share, today
from walks import Explored, Walk, wander

from fsmdsl import model as m
from fsmdsl.classes.naming import is_nested
from fsmdsl.classes.traits import beyond_tables
from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.step import TooManyValuesError, Universe, enabled

HERE = Path(__file__).parent
RUNS, STEPS = 200, 50


MODELS = {
    "specs": model_of(SPECS),
    "documented": model_of(SPECS, as_documented=True),
    "features": model_of(HERE / "features.fsm", HERE / "odometer.fsm"),
}


TOO_MANY = {"confine.Slice alone", "confine.Description alone", "confine.Sliver alone"}
"""Numbers up to a million come with their events, more than can be listed; their systems say which come."""


def _systems(model: m.Model) -> dict[str, m.System]:
    """The declared ones, and each machine with what it has to do with."""
    alone = {f"{name} alone": closed(model, machine) for name, machine in model.machines.items()}
    return {**model.systems, **{name: x for name, x in alone.items() if name not in TOO_MANY}}


SYSTEMS = {
    (kind, name): system
    for kind, model in MODELS.items()
    for name, system in (model.systems if kind == "documented" else _systems(model)).items()
}


def test_what_is_left_out_has_too_many_arguments() -> None:
    model = MODELS["specs"]
    for name in TOO_MANY:
        universe = Universe(model, closed(model, model.machines[name.removesuffix(" alone")]))
        with pytest.raises(TooManyValuesError):
            list(enabled(universe, universe.start))


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Packages]:
    folder = tmp_path_factory.mktemp("twin")
    return {kind: Packages(model, folder, f"twin_{kind}") for kind, model in MODELS.items()}


TABLES = [
    (kind, name)
    for (kind, name), system in SYSTEMS.items()
    if kind != "documented"
    and all(beyond_tables(MODELS[kind], MODELS[kind].machines[i.machine]) is None for i in system.instances)
]
"""Systems that the `transitions` library can run."""


@pytest.fixture(scope="session")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Packages]:
    folder = tmp_path_factory.mktemp("tables")
    return {kind: Packages(model, folder, f"tables_{kind}", "transitions") for kind, model in MODELS.items()}


@pytest.mark.parametrize(("kind", "name"), today(TABLES))
def test_the_transitions_library_agrees(kind: str, name: str, tables: dict[str, Packages]) -> None:
    explored = Explored(Universe(MODELS[kind], SYSTEMS[(kind, name)]))
    oracle = Oracle(tables[kind], explored.universe)
    for seed in range(share(RUNS)):
        for world, step in wander(explored, seed, STEPS):
            oracle.take(explored, world, step)


def test_the_transitions_library_agrees_about_states_in_states(tmp_path: Path) -> None:
    """Random machines, without those that need rounds."""
    steps = nested = 0
    for seed in today(range(60)):
        model, machine = machine_of(seed)
        if beyond_tables(model, machine) is not None:
            continue
        explored = Explored(Universe(model, closed(model, machine)))
        oracle = Oracle(Packages(model, tmp_path, f"charts_{seed}", "transitions"), explored.universe)
        nested += is_nested(machine)
        for world, step in wander(explored, seed, 100):
            oracle.take(explored, world, step)
            steps += 1
    assert (nested >= enough(15), steps >= enough(1000)) == (True, True), (nested, steps)


@pytest.mark.parametrize(("kind", "name"), today([*SYSTEMS]))
def test_walks_agree(kind: str, name: str, packages: dict[str, Packages]) -> None:
    explored = Explored(Universe(MODELS[kind], SYSTEMS[(kind, name)]))
    for seed in range(share(RUNS if kind != "documented" else RUNS // 4)):
        Walk(explored, packages[kind], seed).run(STEPS)
