"""Requests that cannot be meant: an error that names the cause, and nothing changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from clusters import config, gang, healthy, nodes, rack, run
from invariants import check, picture

from runtime import Allocator, Bind, BindInfo, GangSpec, Member, Pod, PodPlacement, UserError

CLUSTER = config(
    [rack("a", "b", pinnedCellId="pin1"), rack("c", "d"), *nodes("o", kind="OLD-NODE")],
    A={"RACK.NODE": 1, "pin1": 0},
    B={"RACK.NODE": 1, "OLD-NODE": 1},
)


def changed(**more: object) -> Pod:
    pod = gang("g", "A", 2, 2)[0]
    return replace(pod, spec=replace(pod.spec, **more))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pod", "message"),
    [
        (changed(virtual_cluster="C"), "there is no virtual cluster C; there are A, B"),
        (changed(priority=1001), "priority must be -1 (opportunistic) to 1000, not 1001"),
        (changed(priority=-2), "priority must be -1 (opportunistic) to 1000, not -2"),
        (changed(leaf_cells=0), "a pod needs at least one leaf cell, not 0"),
        (changed(leaf_cells=3), "gang g has no member whose pods need 3 leaf cells"),
        (changed(gang=GangSpec("", ())), "the gang has no name"),
        (changed(gang=GangSpec("g", (Member(0, 2),))), "gang g: numbers of pods and leaf cells must be positive"),
        (changed(leaf_type="TPU"), "there are no leaf cells of type TPU; there are GPU, OLD"),
        (changed(leaf_type="OLD"), "virtual cluster A has no leaf cells of type OLD"),
        (changed(pinned_cell="pin2"), "virtual cluster A has no pinned cell pin2"),
        (changed(pinned_cell="pin1", priority=-1), "an opportunistic pod cannot ask for a pinned cell (pin1)"),
        (changed(pinned_cell="pin1", virtual_cluster="B"), "virtual cluster B has no pinned cell pin1"),
    ],
)
def test_what_a_pod_cannot_ask_for(pod: Pod, message: str) -> None:
    allocator = healthy(CLUSTER)
    before = picture(allocator)
    for ask in (allocator.schedule, allocator.submit):
        with pytest.raises(UserError) as error:
            ask(pod)
        assert str(error.value).startswith(message)
    assert picture(allocator) == before
    assert list(allocator.groups()) == []


def test_one_pod_more_than_a_gang_has() -> None:
    allocator = healthy(CLUSTER)
    pods = gang("g", "A", 1, 2)
    run(allocator, pods)
    before = picture(allocator)
    extra = replace(pods[0], uid="another", name="another")
    with pytest.raises(UserError, match="gang g already has all its 1 pods of 1 leaf cells"):
        allocator.schedule(extra)
    assert picture(allocator) == before
    allocator.delete(pods[0])
    answer = allocator.schedule(extra)
    assert isinstance(answer, Bind), "but it may take the place of one that is gone"


def test_a_pod_cannot_change_its_gang() -> None:
    allocator = healthy(CLUSTER)
    pod = gang("g", "A", 1)[0]
    run(allocator, [pod])
    other = replace(gang("h", "A", 1)[0], uid=pod.uid)
    with pytest.raises(UserError, match="belongs to gang g, and cannot move to h"):
        allocator.schedule(other)
    assert allocator.group("h") is None


def test_allocating_twice_is_allocating_once() -> None:
    allocator = healthy(CLUSTER)
    pods = gang("g", "A", 2, 2)
    bound = run(allocator, pods)
    before = picture(allocator)
    allocator.allocate(pods[0], bound[0].info)
    assert picture(allocator) == before


def test_a_pod_has_one_place() -> None:
    allocator = healthy(CLUSTER)
    pods = gang("g", "A", 2, 2)
    first = run(allocator, pods[:1])[0]
    other = allocator.schedule(pods[1])
    assert isinstance(other, Bind)
    before = picture(allocator)
    with pytest.raises(UserError, match="pod default/g-0 already has another place in gang g"):
        allocator.allocate(pods[0], other.info)
    with pytest.raises(UserError, match=r"leaf cells .* belong to another pod of gang g"):
        allocator.allocate(pods[1], first.info)
    assert picture(allocator) == before


def test_a_pod_of_no_size_of_its_gang() -> None:
    allocator = healthy(CLUSTER)
    pod, other = gang("g", "A", 1, 2)
    run(allocator, [pod])
    with pytest.raises(UserError, match="gang g has no member whose pods need 3 leaf cells"):
        allocator.schedule(replace(other, spec=replace(other.spec, leaf_cells=3)))


def test_a_pod_does_not_change_what_it_wants() -> None:
    allocator = healthy(CLUSTER)
    pod, _ = gang("g", "A", 1, 2)
    allocator.schedule(pod)
    with pytest.raises(UserError, match="pod default/g-0 wants 2 leaf cells, but wanted 1 before"):
        allocator.schedule(replace(pod, spec=replace(pod.spec, leaf_cells=2)))


def test_deleting_what_is_not_there_means_nothing() -> None:
    allocator = healthy(CLUSTER)
    before = picture(allocator)
    allocator.delete(gang("g", "A", 1)[0])
    assert picture(allocator) == before


Change = Callable[[BindInfo], BindInfo]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x: replace(x, node="b"), "gang h has no place on leaf cells 0, 1 of b for a pod of 2"),
        (lambda x: replace(x, gang=()), "the bind info has {} pods by leaf cell count, but gang h has {2: 1}"),
        (
            lambda x: replace(x, gang=((PodPlacement(x.node, (1, 1), ("NODE", "NODE")),),)),
            "the bind info of gang h names a device twice",
        ),
        (
            lambda x: replace(x, gang=((PodPlacement(x.node, (0, 1), ()),),)),
            "the bind info names 0 types for",
        ),
    ],
)
def test_bind_info_that_contradicts_itself(change: Change, message: str) -> None:
    allocator = healthy(CLUSTER)
    before = picture(allocator)
    place = PodPlacement("c", (0, 1), ("NODE", "NODE"))
    info = BindInfo("c", (0, 1), "RACK", ((place,),))
    with pytest.raises(UserError) as error:
        allocator.allocate(gang("h", "A", 2)[0], change(info))
    assert str(error.value).startswith(message)
    assert picture(allocator) == before
    assert allocator.group("h") is None


def test_a_place_that_somebody_else_has_taken_meanwhile() -> None:
    allocator = healthy(CLUSTER)
    first, second = gang("1", "A", 4)[0], gang("2", "A", 4)[0]
    one, two = allocator.schedule(first), allocator.schedule(second)
    assert isinstance(one, Bind)
    assert isinstance(two, Bind)
    assert (one.node, one.leaf_cells) == (two.node, two.leaf_cells), "asking reserves nothing"
    allocator.allocate(first, one.info)
    before = picture(allocator)
    with pytest.raises(UserError, match=f"gang 2 cannot have these places: device 0 of {one.node} is Used"):
        allocator.allocate(second, two.info)
    assert picture(allocator) == before
    check(allocator)


def test_a_place_that_is_free_still_but_promised_to_others() -> None:
    """Two answers, each right for itself; taken one after the other they would break a promise."""
    allocator = healthy(config(nodes("a", "b"), A={"NODE.SWITCH": 2}, B={"NODE": 1}))
    first, second = gang("1", "A", 2)[0], gang("2", "A", 2)[0]
    one = allocator.schedule(first, ["a", "b"])
    assert isinstance(one, Bind)
    other = "b" if one.node == "a" else "a"
    allocator.node_bad(one.node)
    two = allocator.schedule(second)
    assert isinstance(two, Bind)
    assert two.node == other
    allocator.allocate(first, one.info)
    before = picture(allocator)
    with pytest.raises(UserError, match=r"gang 2 can no longer have these places: .* is needed for what others"):
        allocator.allocate(second, two.info)
    assert picture(allocator) == before
    check(allocator)


def test_an_allocator_that_knows_pods_does_not_recover() -> None:
    allocator: Allocator = healthy(CLUSTER)
    run(allocator, gang("g", "A", 1))
    with pytest.raises(UserError, match="only an allocator that knows no pods"):
        allocator.recover([], {})


def test_a_type_of_which_a_virtual_cluster_has_no_cells_is_refused() -> None:
    """Also where the configuration has an entry for it. Opportunistic gangs may use it."""
    allocator = healthy(config([*nodes("a"), *nodes("b", kind="OLD-NODE")], A={"NODE": 1, "OLD-NODE": 0}))
    with pytest.raises(UserError, match="virtual cluster A has no leaf cells of type OLD; it has GPU"):
        allocator.schedule(gang("g", "A", 1, leaf_type="OLD")[0])
    assert isinstance(allocator.schedule(gang("h", "A", 1, leaf_type="OLD", priority=-1)[0]), Bind)
