"""One meaning: random walks give the same states, outputs and faults in `step` and in the generated classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsmdsl import model as m
from fsmdsl.step import Universe, closed
from fsmdsl.workspace import load
from mirror import Packages
from walks import Explored, Walk

SPECS = Path(__file__).parents[2] / "specs"
RUNS, STEPS = 200, 50


def _model() -> m.Model:
    loaded = load([SPECS])
    assert loaded.model is not None, [str(d.message) for d in loaded.diagnostics]
    return loaded.model


MODEL = _model()
SYSTEMS = {
    **MODEL.systems,
    **{f"{name} alone": closed(MODEL, machine) for name, machine in MODEL.machines.items()},
}


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return Packages(MODEL, tmp_path_factory.mktemp("twin"), "twin_of_specs")


@pytest.mark.parametrize("name", SYSTEMS)
def test_walks_agree(name: str, packages: Packages) -> None:
    explored = Explored(Universe(MODEL, SYSTEMS[name]))
    for seed in range(RUNS):
        Walk(explored, packages, seed).run(STEPS)
