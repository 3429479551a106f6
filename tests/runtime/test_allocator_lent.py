"""Nodes that a virtual cluster has lent to opportunistic gangs: when it takes others, and when it displaces them."""

from __future__ import annotations

import pytest
from clusters import config, gang, healthy, nodes, rack, run

from runtime import Allocator, Bind, Preempt
from runtime.placement.guaranteed import closeness, signature
from runtime.placement.requirements import requirements

RACKS = config([rack("a", "b"), rack("c", "d")], A={"RACK": 2})
MATE = {"a": "b", "b": "a", "c": "d", "d": "c"}


def lent(size: int) -> tuple[Allocator, str, str]:
    """A guaranteed gang of so many on a node, and an opportunistic one on what is left there, or, if nothing is, on
    the other node of the rack; both nodes."""
    allocator = healthy(RACKS)
    node = run(allocator, gang("own", "A", size, priority=5))[0].node
    there = node if size < 4 else MATE[node]
    guest = gang("guest", "A", 4 if size == 4 else 4 - size, priority=-1, ignore_suggested=False)[0]
    answer = allocator.schedule(guest, [there])
    assert isinstance(answer, Bind)
    allocator.allocate(guest, answer.info)
    return allocator, node, there


def test_an_empty_node_is_as_good_as_another_one_that_is_lent() -> None:
    """Closer to its own gangs, in the same rack, is the node that an opportunistic gang uses: it goes elsewhere."""
    allocator, node, there = lent(4)
    answer = allocator.schedule(gang("new", "A", 4, priority=5)[0])
    assert isinstance(answer, Bind)
    assert answer.node not in (node, there)


def test_two_nodes_that_are_not_lent_are_taken_together() -> None:
    allocator, node, there = lent(4)
    bound = run(allocator, gang("new", "A", 4, 4, priority=5))
    assert {x.node for x in bound} == set("abcd") - {node, there}


def test_an_opportunistic_gang_is_displaced_where_there_is_no_other_node() -> None:
    allocator, _, _ = lent(4)
    answer = allocator.schedule(gang("new", "A", 4, 4, 4, priority=5)[0])
    assert isinstance(answer, Preempt)
    assert {p.uid for pods in answer.victims.values() for p in pods} == {"guest-0"}


def test_of_gangs_alike_the_same_one_is_displaced_wherever_its_object_is_in_memory() -> None:
    """What calls answer depends on the calls before them: a standby that follows them comes to the same."""
    kept, displaced = [], []
    for _ in range(16):
        allocator = healthy(config(nodes("a", "b", "c", "d"), A={"NODE": 4}))
        for name, own in (("one", "ac"), ("other", "bd")):
            for pod in gang(name, "A", 3, 3, priority=-1, ignore_suggested=False):
                answer = allocator.schedule(pod, own)
                assert isinstance(answer, Bind)
                allocator.allocate(pod, answer.info)
        kept.append(allocator)
        answer = allocator.schedule(gang("new", "A", 4, 4, priority=5)[0])
        assert isinstance(answer, Preempt)
        displaced.append({pod.spec.gang.name for pods in answer.victims.values() for pod in pods})
    assert displaced == [{"other"}] * len(kept)


def test_a_node_that_is_used_already_is_packed_even_where_it_is_lent() -> None:
    """Else the virtual cluster would not have later what it is promised: a whole node."""
    allocator, _, there = lent(2)
    answer = allocator.schedule(gang("new", "A", 2, priority=5)[0])
    assert isinstance(answer, Preempt)
    assert list(answer.victims) == [there]


def test_an_opportunistic_gang_keeps_away_from_the_chain_that_guaranteed_ones_come_to_first() -> None:
    """Those of any type take the first chain that has room: nobody goes while there is room in both chains."""
    allocator = healthy(config([*nodes("a"), *nodes("o", kind="OLD-NODE")], A={"NODE": 1, "OLD-NODE": 1}))
    assert [x.node for x in run(allocator, gang("guest", "A", 2, priority=-1))] == ["a"]
    own = run(allocator, gang("first", "A", 2, priority=5)) + run(allocator, gang("second", "A", 2, priority=5))
    assert [x.node for x in own] == ["o", "a"]
    answer = allocator.schedule(gang("third", "A", 2, priority=5)[0])
    assert isinstance(answer, Preempt)
    assert list(answer.victims) == ["a"]


def test_pods_of_a_gang_of_mixed_sizes_change_nodes_where_that_leaves_no_less_room() -> None:
    """Packed from the largest pod on, one device is left on each node, and the node that is lent has to be taken back.
    The other way around, nobody has to go, and both devices are left on one node."""
    six = {"childCellType": "GPU", "childCellNumber": 6, "isNodeLevel": True}
    physical = {"cellTypes": {"SIX": six}, "physicalCells": nodes("a", "b", kind="SIX")}
    allocator = healthy({**config((), A={"SIX": 2}), "physicalCluster": physical})
    used = run(allocator, gang("own", "A", 1, priority=5))[0].node
    guest = gang("guest", "A", 2, priority=-1, ignore_suggested=False)[0]
    answer = allocator.schedule(guest, ["b" if used == "a" else "a"])
    assert isinstance(answer, Bind)
    allocator.allocate(guest, answer.info)
    new = run(allocator, gang("new", "A", 4, 3, 2, priority=5))
    assert [x.node == used for x in new] == [False, True, True]


def test_cells_that_no_physical_one_stands_for_are_told_apart_by_how_they_are_together() -> None:
    """A placement on two cells that are not bound is another one than on one of them; on which of them is not."""
    view = next(iter(healthy(config(nodes("a", "b"), A={"NODE": 2})).cluster.tenants["A"].views.values()))
    one, other = (list(top.leaves()) for top in view.tops)
    assert signature([(one[0],), (one[1],)]) != signature([(one[0],), (other[0],)])
    assert signature([(one[0],), (one[1],)]) == signature([(other[2],), (other[3],)])


def test_each_pod_is_close_by_itself() -> None:
    view = next(iter(healthy(config(nodes("a"), A={"NODE": 1})).cluster.tenants["A"].views.values()))
    a, b, c, d = view.tops[0].leaves()
    assert closeness([(a, b), (c,), (d,)]) < closeness([(a, c), (b,), (d,)])


def test_what_is_wanted_is_counted_in_leaf_cells() -> None:
    view = next(iter(healthy(config([rack("a", "b")], A={"RACK": 1})).cluster.tenants["A"].views.values()))
    (top,) = view.tops
    leaves = list(top.leaves())
    found = requirements([*leaves[:3], leaves[-1]])
    assert found.tops == [top]
    assert (found.leaves_in(top), found.leaves_in(leaves[0])) == (4, 1)
    assert (found.least(), len(found.nodes_in(top))) == (1, 2)


@pytest.mark.parametrize("heavy", ["n1", "n2", "n3", "n4"])
def test_other_nodes_of_a_virtual_cluster_are_taken_where_less_is_lent(heavy: str) -> None:
    """Three of four nodes are needed, in two racks that are in use: the one with the larger gang is left alone."""
    types = {
        "NODE": {"childCellType": "GPU", "childCellNumber": 4, "isNodeLevel": True},
        "RACK": {"childCellType": "NODE", "childCellNumber": 3},
        "ROW": {"childCellType": "RACK", "childCellNumber": 2},
    }
    racks = [{"cellChildren": [{"cellAddress": f"n{3 * rack + i}"} for i in range(3)]} for rack in range(2)]
    row = [{"cellType": "ROW", "cellChildren": racks}]
    tenants = {"A": {"virtualCells": [{"cellType": "ROW", "cellNumber": 1}]}}
    allocator = healthy({"physicalCluster": {"cellTypes": types, "physicalCells": row}, "virtualClusters": tenants})
    for name in ("n0", "n5"):
        (pod,) = gang(name, "A", 4, ignore_suggested=False)
        answer = allocator.schedule(pod, [name])
        assert isinstance(answer, Bind)
        allocator.allocate(pod, answer.info)
    for name in ("n1", "n2", "n3", "n4"):
        (pod,) = gang(f"opp-{name}", "A", 4 if name == heavy else 1, priority=-1, ignore_suggested=False)
        answer = allocator.schedule(pod, [name])
        assert isinstance(answer, Bind)
        allocator.allocate(pod, answer.info)
    answer = allocator.schedule(gang("g", "A", 4, 4, 4)[0])
    assert isinstance(answer, Preempt)
    assert {pod.name for pod in answer.pods()} == {f"opp-{x}-0" for x in ("n1", "n2", "n3", "n4") if x != heavy}
