"""The controllers of `specs/kubernetes`: their systems with the repairs, without them, and with a guard removed.

Their small holes are in tests/test_holes.py, the library that they import in tests/test_library.py.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.search import Exploration, explore, play

SPECS = Path(__file__).absolute().parent.parent / "specs" / "kubernetes"

STATES = {
    "admission.BothWays": 68_048,
    "admission.Gates": 12_306,
    "admission.LostJournal": 63_492,
    "admission.OtherWay": 72_456,
    "admission.Preemption": 77_016,
    "admission.TwoVictims": 158_176,
    "cluster_autoscaler.OneNode": 402,
    "job.TwoPods": 20_454,
    "jobset.Deleted": 160,
    "jobset.TwoJobs": 1_644,
    "rayjob.OneJob": 486,
}
"""How many states each system has, with its repairs."""

AS_CODED = {
    "admission.BothWays": ["once", "gate", "asked", "Gang: whole", "Gang: known", "all_in", "reserved", "all_out"],
    "admission.Gates": ["once", "gate", "Gang: whole", "Gang: known"],
    "admission.LostJournal": ["once", "gate", "Gang: whole", "Gang: known"],
    "admission.OtherWay": ["once", "gate", "asked", "Gang: whole", "Gang: known", "all_in", "reserved", "all_out"],
    "admission.Preemption": ["once", "gate", "asked", "Gang: known", "all_in", "reserved", "all_out"],
    "admission.TwoVictims": ["once", "gate", "Gang: known", "all_in", "reserved"],
    "cluster_autoscaler.OneNode": ["untainted"],
    "job.TwoPods": [],
    "jobset.Deleted": [],
    "jobset.TwoJobs": ["apart"],
    "rayjob.OneJob": ["released"],
}
"""What goes wrong without them."""


@cache
def model(*, as_documented: bool = False) -> m.Model:
    loaded = load([SPECS], as_documented=as_documented)
    assert loaded.model is not None, [d.message for d in loaded.diagnostics]
    return loaded.model


def explored(name: str, *, as_documented: bool = False) -> Exploration:
    of = model(as_documented=as_documented)
    return explore(of, of.systems[f"kubernetes.{name}"])


def test_no_system_is_left_out() -> None:
    assert {x.removeprefix("kubernetes.") for x in model().systems} == STATES.keys() == AS_CODED.keys()


@pytest.mark.parametrize("name", STATES)
def test_with_its_repairs_nothing_goes_wrong(name: str) -> None:
    found = explored(name)
    assert found.complete
    assert [v.name for v in found.violations] == []
    assert found.states == STATES[name]


@pytest.mark.parametrize("name", AS_CODED)
def test_as_coded_it_goes_wrong_where_the_findings_say(name: str) -> None:
    assert [v.name for v in explored(name, as_documented=True).violations] == AS_CODED[name]


def test_the_scenarios_pass() -> None:
    assert {x.name: x.failure for x in (play(model(), s) for s in model().scenarios.values()) if not x.passed} == {}


@pytest.mark.parametrize(
    ("file", "before", "after", "wrong"),
    [
        ("job", "{ if c.of in found { c.expect } }", "{ if c.of in found { c.of.touch } }", "once"),
        ("job", "if c.exists and c.finalizer { c.of.remove_finalizer }", "if c.exists { c.of.touch }", "released"),
        ("jobset", "seen_set.exists and not seen_set.deleting and", "seen_set.exists and", "deleted"),
        ("cluster_autoscaler", "all p in pods: not here(p)", "some p in pods: not here(p)", "nothing_lost"),
        ("cluster_autoscaler", "when scheduler.current", "when scheduler in Synced", "nothing_lost"),
    ],
)
def test_each_guard_is_needed(tmp_path: Path, file: str, before: str, after: str, wrong: str) -> None:
    text = (SPECS / f"{file}.fsm").read_text("utf-8")
    assert text.count(before) == 1
    (tmp_path / f"{file}.fsm").write_text(text.replace(before, after), "utf-8")
    broken = load([tmp_path / f"{file}.fsm"]).model
    assert broken is not None
    found = [
        v.name
        for x in broken.systems.values()
        if x.module == f"kubernetes.{file}"
        for v in explore(broken, x).violations
    ]
    assert wrong in found
