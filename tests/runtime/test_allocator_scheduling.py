"""Placement: what virtual clusters are promised they get, packed, on usable nodes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from clusters import config, end, gang, healthy, nodes, preempt, rack, row, run
from hypothesis import given
from hypothesis import strategies as st
from invariants import check, picture

from generated.hived import AffinityGroupState, CellState
from runtime import Allocator, Bind, GangSpec, Member, Phase, Preempt, Wait

GPU4 = config(nodes("a", "b", "c", "d"), A={"NODE": 2}, B={"NODE": 2})


def used(allocator: Allocator) -> dict[str, set[str]]:
    """The owners by node."""
    found: dict[str, set[str]] = {}
    for cell in allocator.leaf_cells():
        if cell.owner is not None:
            found.setdefault(cell.node, set()).add(cell.owner)
    return found


# Guarantees ----------------------------------------------------------------------------------------------------------


def test_a_virtual_cluster_gets_what_it_is_promised_and_no_more() -> None:
    allocator = healthy(GPU4)
    run(allocator, gang("a", "A", 4, 4))
    answer = allocator.schedule(gang("b", "A", 1)[0])
    assert answer == Wait("A has no room for 1 x 1 leaf cells in NODE")
    run(allocator, gang("c", "B", 4, 4))
    check(allocator)
    assert all(cell.state is CellState.USED for cell in allocator.leaf_cells())


def test_what_is_promised_as_a_whole_is_not_broken_up_by_others() -> None:
    """A's switches all come from one node, so that B can have its node: safety is more than counting devices."""
    allocator = healthy(config(nodes("a", "b"), A={"NODE.SWITCH": 2}, B={"NODE": 1}))
    run(allocator, gang("1", "A", 2))
    run(allocator, gang("2", "A", 2))
    assert len(used(allocator)) == 1
    run(allocator, gang("3", "B", 4))
    assert [len(owners) for owners in used(allocator).values()] == [2, 1]


def test_all_of_a_gang_or_nothing() -> None:
    allocator = healthy(GPU4)
    before = picture(allocator)
    pods = gang("g", "A", 4, 4, 4)
    assert isinstance(allocator.schedule(pods[0]), Wait)
    assert picture(allocator) == before
    pods = gang("h", "A", 4, 4)
    first = allocator.schedule(pods[0])
    assert isinstance(first, Bind)
    allocator.allocate(pods[0], first.info)
    status = allocator.group("h")
    assert status is not None
    assert (status.state, len(status.placement), status.allocated) == (AffinityGroupState.ALLOCATED, 2, (pods[0],))
    assert isinstance(allocator.schedule(gang("i", "A", 1)[0]), Wait), "the place of the second pod is taken already"
    second = allocator.schedule(pods[1])
    assert isinstance(second, Bind)
    assert second.node != first.node
    assert second.info.gang == first.info.gang, "every pod knows the places of all"


def test_a_gang_that_no_cluster_could_hold_waits_like_any_other() -> None:
    allocator = healthy(GPU4)
    spec = GangSpec("g", (Member(10**12, 1),))
    pod = replace(gang("g", "A", 1)[0], spec=replace(gang("g", "A", 1)[0].spec, gang=spec))
    assert allocator.schedule(pod) == Wait("no chain has 1000000000000 leaf cells", permanent=True)
    assert isinstance(allocator.schedule(gang("h", "A", 5)[0]), Wait), "nor is there a node for this one"


@pytest.mark.parametrize("priority", [-1, 5], ids=["opportunistic", "guaranteed"])
@pytest.mark.parametrize(
    ("sizes", "permanent"),
    [((4, 4), False), ((4, 4, 4), True), ((5,), True), ((3, 3, 2), True), ((3, 3, 1, 1), False)],
)
def test_it_is_known_whether_a_gang_can_ever_have_a_place(
    sizes: tuple[int, ...], permanent: bool, priority: int
) -> None:
    """Pods of mixed sizes do not share nodes as they like: each is on one node."""
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 2}))
    run(allocator, gang("busy", "A", 1, priority=9))
    run(allocator, gang("also", "A", 4, priority=9))
    answer = allocator.schedule(gang("g", "A", *sizes, priority=priority)[0])
    assert isinstance(answer, Wait)
    assert answer.permanent is permanent, answer.reason


def test_pods_that_come_later_join_as_gangs_of_their_own() -> None:
    """Incremental scaling: gangs of one pod each start as soon as each fits."""
    allocator = healthy(GPU4)
    bound = [run(allocator, gang(f"g{i}", "A", 2))[0] for i in range(4)]
    assert len({(x.node, x.leaf_cells) for x in bound}) == 4
    assert isinstance(allocator.schedule(gang("g4", "A", 2)[0]), Wait)


def test_a_gang_of_mixed_sizes_that_a_greedy_walk_refuses() -> None:
    allocator = healthy(GPU4)
    run(allocator, gang("x", "A", 1, priority=9))
    run(allocator, gang("y", "A", 3, priority=9))
    end(allocator, gang("y", "A", 3, priority=9))
    run(allocator, gang("z", "A", 4, priority=9))
    end(allocator, gang("z", "A", 4, priority=9))
    run(allocator, gang("y", "B", 1, 3, 3, 1))
    run(allocator, gang("z", "A", 3, 2, 2))
    check(allocator)


def test_gangs_are_packed_and_pods_sit_close_together() -> None:
    allocator = healthy(GPU4)
    first = run(allocator, gang("1", "A", 1))[0]
    second = run(allocator, gang("2", "A", 2))[0]
    third = run(allocator, gang("3", "A", 1))[0]
    assert {first.node, second.node, third.node} == {first.node}, "the other node stays whole"
    assert {*first.leaf_cells, *third.leaf_cells} in ({0, 1}, {2, 3}), "and so does the other switch"
    assert set(second.leaf_cells) in ({0, 1}, {2, 3})


def test_relaxed_splitting_reaches_good_nodes_in_larger_cells() -> None:
    """The free node of the split rack is bad; another rack may be split, as nobody needs it whole."""
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 2}))
    first = run(allocator, gang("1", "A", 4))[0]
    other = {"a": "b", "b": "a", "c": "d", "d": "c"}[first.node]
    allocator.node_bad(other)
    assert run(allocator, gang("2", "A", 4))[0].node not in (first.node, other)
    check(allocator)


def test_no_larger_cell_is_split_that_somebody_else_is_promised() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 2}, B={"RACK": 1}))
    first = run(allocator, gang("1", "A", 4))[0]
    other = {"a": "b", "b": "a", "c": "d", "d": "c"}[first.node]
    allocator.node_bad(other)
    answer = allocator.schedule(gang("2", "A", 4)[0])
    assert answer == Wait("A has room for 1 x 4 leaf cells in RACK, but not on usable nodes")
    assert run(allocator, gang("3", "B", 4, 4))


# Pinned cells and chains ---------------------------------------------------------------------------------------------

RACKS = [rack("a", "b", pinnedCellId="pin1"), rack("c", "d")]
PINNED = config(RACKS, A={"pin1": 0, "RACK.NODE": 1}, B={"RACK.NODE": 1})


def test_a_pinned_cell_is_used_by_those_who_name_it_and_nobody_else() -> None:
    allocator = healthy(PINNED)
    bound = run(allocator, gang("1", "A", 4, 4, pinned_cell="pin1"))
    assert {x.node for x in bound} == {"a", "b"}
    assert run(allocator, gang("2", "A", 4))[0].node in ("c", "d")
    assert isinstance(allocator.schedule(gang("3", "A", 4)[0]), Wait)
    assert isinstance(allocator.schedule(gang("4", "A", 1, pinned_cell="pin1")[0]), Wait)
    assert run(allocator, gang("5", "B", 4))[0].node in ("c", "d")
    check(allocator)


def test_a_virtual_cluster_may_have_nothing_but_pinned_cells() -> None:
    allocator = healthy(config(RACKS, A={"pin1": 0}))
    assert allocator.schedule(gang("1", "A", 1)[0]) == Wait(
        "A has no cells of this kind but pinned ones", permanent=True
    )
    assert run(allocator, gang("2", "A", 1, pinned_cell="pin1"))[0].node in ("a", "b")


def test_pinned_cells_are_lent_to_opportunistic_gangs() -> None:
    allocator = healthy(PINNED)
    run(allocator, gang("1", "B", 4, 4, 4, 4, priority=-1))
    answer = preempt(allocator, gang("2", "A", 1, pinned_cell="pin1"))
    assert isinstance(answer, Preempt)
    check(allocator)


CHAINS = config([*nodes("a", "b"), *nodes("o", "p", kind="OLD-NODE")], A={"NODE": 2, "OLD-NODE": 2})


def test_a_gang_is_placed_in_one_chain_of_the_wanted_type() -> None:
    allocator = healthy(CHAINS)
    assert run(allocator, gang("1", "A", 2, leaf_type="OLD"))[0].node in ("o", "p")
    assert run(allocator, gang("2", "A", 2, leaf_type="GPU"))[0].node in ("a", "b")
    assert isinstance(allocator.schedule(gang("3", "A", 2, 2, leaf_type="OLD")[0]), Wait)
    assert isinstance(allocator.schedule(gang("4", "A", 4, 2, 2)[0]), Wait), "no chain has room for all of it"


def test_without_a_type_the_first_chain_in_which_nobody_is_displaced() -> None:
    allocator = healthy(CHAINS)
    run(allocator, gang("low", "A", 2, 2, priority=1, leaf_type="OLD"))
    assert run(allocator, gang("1", "A", 2))[0].node in ("a", "b")
    run(allocator, gang("more", "A", 4, 2, priority=1))
    assert isinstance(preempt(allocator, gang("2", "A", 2)), Preempt)


# Nodes ---------------------------------------------------------------------------------------------------------------


def test_only_suggested_nodes_are_used_by_those_who_want_that() -> None:
    allocator = healthy(GPU4)
    pod = gang("1", "A", 4, ignore_suggested=False)[0]
    answer = allocator.schedule(pod, ["c"])
    assert isinstance(answer, Bind)
    assert answer.node == "c"
    assert isinstance(allocator.schedule(pod, []), Wait)
    assert isinstance(allocator.schedule(gang("2", "A", 4)[0], []), Bind), "others do not mind"


def test_a_bound_cell_on_a_node_that_is_not_suggested_does_not_hide_others() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}))
    first = run(allocator, gang("1", "A", 4))[0]
    for name in "abcd":
        answer = allocator.schedule(gang(f"on-{name}", "A", 4, ignore_suggested=False)[0], [name])
        assert isinstance(answer, Bind if name != first.node else Wait), name


def test_bad_nodes_are_avoided_and_those_who_are_on_them_stay() -> None:
    allocator = healthy(GPU4)
    first = run(allocator, gang("1", "A", 4))[0]
    allocator.node_bad(first.node)
    status = allocator.group("1")
    assert status is not None
    assert status.state is AffinityGroupState.ALLOCATED
    second = run(allocator, gang("2", "A", 4))[0]
    assert second.node != first.node
    end(allocator, gang("1", "A", 4))
    third = allocator.schedule(gang("3", "A", 4)[0])
    assert isinstance(third, Bind)
    assert third.node not in (first.node, second.node)


def test_a_virtual_cluster_sees_a_loss_when_it_can_no_longer_be_hidden() -> None:
    allocator = healthy(config(nodes("a", "b", "c"), A={"NODE": 2}))

    def seen() -> list[bool]:
        return [cell.healthy for tenant in allocator.virtual_clusters() for cell in tenant.cells]

    allocator.node_bad("a")
    assert seen() == [True, True]
    allocator.node_bad("b")
    assert seen() == [True, False]
    bound = run(allocator, gang("1", "A", 4))
    assert bound[0].node == "c"
    assert seen() == [True, False]
    allocator.node_bad("c")
    allocator.node_healthy("b")
    assert seen() == [False, True], "the first is in use on a bad node"
    allocator.node_healthy("a")
    end(allocator, gang("1", "A", 4))
    assert seen() == [True, True]


def test_healthy_halves_of_damaged_cells_are_used() -> None:
    allocator = healthy(config([row("a", "b", "c", "d")], A={"ROW": 1}))
    allocator.node_bad("a")
    allocator.node_bad("d")
    bound = run(allocator, gang("1", "A", 4, 4))
    assert {x.node for x in bound} == {"b", "c"}
    check(allocator)


def test_of_cells_in_a_bound_one_the_good_ones_are_found() -> None:
    """One of three free nodes is bad; which virtual one that is, is decided when it is needed."""
    allocator = healthy(config([row("a", "b", "c", "d")], A={"ROW": 1}))
    first = run(allocator, gang("1", "A", 4))[0]
    for bad in "abcd":
        if bad == first.node:
            continue
        allocator.node_bad(bad)
        answer = allocator.schedule(gang(f"without-{bad}", "A", 4, 4)[0])
        assert isinstance(answer, Bind), bad
        assert bad not in {place.node for same in answer.info.gang for place in same}
        allocator.node_healthy(bad)


# Opportunistic gangs -------------------------------------------------------------------------------------------------


def test_opportunistic_gangs_use_what_others_are_promised() -> None:
    allocator = healthy(GPU4)
    run(allocator, gang("o", "A", 4, 4, 4, 4, priority=-1))
    assert isinstance(allocator.schedule(gang("p", "B", 1, priority=-1)[0]), Wait)
    assert all(cell.free for tenant in allocator.virtual_clusters() for cell in tenant.cells), "it counts for nobody"


def test_opportunistic_gangs_keep_together_and_away_from_guaranteed_ones() -> None:
    allocator = healthy(GPU4)
    guaranteed = run(allocator, gang("g", "A", 1))[0]
    bound = [run(allocator, gang(f"o{i}", "B", 2, priority=-1))[0] for i in range(2)]
    assert len({x.node for x in bound}) == 1
    assert bound[0].node != guaranteed.node


def test_guaranteed_gangs_avoid_opportunistic_ones_where_they_can() -> None:
    allocator = healthy(GPU4)
    run(allocator, gang("o", "A", 4, 4, priority=-1))
    run(allocator, gang("1", "A", 4, 4))
    assert isinstance(preempt(allocator, gang("2", "B", 4)), Preempt)


@pytest.mark.parametrize("phase", Phase)
def test_opportunistic_gangs_displace_nobody(phase: Phase) -> None:
    allocator = healthy(GPU4)
    run(allocator, gang("o", "A", 4, 4, 4, 4, priority=-1))
    assert isinstance(allocator.schedule(gang("p", "B", 1, priority=-1)[0], phase=phase), Wait)


@given(st.integers(1, 4), st.data())
def test_whatever_nodes_are_bad_a_gang_is_placed_if_the_good_ones_are_enough(racks: int, data: st.DataObject) -> None:
    own = data.draw(st.integers(1, racks))
    names = [[f"{i}-0", f"{i}-1"] for i in range(racks)]
    allocator = healthy(config([rack(*x) for x in names], A={"RACK": own}))
    bad = data.draw(st.sets(st.sampled_from([name for x in names for name in x])))
    for name in bad:
        allocator.node_bad(name)
    best = sum(sorted((sum(name not in bad for name in x) for x in names), reverse=True)[:own])
    pods = data.draw(st.integers(1, 2 * own))
    answer = allocator.schedule(gang("g", "A", *[4] * pods)[0])
    assert isinstance(answer, Bind if pods <= best else Wait)


def test_opportunistic_gangs_stay_out_of_cells_that_guaranteed_ones_will_grow_into() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}))
    first = run(allocator, gang("1", "A", 4))[0]
    other = {"a": "b", "b": "a", "c": "d", "d": "c"}[first.node]
    assert run(allocator, gang("o", "A", 4, priority=-1))[0].node not in (first.node, other)
    assert run(allocator, gang("2", "A", 4))[0].node == other


def test_other_cells_of_a_virtual_cluster_are_tried_before_an_opportunistic_gang_is_displaced() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}))
    run(allocator, gang("1", "A", 4))
    opportunistic = {run(allocator, gang(f"o{i}", "A", 4, priority=-1))[0].node: f"o{i}" for i in range(3)}
    (far, *_) = sorted(opportunistic, key=opportunistic.__getitem__)
    end(allocator, gang("o0", "A", 4, priority=-1))
    assert run(allocator, gang("2", "A", 4))[0].node == far


def halls(*numbers: int) -> Allocator:
    """Halls of thirty nodes of one device each, all of one virtual cluster."""
    types = {"NODE": {"childCellType": "GPU", "childCellNumber": 1, "isNodeLevel": True}}
    types["HALL"] = {"childCellType": "NODE", "childCellNumber": 30}
    cells = [{"cellType": "HALL", "cellChildren": [{"cellAddress": f"{x}-{i}"} for i in range(30)]} for x in numbers]
    tenants = {"A": {"virtualCells": [{"cellType": "HALL", "cellNumber": len(numbers)}]}}
    return healthy({"physicalCluster": {"cellTypes": types, "physicalCells": cells}, "virtualClusters": tenants})


def test_of_the_physical_cells_in_a_bound_one_those_without_opportunistic_gangs_are_taken() -> None:
    allocator = halls(0)
    run(allocator, gang("first", "A", 1))
    run(allocator, gang("o", "A", *[1] * 20, priority=-1))
    run(allocator, gang("g", "A", *[1] * 9))
    assert isinstance(preempt(allocator, gang("h", "A", 1)), Preempt)


@pytest.mark.parametrize("pods", [1, 2, 3])
def test_the_few_usable_nodes_of_large_cells_are_found(pods: int) -> None:
    allocator = halls(0, 1, 2)
    run(allocator, gang("first", "A", 1))
    wanted = gang("g", "A", *[1] * pods, ignore_suggested=False)[0]
    offered = ["1-29", "1-7", "2-28"][:pods]
    answer = allocator.schedule(wanted, offered)
    assert isinstance(answer, Bind)
    assert {place.node for same in answer.info.gang for place in same} == set(offered)
