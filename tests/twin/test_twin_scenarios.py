"""Every scenario, played on the generated classes: the same states, fields, actions and faults as in `step`."""

from __future__ import annotations

import pytest
from loading import SPECS, model_of
from mirror import Packages
from walks import Explored, Walk

from fsmdsl import model as m
from fsmdsl.search import play
from fsmdsl.step import CrashStep, Universe

MODEL = model_of(SPECS)
BREAKS_OFF = 1
"""The seed of a walk whose hand-written code does not answer at once, so that the scenario's own answers count."""


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Packages:
    return Packages(MODEL, tmp_path_factory.mktemp("scenarios"), "scenario_packages")


@pytest.mark.parametrize("scenario", MODEL.scenarios.values(), ids=lambda s: s.qualified)
def test_a_scenario_goes_the_same_way(scenario: m.Scenario, packages: Packages) -> None:
    played = play(MODEL, scenario)
    assert played.passed
    walk = Walk(Explored(Universe(MODEL, scenario.system)), packages, BREAKS_OFF)
    steps = [entry.step for entry in played.trace.entries]
    for step in steps:
        if not (isinstance(step, CrashStep) and step.inside is not None):
            walk.take(step)
    assert len(steps) >= sum(not isinstance(x, m.Expect | m.Via) for x in scenario.steps)
