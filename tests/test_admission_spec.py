"""The protocol of admission (`specs/kubernetes/admission.fsm`): without any of its rules, something goes wrong.

Its systems with all rules are explored in tests/test_kubernetes_controllers.py; tests/runtime/test_explain_admission.py
compares the allocator's events with them.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from fsmdsl import model as m
from fsmdsl.model.workspace import load
from fsmdsl.search import explore

SPEC = Path(__file__).absolute().parent.parent / "specs" / "kubernetes" / "admission.fsm"

WRONG = {
    "grace": {"Preemption": {"once": 12}, "TwoVictims": {"once": 11}},
    "followed": {"Preemption": {"asked": 6, "all_out": 9}},
    "recovered": {"LostJournal": {"Gang: known": 7, "Gang: whole": 10, "once": 10}},
    "journaled": {"Gates": {"Gang: known": 5, "Gang: whole": 7, "once": 7}},
    "one_patch": {"Gates": {"gate": 4, "once": 8}},
    "reserved": {"Preemption": {"asked": 3, "reserved": 3, "all_out": 7}},
    "still": {"Preemption": {"all_in": 9}},
    "rest": {"Preemption": {"all_in": 9, "all_out": 7}, "BothWays": {"all_in": 9, "all_out": 7}},
}
"""By rule: what goes wrong without it in which systems, and the number of steps until then."""


@cache
def model(*without: str) -> m.Model:
    loaded = load([SPEC], without=without)
    assert loaded.model is not None, [d.message for d in loaded.diagnostics]
    return loaded.model


def test_no_rule_is_left_out() -> None:
    """The names of the amendments, as the text has them."""
    names = {line.split()[1] for line in SPEC.read_text("utf-8").splitlines() if line.strip().startswith("amends ")}
    assert names == WRONG.keys()


@pytest.mark.parametrize(("rule", "system"), [(rule, system) for rule, systems in WRONG.items() for system in systems])
def test_without_a_rule_it_goes_wrong(rule: str, system: str) -> None:
    of = model(rule)
    violations = explore(of, of.systems[f"kubernetes.admission.{system}"]).violations
    assert {v.name: len(v.trace.entries) for v in violations if v.trace is not None} == WRONG[rule][system]


def test_a_request_must_not_outlive_a_lost_journal(tmp_path: Path) -> None:
    """The premise of the protocol: the request of a forgotten process would admit a pod by a forgotten decision."""
    text = SPEC.read_text("utf-8")
    premise = " and (journal in Lost => all m in members: m in Idle)"
    assert text.count(premise) == 1
    (tmp_path / "admission.fsm").write_text(text.replace(premise, ""), "utf-8")
    of = load([tmp_path]).model
    assert of is not None
    names = {v.name for v in explore(of, of.systems["kubernetes.admission.LostJournal"]).violations}
    assert {"Gang: known", "once"} <= names
