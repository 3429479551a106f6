"""Preemption: who is displaced by whom, what is reserved meanwhile, and how it ends."""

from __future__ import annotations

import pytest
from clusters import config, end, gang, healthy, nodes, preempt, run
from invariants import check, picture

from generated.hived import AffinityGroupState, CellState
from runtime import Allocator, Bind, Phase, Preempt, UserError, Wait

TWO = config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1})
ONE = config(nodes("a"), A={"NODE": 1})


def state(allocator: Allocator, name: str) -> AffinityGroupState | None:
    status = allocator.group(name)
    return status.state if status is not None else None


def cells(allocator: Allocator) -> list[tuple[str, str | None, str | None]]:
    return [(c.state.display, c.owner, c.reserver) for c in allocator.leaf_cells() if c.state is not CellState.FREE]


def victims(answer: object) -> set[str]:
    assert isinstance(answer, Preempt), answer
    return {pod.uid for pods in answer.victims.values() for pod in pods}


def test_asking_for_the_first_time_changes_nothing() -> None:
    allocator = healthy(ONE)
    run(allocator, gang("weak", "A", 4, priority=1))
    before = picture(allocator)
    assert victims(allocator.schedule(gang("strong", "A", 4, priority=2)[0])) == {"weak-0"}
    assert picture(allocator) == before
    assert state(allocator, "strong") is AffinityGroupState.PENDING


def test_a_preemption_from_beginning_to_end() -> None:
    allocator = healthy(ONE)
    weak, strong = gang("weak", "A", 2, 2, priority=1), gang("strong", "A", 2, priority=2)
    run(allocator, weak)
    assert victims(preempt(allocator, strong)) == {"weak-0", "weak-1"}, "the whole gang, as half of it is of no use"
    check(allocator)
    assert (state(allocator, "weak"), state(allocator, "strong")) == (
        AffinityGroupState.BEING_PREEMPTED,
        AffinityGroupState.PREEMPTING,
    )
    assert sorted(cells(allocator)) == [("Reserving", "weak", "strong")] * 2 + [("Used", "weak", None)] * 2
    allocator.delete(weak[0])
    assert victims(preempt(allocator, strong)) == {"weak-1"}
    allocator.delete(weak[1])
    assert cells(allocator) == [("Reserved", None, "strong")] * 2
    run(allocator, strong)
    assert cells(allocator) == [("Used", "strong", None)] * 2
    check(allocator)


def test_a_gang_that_still_waits_for_its_victims_is_not_allocated() -> None:
    allocator = healthy(ONE)
    weak, strong = gang("weak", "A", 4, priority=1), gang("strong", "A", 4, priority=2)
    info = run(allocator, weak)[0].info
    preempt(allocator, strong)
    before = picture(allocator)
    with pytest.raises(UserError, match="strong still waits for the gangs that it displaces"):
        allocator.allocate(strong[0], info)
    assert picture(allocator) == before


def test_the_victim_has_its_leaf_cells_again_when_the_preemptor_goes_first() -> None:
    allocator = healthy(ONE)
    weak, strong = gang("weak", "A", 4, priority=1), gang("strong", "A", 4, priority=2)
    run(allocator, weak)
    before = picture(allocator)
    preempt(allocator, strong)
    end(allocator, strong)
    assert picture(allocator) == before
    check(allocator)


@pytest.mark.parametrize("priority", [0, 1])
def test_only_strictly_stronger_gangs_displace(priority: int) -> None:
    allocator = healthy(ONE)
    run(allocator, gang("weak", "A", 4, priority=1))
    assert isinstance(preempt(allocator, gang("other", "A", 4, priority=priority)), Wait)


def test_no_virtual_cluster_displaces_guaranteed_gangs_of_another() -> None:
    allocator = healthy(TWO)
    run(allocator, gang("theirs", "B", 4, priority=0))
    run(allocator, gang("own", "A", 4, priority=7))
    assert isinstance(preempt(allocator, gang("strong", "A", 4, priority=7)), Wait)
    assert victims(preempt(allocator, gang("stronger", "A", 4, priority=8))) == {"own-0"}


def test_opportunistic_gangs_of_anybody_give_way() -> None:
    allocator = healthy(TWO)
    run(allocator, gang("o", "B", 4, 4, priority=-1))
    assert victims(preempt(allocator, gang("g", "A", 1, priority=0))) == {"o-0", "o-1"}


def test_few_are_displaced_and_weak_ones_rather_than_strong_ones() -> None:
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 2}))
    run(allocator, gang("s", "A", 2, priority=5))
    run(allocator, gang("t", "A", 2, priority=3))
    run(allocator, gang("u", "A", 2, priority=1))
    assert victims(preempt(allocator, gang("new", "A", 4, priority=9))) == {"u-0"}


def test_a_stronger_gang_takes_a_preemption_over() -> None:
    allocator = healthy(ONE)
    run(allocator, gang("weak", "A", 4, priority=1))
    strong, stronger = gang("strong", "A", 4, priority=2), gang("stronger", "A", 2, priority=3)
    preempt(allocator, strong)
    assert victims(preempt(allocator, stronger)) == {"weak-0"}
    assert state(allocator, "strong") is AffinityGroupState.PENDING
    assert sorted(cells(allocator)) == [("Reserving", "weak", "stronger")] * 2 + [("Used", "weak", None)] * 2
    check(allocator)
    assert isinstance(preempt(allocator, strong), Preempt | Wait)
    check(allocator)
    assert state(allocator, "stronger") is AffinityGroupState.PREEMPTING, "it is stronger, and keeps what it has"


def test_a_node_that_turns_bad_calls_a_preemption_off_and_another_place_is_looked_for() -> None:
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 2}))
    run(allocator, gang("w1", "A", 4, priority=1))
    run(allocator, gang("w2", "A", 4, priority=1))
    strong = gang("strong", "A", 4, priority=2)
    (first,) = victims(preempt(allocator, strong))
    node = next(c.node for c in allocator.leaf_cells() if c.reserver == "strong")
    allocator.node_bad(node)
    assert allocator.schedule(strong[0]) == Wait(f"gang strong has reserved leaf cells on {node}, which is bad now"), (
        "asking only changes nothing"
    )
    (second,) = victims(allocator.schedule(strong[0], phase=Phase.PREEMPTING))
    assert second != first
    assert state(allocator, first.removesuffix("-0")) is AffinityGroupState.ALLOCATED
    check(allocator)


def test_a_preemptor_of_two_victims_waits_for_both() -> None:
    allocator = healthy(ONE)
    one, two = gang("one", "A", 2, priority=1), gang("two", "A", 2, priority=1)
    run(allocator, one)
    run(allocator, two)
    strong = gang("strong", "A", 4, priority=2)
    assert victims(preempt(allocator, strong)) == {"one-0", "two-0"}
    end(allocator, one)
    assert victims(allocator.schedule(strong[0])) == {"two-0"}
    end(allocator, two)
    assert isinstance(allocator.schedule(strong[0]), Bind)


# Lazy preemption -----------------------------------------------------------------------------------------------------


def test_a_lazy_victim_goes_on_without_a_guarantee() -> None:
    allocator = healthy(TWO)
    lazy = gang("lazy", "A", 4, priority=1, lazy_preemption=True)
    node = run(allocator, lazy)[0].node
    before = picture(allocator)
    strong = gang("strong", "A", 4, priority=2)
    answer = allocator.schedule(strong[0])
    assert isinstance(answer, Bind)
    assert answer.node != node, "nobody has to go, as there is another node"
    assert picture(allocator) == before, "asking changes nothing"
    allocator.allocate(strong[0], answer.info)
    status = allocator.group("lazy")
    assert status is not None
    assert status.demotion is not None
    assert (status.demotion.preemptor, status.demotion.time) == ("strong", 1000.0)
    assert (status.state, status.virtual_placement) == (AffinityGroupState.ALLOCATED, {})
    assert {c.priority for c in allocator.leaf_cells() if c.owner == "lazy"} == {-1}
    check(allocator)
    assert victims(preempt(allocator, gang("theirs", "B", 4, priority=0))) == {"lazy-0"}, "now anybody displaces it"
    check(allocator)


def test_one_that_is_not_lazy_is_displaced() -> None:
    allocator = healthy(TWO)
    run(allocator, gang("busy", "A", 4, priority=1))
    assert victims(preempt(allocator, gang("strong", "A", 4, priority=2))) == {"busy-0"}


def test_a_demotion_is_undone_when_it_does_not_help() -> None:
    allocator = healthy(TWO)
    run(allocator, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    for node in {c.node for c in allocator.leaf_cells() if c.owner is None}:
        allocator.node_bad(node)
    run_on = next(c.node for c in allocator.leaf_cells() if c.owner == "lazy")
    before = picture(allocator)
    strong = gang("strong", "A", 4, priority=2, ignore_suggested=False)[0]
    assert isinstance(allocator.schedule(strong, [], Phase.PREEMPTING), Wait)
    assert picture(allocator) == before
    allocator.node_bad(run_on)
    assert isinstance(allocator.schedule(strong, ["a", "b"], Phase.PREEMPTING), Wait)
    status = allocator.group("lazy")
    assert status is not None
    assert status.demotion is None
    check(allocator)


def test_a_lazy_gang_whose_leaf_cells_are_needed_after_all_is_displaced() -> None:
    allocator = healthy(ONE)
    run(allocator, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    assert victims(preempt(allocator, gang("strong", "A", 4, priority=2))) == {"lazy-0"}
    assert state(allocator, "lazy") is AffinityGroupState.BEING_PREEMPTED
    check(allocator)


def test_a_gang_is_demoted_once() -> None:
    """Who comes later finds nothing of it in its virtual cluster, although it still uses the leaf cells."""
    allocator = healthy(ONE)
    run(allocator, gang("lazy", "A", 4, priority=1, lazy_preemption=True))
    preempt(allocator, gang("strong", "A", 4, priority=2))
    assert victims(preempt(allocator, gang("stronger", "A", 4, priority=3))) == {"lazy-0"}
    status = allocator.group("lazy")
    assert status is not None
    assert status.demotion is not None
    assert status.demotion.preemptor == "strong"
    check(allocator)


# Which leaf cells ----------------------------------------------------------------------------------------------------


def four(allocator: Allocator, *priorities: int) -> None:
    """A gang of one pod on each of the four devices of a node, in order."""
    for i, priority in enumerate(priorities):
        run(allocator, gang(f"g{i}", "A", 1, priority=priority))
    owners = [c.owner for c in sorted(allocator.leaf_cells(), key=lambda c: c.index)]
    assert owners == [f"g{i}" for i in range(len(priorities))] + [None] * (4 - len(priorities))


def test_nobody_is_displaced_for_the_sake_of_closeness_as_long_as_there_is_room() -> None:
    allocator = healthy(ONE)
    four(allocator, 1, 1, 1, 1)
    end(allocator, gang("g1", "A", 1))
    end(allocator, gang("g3", "A", 1))
    answer = allocator.schedule(gang("new", "A", 2, priority=9)[0])
    assert isinstance(answer, Bind)
    assert answer.leaf_cells == (1, 3)


def test_nobody_as_strong_is_displaced_for_the_sake_of_closeness() -> None:
    allocator = healthy(ONE)
    four(allocator, 5, 1, 1, 5)
    assert victims(preempt(allocator, gang("new", "A", 2, priority=5))) == {"g1-0", "g2-0"}
    check(allocator)


def test_of_cells_as_close_the_weaker_gangs_are_displaced() -> None:
    allocator = healthy(ONE)
    four(allocator, 4, 4, 1, 2)
    assert victims(preempt(allocator, gang("new", "A", 2, priority=5))) == {"g2-0", "g3-0"}


@pytest.mark.parametrize(("suggested", "goes_on"), [(["a", "b"], True), (["a"], False), (["b"], False), (["c"], False)])
def test_a_preemption_goes_on_only_while_every_node_that_it_takes_is_suggested(
    suggested: list[str], goes_on: bool
) -> None:
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 2}))
    run(allocator, gang("weak", "A", 4, 4, priority=1))
    strong = gang("strong", "A", 4, 4, priority=2, ignore_suggested=False)
    assert victims(allocator.schedule(strong[0], ["a", "b"], Phase.PREEMPTING)) == {"weak-0", "weak-1"}
    answer = allocator.schedule(strong[0], suggested, Phase.PREEMPTING)
    assert isinstance(answer, Preempt if goes_on else Wait)
    begun = (AffinityGroupState.PREEMPTING, AffinityGroupState.BEING_PREEMPTED)
    called_off = (AffinityGroupState.PENDING, AffinityGroupState.ALLOCATED)
    assert (state(allocator, "strong"), state(allocator, "weak")) == (begun if goes_on else called_off)
    check(allocator)
