"""Conditions of the environment without a value: each offer is judged by itself, and the fault is a violation.

What has no value (the condition, the receiver, an argument, what a variable runs through) is not offered; everything
else is. An event that is not offered for that reason counts as a step that fails.
"""

from __future__ import annotations

import pytest
from campaign import by_definition, compare, systems
from packed_search import own_objects
from random_environments import text_of
from stepping import Run, compiled, only_system
from test_second_opinion import asked
from tiers import enough, today

from fsmdsl import graphs
from fsmdsl.cli.certificates import certify
from fsmdsl.interop.certificate import CertifiedSystem
from fsmdsl.interop.second_opinion.opinion import MissingError
from fsmdsl.interop.second_opinion.spin import Spin
from fsmdsl.recheck import confirm
from fsmdsl.runs.simulation.choices import offered
from fsmdsl.search import Exploration, Limits, Means, explore
from fsmdsl.step import Universe, initial, unoffered
from fsmdsl.text.budget import Budget

pytestmark = pytest.mark.usefixtures(own_objects.__name__)

MACHINE = """
machine M {
    o: M?
    n: 0..2
    initial state A
    final state B
    event up, keep from environment
    event set(k: 0..9) from environment
    A on up    when n < 2  do n = n + 1
    A on set(k)  do n = min(k, 2)
    A on keep  do o = self
    A -> A on crash
}
"""


def system(*lines: str, more: str = "") -> str:
    return f"{MACHINE} system S {{ ms: M[2]  environment {{ {'  '.join(lines)} }} {more} }}"


def steps(text: str) -> tuple[list[str], list[str]]:
    """What is offered at first, and the kinds of the faults."""
    run = Run(text)
    return run.steps(), [x.kind for x in unoffered(run.universe, run.world)]


def verdicts(text: str) -> Exploration:
    model = compiled(text)
    return explore(model, only_system(model), means=Means(compiled=False))


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("some m in ms: m.up when m.o.n < 2", []),
        ("some m in ms: m.o.up", []),
        ("some m in ms, k in {0, 1}: m.set(k / m.n)", []),
        ("some m in {ms[0].o}: m.up", []),
        ("some k in 0..1: ms[k].up when 2 / k > 0", ["m1.up"]),
        ("some k in 0..2: ms[k].up", ["m0.up", "m1.up"]),
        ("some m in ms: crash of m.o", []),
        ("some k in 0..1: crash of ms[k] when 1 / k > 0", ["crash of m1"]),
        ("crash when ms[0].o.n == 0", []),
        ("crash between writes when ms[0].o.n == 0", []),
    ],
)
def test_each_offer_is_judged_by_itself(line: str, offers: list[str]) -> None:
    found, faults = steps(system(line, "ms[0].keep"))
    assert sorted(found) == sorted([*offers, "m0.keep"])
    assert faults
    assert set(faults) == {"none"}
    x = verdicts(system(line, "ms[0].keep"))
    assert [v.outcome for v in x.verdicts if v.kind == "fault"] == ["violated"]


def test_the_rest_of_the_graph_is_explored_and_properties_are_decided_on_it() -> None:
    x = verdicts(
        system(
            "some m in ms: m.up",
            "some m in ms: m.keep when m.o.n < 2",
            more="reachable far: ms[0].n == 2  invariant few: ms[0].n < 2  property p: eventually ms[0].n == 2",
        )
    )
    assert x.states == 9
    assert {v.name: v.outcome for v in x.verdicts if v.kind != "fault"} == {
        "few": "violated", "far": "holds", "no deadlock": "holds", "p": "holds",
    }  # fmt: skip


def test_an_event_without_a_value_counts_as_a_step_that_fails_and_a_crash_does_not() -> None:
    """So one with no other step is no deadlock; where only a crash has no value, it is one."""
    for line, outcome in (("ms[0].up when ms[0].o.n == 0", "holds"), ("crash when ms[0].o.n == 0", "violated")):
        x = verdicts(system(line))
        assert {v.outcome for v in x.verdicts if v.kind == "deadlock"} == {outcome}
        assert compare(compiled(system(line)), only_system(compiled(system(line)))) == ("the same", [])


def test_the_simulation_offers_the_rest_and_says_what_is_missing() -> None:
    model = compiled(system("some m in ms: m.up when m.o.n < 2", "ms[0].keep"))
    universe = Universe(model, only_system(model))
    found = offered(universe, initial(universe))
    assert [x.text for x in found.choices] == ["m0.keep"]
    assert found.problem == "a condition of the environment has no value here: `m.o` is none here (none)"


def test_a_graph_has_the_rest_and_the_fault() -> None:
    pytest.importorskip("networkx")
    model = compiled(system("some m in ms: m.up when m.o.n < 2", "some m in ms: m.keep"))
    graph = graphs.states(model, only_system(model))
    assert graph.nodes[0]["failing"] == {"the environment: `m.o` is none here": "none"}
    assert len(graph) == by_definition(model, only_system(model), Limits()).states > 4


def test_a_certificate_counts_them_as_failing() -> None:
    model = compiled(system("some m in ms: m.up when m.o.n < 2", "some m in ms: m.keep"))
    about = certify(model, only_system(model), True, Budget())
    assert isinstance(about, CertifiedSystem)
    shown = confirm(Universe(model, only_system(model)), about)
    assert shown.states == about.states > 4
    assert shown.failing > 0


@pytest.mark.parametrize("seed", today(range(30)))
def test_random_environments_are_explored_as_defined(seed: int) -> None:
    """`python tests/campaign.py environments --seeds 0:5000` is the same at length."""
    for model, x in systems(text_of(seed)):
        assert compare(model, x, 120, compiled=seed % 15 == 0) == ("the same", [])


def test_most_random_environments_lack_a_value_somewhere() -> None:
    lacking = 0
    for seed in today(range(40)):
        model = compiled(text_of(seed))
        search = by_definition(model, only_system(model), Limits(60))
        lacking += any(f.step is None for f in search.faults.values()) and search.states > 4
    assert lacking >= enough(15)


@pytest.mark.full(reason="SPIN")
@pytest.mark.parametrize("seed", [0, 3, 6, 10, 13])
def test_spin_agrees(seed: int) -> None:
    try:
        spin = Spin.installed(None)
    except MissingError as error:
        pytest.skip(str(error))
    model = compiled(text_of(seed))
    rows = asked(spin, model, only_system(model)).rows
    assert {r.agreement for r in rows} <= {"confirmed", "not confirmed"}
    assert rows[0].agreement == "confirmed"
