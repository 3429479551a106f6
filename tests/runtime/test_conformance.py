"""Model and allocator agree: every step that the model allows, and wherever random calls lead.

`python tests/runtime/conformance.py --states 100000` does the same with more gangs.
"""

from __future__ import annotations

from functools import cache
from random import Random

import pytest
from conformance import SMALL, Compared, Walk, gangs
from conformance_cases import Case, Picture, universe
from conformance_moves import Policy
from conformance_rig import Rig
from invariants import check

from fsmdsl.search import explore
from runtime import Bind, Phase

pytestmark = pytest.mark.full(reason="half a minute: all that the model allows")

NEVER = {
    ("AffinityGroup", "lazy", "Pending", "Pending"),  # at a restart alone, where no single steps are compared
    ("AffinityGroup", "again", "Pending", "Pending"),  # demotions are tried out in the books first, so that none has to
    ("AffinityGroup", "again", "Allocated", "Allocated"),  # be taken back; a restart takes back all of them
}
"""Transitions that no call of the allocator comes to."""


@cache
def walked(case: Case) -> tuple[Compared, frozenset[Picture]]:
    """All that model and allocator have in common."""
    walk = Walk(case, books=10)
    return walk.run(), frozenset(walk.pictures)


small = pytest.mark.parametrize("case", SMALL, ids=lambda x: x.name)


@small
def test_the_allocator_does_what_the_model_allows(case: Case) -> None:
    compared, pictures = walked(case)
    assert compared.states == len(pictures) == case.states


def test_the_model_keeps_what_it_promises() -> None:
    """With gangs that are demoted, and preemptions that are called off."""
    of = next(case for case in SMALL if case.name == "demoted").universe
    explored = explore(of.model, of.system)
    assert explored.complete
    assert [verdict.label for verdict in explored.violations] == []


def test_every_transition_of_the_model_is_followed_but_those_that_are_named() -> None:
    model = universe(SMALL[0].gangs, SMALL[0].cells)
    machines = {x.name: x for x in model.machines}.values()
    rows = {(x.name, t.label, t.source, t.target or t.source) for x in machines for t in x.transitions}
    whole = Compared()
    for case in SMALL:
        whole.add(walked(case)[0])
    assert set(whole.followed) == rows - NEVER


def test_every_policy_makes_a_difference() -> None:
    whole = Compared()
    for case in SMALL:
        whole.add(walked(case)[0])
    assert set(whole.refused) == set(Policy)


def test_a_virtual_cluster_alone_is_refused_nothing() -> None:
    for case in SMALL:
        if set(case.quotas.values()) == {case.cells} and not any(gang.lazy for gang in case.gangs):
            assert set(walked(case)[0].refused) == {Policy.NOBODY}, case.name


def test_what_a_demotion_frees_is_for_the_gang_first() -> None:
    """Both leaf cells that are offered have to be taken: one of a gang that is demoted for it, one of a weaker gang."""
    rig = Rig(Case("both", tuple(gangs(0, 1, 2, 3, sizes=(1, 2), lazy=(0, 1))), 4, {"A": 3}))
    waits, nobodys = ("Used", "g1", None, -1), ("Free", None, None, -2)
    rig.become(
        (
            (("Allocated", False), ("BeingPreempted", True), ("Preempting", False), ("Pending", False)),
            (("Reserving", "g1", "g2", 2), ("Used", "g0", None, 0), waits, nobodys),
        )
    )
    rig.schedule(3, (0, 1), ("g0", "g1"))
    check(rig.allocator)
    assert rig.picture() == (
        (("BeingPreempted", True), ("BeingPreempted", True), ("Pending", False), ("Preempting", False)),
        (("Reserving", "g1", "g3", 3), ("Reserving", "g0", "g3", 3), waits, nobodys),
    )


# The other way round --------------------------------------------------------------------------------------------------


@small
def test_wherever_random_calls_lead_the_model_has_been(case: Case) -> None:
    _, pictures = walked(case)
    seen: set[Picture] = set()
    for seed in range(30):
        seen |= wandered(case, Random(seed), 30)
    assert seen <= pictures
    assert len(seen) > len(pictures) / 10


def wandered(case: Case, random: Random, steps: int) -> set[Picture]:
    """The states that random calls lead to: any nodes are offered, in any phase; answers are followed, or not."""
    rig, seen = Rig(case), set()
    for _ in range(steps):
        gang = random.randrange(len(case.gangs))
        act = random.choices(("ask", "end", "restart", "flip"), (20, 2, 1, 2))[0]
        if act == "ask" and rig.pods(gang):
            offered = [cell for cell in range(case.cells) if random.random() < 0.7]
            answer = rig.ask(gang, offered, random.choice(tuple(Phase)))
            if isinstance(answer, Bind) and random.random() < 0.8:
                rig.bind(gang, answer)
        elif act == "end":
            rig.end(gang)
        elif act == "restart":
            rig.restart()
        elif act == "flip":
            node = random.choice(case.nodes)
            random.choice((rig.allocator.node_bad, rig.allocator.node_healthy))(node)
        check(rig.allocator)
        seen.add(rig.picture())
    return seen
