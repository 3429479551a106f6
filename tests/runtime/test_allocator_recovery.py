"""Recovery from what bound pods carry, and what a changed configuration does to gangs that run."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

from clusters import config, gang, healthy, nodes, preempt, rack, run
from invariants import check, picture

from generated.hived import AffinityGroupState
from runtime import Allocator, Bind, BindInfo, GangStatus, Pod, PodPlacement, Preempt, Recovered

Bound = list[tuple[Pod, BindInfo | None]]
ALL_WELL = Recovered({}, {}, {})


def bound(allocator: Allocator, pods: list[Pod]) -> Bound:
    return [(pod, answer.info) for pod, answer in zip(pods, run(allocator, pods), strict=True)]


def recovered(configuration: dict[str, object], pods: Bound) -> tuple[Allocator, Recovered]:
    allocator = Allocator.from_config(configuration, now=lambda: 2000.0)
    names = {cell.node for cell in allocator.leaf_cells()}
    result = allocator.recover(pods, dict.fromkeys(names, True))
    check(allocator)
    return allocator, result


def status(allocator: Allocator, name: str) -> GangStatus:
    found = allocator.group(name)
    assert found is not None
    return found


RACKS = [rack("a", "b", pinnedCellId="pin1"), rack("c", "d"), rack("e", "f")]
CLUSTER = config(RACKS, A={"pin1": 0, "RACK.NODE": 2}, B={"RACK": 1})


def test_everything_is_as_it_was_whatever_the_order() -> None:
    allocator = healthy(CLUSTER)
    pods = [
        *bound(allocator, gang("pinned", "A", 2, 4, pinned_cell="pin1")),
        *bound(allocator, gang("own", "A", 1, 2)),
        *bound(allocator, gang("other", "A", 1, priority=9)),
        *bound(allocator, gang("theirs", "B", 4, 2)),
        *bound(allocator, gang("o", "B", 1, priority=-1)),
    ]
    before = picture(allocator)[0]
    pictures = []
    for order in list(permutations(range(5)))[::17]:
        again, result = recovered(CLUSTER, [*(pods[i] for i in order), *pods[5:]])
        assert result == ALL_WELL
        pictures.append(picture(again))
    assert all(x == pictures[0] for x in pictures)
    for was, now in zip(before, pictures[0][0], strict=True):
        assert was[0] == now[0], "free lists"
        assert [(p, s) for p, _, s in was[5]] == [(p, s) for p, _, s in now[5]]
        assert was[6] == now[6], "owners"


def test_a_preemption_is_forgotten_and_its_victim_is_what_it_was() -> None:
    cluster = config(nodes("a"), A={"NODE": 1})
    allocator = healthy(cluster)
    weak = bound(allocator, gang("weak", "A", 2, 2, priority=1))
    strong = gang("strong", "A", 4, priority=2)
    preempt(allocator, strong)
    again, result = recovered(cluster, [*weak, (strong[0], None)])
    assert result == ALL_WELL
    assert status(again, "weak").state is AffinityGroupState.ALLOCATED
    assert status(again, "strong").state is AffinityGroupState.PENDING
    assert isinstance(preempt(again, strong), Preempt), "waiting starts anew"


def test_one_bound_pod_brings_back_the_places_of_its_whole_gang() -> None:
    cluster = config(nodes("a", "b"), A={"NODE": 2})
    allocator = healthy(cluster)
    pods = gang("g", "A", 4, 4)
    (first, _) = bound(allocator, pods)
    again, result = recovered(cluster, [first, (pods[1], None)])
    assert result == ALL_WELL
    assert status(again, "g").state is AffinityGroupState.ALLOCATED
    assert status(again, "g").waiting == (pods[1],)
    answer = run(again, pods[1:])[0]
    assert first[1] is not None
    assert answer.node != first[1].node


def test_when_a_virtual_cluster_shrinks_the_weaker_gangs_go_on_without_a_guarantee() -> None:
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 2}))
    pods = [*bound(allocator, gang("weak", "A", 4, priority=1)), *bound(allocator, gang("strong", "A", 4, priority=2))]
    smaller = config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1})
    for order in (pods, pods[::-1]):
        again, result = recovered(smaller, order)
        assert result.demoted == {"weak": "virtual cluster A has no NODE left"}
        assert status(again, "strong").demotion is None
        demotion = status(again, "weak").demotion
        assert demotion is not None
        assert (demotion.preemptor, demotion.time) == ("", 2000.0)
        assert isinstance(preempt(again, gang("new", "B", 4, priority=0)), Preempt)


def test_a_pinned_cell_that_has_become_larger_keeps_its_gangs_and_so_does_a_smaller_one() -> None:
    node = {"cellAddress": "a", "pinnedCellId": "pin1"}
    small = config([{"cellType": "RACK", "cellChildren": [node, {"cellAddress": "b"}]}], A={"pin1": 0})
    large = config([rack("a", "b", pinnedCellId="pin1")], A={"pin1": 0})
    pods = bound(healthy(small), gang("g", "A", 2, 2, pinned_cell="pin1"))
    for configuration in (large, small):
        again, result = recovered(configuration, pods)
        assert result == ALL_WELL
        assert status(again, "g").demotion is None
        check(again)


def test_when_its_virtual_cluster_or_its_kind_of_cell_is_gone_a_gang_goes_on() -> None:
    allocator = healthy(config([rack("a", "b")], A={"RACK": 1}))
    pods = bound(allocator, gang("g", "A", 4, 4))
    again, result = recovered(config([rack("a", "b")], B={"RACK": 1}), pods)
    assert result.demoted == {"g": "there is no virtual cluster A"}
    assert isinstance(again.schedule(pods[0][0]), Bind), "and its pods are answered as before"
    assert status(again, "g").state is AffinityGroupState.ALLOCATED
    again, result = recovered(config(nodes("a", "b"), A={"NODE": 2}), pods)
    assert result.demoted == {"g": "chain NODE has no cells of type RACK"}
    assert {c.owner for c in again.leaf_cells()} == {"g"}, "found in another chain"


def test_what_others_are_promised_as_a_whole_now_is_not_held_back_by_old_gangs() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 3}))
    pods = [x for i in range(3) for x in bound(allocator, gang(f"g{i}", "A", 4))]
    _, result = recovered(config([rack("a", "b"), rack("c", "d")], A={"RACK.NODE": 2}, B={"RACK": 1}), pods)
    (lost,) = result.demoted.values()
    assert lost in ("virtual cluster A has no NODE left", "0/b is needed for what others are promised")


def test_devices_that_are_gone_are_missed_and_the_rest_is_kept() -> None:
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 2}))
    pods = bound(allocator, gang("g", "A", 4, 4))
    again, result = recovered(config(nodes("a"), A={"NODE": 1}), pods)
    assert result.missing == {"g": tuple(f"b has no device {i}" for i in range(4))}
    assert result.demoted == {}
    assert {c.owner for c in again.leaf_cells()} == {"g"}
    assert len(status(again, "g").placement) == 2
    for pod, _ in pods:
        again.delete(pod)
    check(again)
    assert again.group("g") is None


def test_a_device_that_two_gangs_claim_goes_to_one_of_them_and_the_other_is_told() -> None:
    cluster = config(nodes("a"), A={"NODE": 1})
    one = bound(healthy(cluster), gang("one", "A", 4))
    two = bound(healthy(cluster), gang("two", "A", 2, priority=9))
    again, result = recovered(cluster, [*one, *two])
    assert set(result.missing) == {"one"}
    assert sorted(c.owner or "" for c in again.leaf_cells()) == ["one", "one", "two", "two"]


def test_a_pod_that_contradicts_its_gang_is_refused_alone() -> None:
    cluster = config(nodes("a", "b"), A={"NODE": 2})
    allocator = healthy(cluster)
    first, second = bound(allocator, gang("g", "A", 4, 4))
    liar = (second[0], first[1])
    stray = gang("h", "A", 1)[0]
    stray = replace(stray, spec=replace(stray.spec, leaf_cells=2))
    again, result = recovered(cluster, [first, liar, (stray, None)])
    assert set(result.refused) == {"g-1", "h-0"}
    assert again.group("h") is None
    assert status(again, "g").allocated == (first[0],)


def test_a_cell_that_stands_for_one_of_another_virtual_cluster_is_not_shared() -> None:
    cluster = config(nodes("a"), A={"NODE.SWITCH": 1}, B={"NODE.SWITCH": 1})
    pods: Bound = []
    for tenant, index in (("A", 0), ("B", 1)):
        place = PodPlacement("a", (index,), ("SWITCH",))
        pods.append((gang(tenant, tenant, 1)[0], BindInfo("a", (index,), "NODE", ((place,),))))
    _, result = recovered(cluster, pods)
    assert result.demoted == {"B": "a/0 is bound to A/0"}
