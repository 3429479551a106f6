"""Defects of the reference (numbers as in its fact sheet, section 18): the same situations, and what is right."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clusters import config, end, gang, healthy, nodes, preempt, rack, run
from invariants import check, picture

from generated.hived import AffinityGroupState, CellState
from runtime import Allocator, Bind, Phase, Preempt, UserError, Wait
from runtime.durable import DurableAllocator

ONE = config(nodes("a"), A={"NODE": 1})
TWO = config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1})


def state(allocator: Allocator, name: str) -> AffinityGroupState | None:
    status = allocator.group(name)
    return status.state if status is not None else None


def test_18_1_a_reserver_is_thrown_out_by_whoever_takes_its_leaf_cells() -> None:
    allocator = healthy(ONE)
    weak, strong, stronger = (gang(n, "A", 4, priority=p) for n, p in (("w", 1), ("s", 2), ("t", 3)))
    run(allocator, weak)
    preempt(allocator, strong)
    end(allocator, weak)
    assert {c.state for c in allocator.leaf_cells()} == {CellState.RESERVED}
    run(allocator, stronger)
    check(allocator)
    assert {(c.state, c.owner, c.reserver) for c in allocator.leaf_cells()} == {(CellState.USED, "t", None)}
    assert state(allocator, "s") is AffinityGroupState.PENDING
    end(allocator, strong)
    assert {c.owner for c in allocator.leaf_cells()} == {"t"}


def test_18_2_another_pod_of_a_gang_that_is_being_preempted_waits() -> None:
    allocator = healthy(ONE)
    weak, strong = gang("weak", "A", 2, 2, priority=1), gang("strong", "A", 4, priority=2)
    run(allocator, weak[:1])
    preempt(allocator, strong)
    assert allocator.schedule(weak[1]) == Wait("gang weak is being preempted")
    assert isinstance(allocator.schedule(weak[0]), Bind), "one that is placed gets the same answer again"
    end(allocator, strong)
    assert isinstance(allocator.schedule(weak[1]), Bind), "the gang is what it was"
    check(allocator)


def test_18_3_a_gang_is_demoted_only_for_somebody_who_takes_its_cells() -> None:
    """The mapping is possible, but only by displacing an opportunistic gang."""
    allocator = healthy(TWO)
    run(allocator, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    run(allocator, gang("o", "B", 4, priority=-1))
    strong = gang("strong", "A", 4, priority=2)
    before = picture(allocator)
    assert isinstance(allocator.schedule(strong[0]), Preempt)
    assert picture(allocator) == before
    status = allocator.group("lazy")
    assert status is not None
    assert status.demotion is None
    assert isinstance(allocator.schedule(strong[0], phase=Phase.PREEMPTING), Preempt)
    status = allocator.group("lazy")
    assert status is not None
    assert status.demotion is not None
    assert status.demotion.preemptor == "strong"
    check(allocator)


def test_18_3_nor_does_a_bind_in_the_preempting_phase_demote() -> None:
    allocator = healthy(TWO)
    run(allocator, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    before = picture(allocator)
    assert isinstance(allocator.schedule(gang("strong", "A", 4, priority=2)[0], phase=Phase.PREEMPTING), Bind)
    assert picture(allocator) == before


@pytest.mark.parametrize("ignore", [True, False])
def test_18_4_a_preemptor_that_ignores_suggestions_is_not_called_off_by_them(ignore: bool) -> None:
    allocator = healthy(ONE)
    run(allocator, gang("weak", "A", 4, priority=1))
    strong = gang("strong", "A", 4, priority=2, ignore_suggested=ignore)[0]
    assert isinstance(allocator.schedule(strong, ["a"], Phase.PREEMPTING), Preempt)
    assert isinstance(allocator.schedule(strong, [], Phase.PREEMPTING), Preempt if ignore else Wait)
    assert state(allocator, "strong") is (AffinityGroupState.PREEMPTING if ignore else AffinityGroupState.PENDING)
    check(allocator)


def test_18_5_the_healthy_half_of_a_doomed_cell_is_used_while_nodes_come_and_go() -> None:
    cluster = config([rack("a", "b"), rack("c", "d")], A={"RACK": 1}, B={"RACK": 1})
    allocator = healthy(cluster)
    allocator.node_bad("a")
    allocator.node_bad("c")
    pods = gang("g", "A", 4)
    assert run(allocator, pods)[0].node in ("b", "d")
    check(allocator)
    for node in "ac":
        allocator.node_healthy(node)
        check(allocator)
    end(allocator, pods)
    check(allocator)
    assert picture(allocator) == picture(
        healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK": 1}, B={"RACK": 1}))
    )


def test_18_5_pods_that_are_listed_before_nodes_keep_their_virtual_cluster() -> None:
    cluster = config([rack("a", "b"), rack("c", "d")], A={"RACK": 1}, B={"RACK": 1})
    allocator = healthy(cluster)
    pods = {name: gang(name, name, 4) for name in ("A", "B")}
    bound = {name: run(allocator, pods[name])[0].info for name in pods}
    late = Allocator.from_config(cluster)
    for name, info in bound.items():
        late.allocate(pods[name][0], info)
        check(late)
    for node in "abcd":
        late.node_healthy(node)
        check(late)
    for name in pods:
        status = late.group(name)
        assert status is not None
        assert [x.partition("/")[0] for x in status.virtual_placement] == [name]


def test_18_6_an_opportunistic_pod_on_a_node_that_turns_bad_leaves_nothing_behind() -> None:
    allocator = healthy(TWO)
    before = picture(allocator)
    pods = gang("o", "A", 4, 4, priority=-1)
    run(allocator, pods)
    allocator.node_bad("a")
    allocator.node_bad("b")
    check(allocator)
    end(allocator, pods)
    check(allocator)
    allocator.node_healthy("a")
    allocator.node_healthy("b")
    assert picture(allocator) == before


def test_18_7_a_preemption_lasts_as_long_as_any_pod_of_the_gang_is_there() -> None:
    allocator = healthy(ONE)
    run(allocator, gang("weak", "A", 4, priority=1))
    one, two = gang("strong", "A", 2, 2, priority=2)
    allocator.submit(two)
    preempt(allocator, [one])
    allocator.delete(one)
    assert state(allocator, "strong") is AffinityGroupState.PREEMPTING
    assert isinstance(allocator.schedule(two), Preempt)
    allocator.delete(two)
    assert state(allocator, "strong") is None
    check(allocator)


def test_18_8_the_pods_of_a_placed_gang_agree_on_whose_it_is_and_how_strong() -> None:
    allocator = healthy(TWO)
    run(allocator, gang("g", "A", 1, 1)[:1])
    before = picture(allocator)
    for pods, word in (
        (gang("g", "A", 1, 1, priority=6), "priority: 6, but 5"),
        (gang("g", "B", 1, 1), "virtual cluster: 'B', but 'A'"),
        (gang("g", "A", 1, 1, 1), "the members of the gang"),
    ):
        with pytest.raises(UserError, match=f"pod default/g-1 and its gang g disagree on {word}"):
            allocator.schedule(pods[1])
    assert picture(allocator) == before


@pytest.mark.parametrize("more", [{"lazy_preemption": True}, {"ignore_suggested": False}, {"leaf_type": "GPU"}])
def test_18_8_what_a_placed_gang_has_settled_is_no_reason_to_refuse_a_pod(more: dict[str, Any]) -> None:
    """OpenPAI puts task roles with different types into one gang: the first that is placed settles it for all."""
    allocator = healthy(TWO)
    first = run(allocator, gang("g", "A", 1, 1)[:1])[0]
    _, other = gang("g", "A", 1, 1, **more)
    answer = allocator.schedule(other)
    assert isinstance(answer, Bind)
    allocator.allocate(other, answer.info)
    assert answer.info.gang == first.info.gang
    check(allocator)


def test_of_a_pending_gang_nothing_is_settled(tmp_path: Path) -> None:
    """A pod that was submitted anew, with another priority, asks for itself, while the old one is still there."""
    allocator = DurableAllocator.open(TWO, tmp_path / "journal", now=lambda: 1000.0)
    old, new = gang("g", "A", 4)[0], replace(gang("g", "A", 2, 2, priority=9)[0], uid="new", name="new")
    assert isinstance(allocator.schedule(old), Wait), "no node is healthy"
    assert isinstance(allocator.schedule(new), Wait)
    assert allocator.gangs["g"].spec.priority == 9
    allocator.close()
    again = DurableAllocator.open(TWO, tmp_path / "journal", now=lambda: 1000.0)
    assert picture(again) == picture(allocator)
    assert {pod.uid: pod.spec for pod in again.gangs["g"].pods} == {old.uid: old.spec, new.uid: new.spec}
    for name in again.cluster.nodes:
        again.node_healthy(name)
    answer = again.schedule(new)
    assert isinstance(answer, Bind)
    again.allocate(new, answer.info)
    with pytest.raises(UserError, match="disagree on priority"):
        again.schedule(old)
    check(again)
    again.close()


def test_18_9_what_one_request_splits_off_is_not_there_for_the_next() -> None:
    """The spare cells are counted anew after each choice, also within one gang."""
    cells = [rack("a", "b"), rack("c", "d"), rack("e", "f")]
    allocator = healthy(config(cells, A={"RACK.NODE": 4}, B={"RACK": 1}))
    allocator.node_bad("a")
    answer = allocator.schedule(gang("g", "A", 4, 4, 4, 4)[0])
    assert isinstance(answer, Bind)
    for node in "ce":
        allocator.node_bad(node)
    answer = allocator.schedule(gang("h", "A", 4, 4, 4)[0])
    assert isinstance(answer, Wait), "one good node in each rack, but only two racks may be split"
    run(allocator, gang("i", "A", 4, 4))
    check(allocator)
