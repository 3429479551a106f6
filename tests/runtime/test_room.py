"""The largest gang that fits now is the largest one that is placed when it asks: tried out, on random clusters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from clusters import AnyAllocator, config, gang, healthy, nodes, rack, run
from histories import History

from runtime import Bind
from runtime.cells import Cluster
from runtime.room import MAX_PODS, MAX_SCANNED, Kind, Room, fits, free, kinds, most, opportunistic, search


def all_rooms(allocator: AnyAllocator) -> list[Room]:
    """Of opportunistic gangs, and of each virtual cluster."""
    cluster = allocator.cluster
    return [
        *opportunistic(cluster),
        *(room(cluster, kind) for name in cluster.tenants for kind in kinds(cluster, name)),
    ]


def room(cluster: Cluster, kind: Kind) -> Room:
    """Of guaranteed gangs of a kind."""
    pods, exact, _ = trials(most(cluster, kind), lambda pods: fits(cluster, kind, pods))
    return Room(kind, pods, free(cluster, kind), exact)


def largest(allocator: AnyAllocator, kind: Kind) -> int:
    """The most pods of a gang that is placed when it asks, without anybody having to leave: all numbers are tried."""
    devices = sum(1 for _ in allocator.leaf_cells())
    tenant = kind.tenant or next(iter(allocator.cluster.tenants))
    placed = 0
    for count in range(1, devices // kind.size + 1):
        pods = gang(
            "asks", tenant, *[kind.size] * count, priority=0 if kind.tenant else -1, leaf_type=kind.leaf_type,
            pinned_cell=kind.pinned,
        )  # fmt: skip
        if isinstance(allocator.schedule(pods[0]), Bind):
            placed = count
        allocator.delete(pods[0])
    return placed


def free_devices(allocator: AnyAllocator, kind: Kind) -> int:
    """Counted one by one."""
    if not kind.tenant:
        cells = (x for x in allocator.leaf_cells() if x.healthy and x.owner is None and x.reserver is None)
        types = {name: forest.chain.leaf_type for name, forest in allocator.cluster.forests.items()}
        return sum(types[x.chain] == kind.leaf_type for x in cells)
    tenant = allocator.cluster.tenants[kind.tenant]
    tops = [x for x in tenant.tops if x.pinned == kind.pinned and x.chain.leaf_type == kind.leaf_type]
    return sum(leaf.priority < 0 for top in tops for leaf in top.leaves())


def compared(seed: int, steps: int = 24) -> Counter[str]:
    """What there was in a random history, after every third step of which all answers are tried out."""
    seen: Counter[str] = Counter()
    history = History(seed, None)
    for step in range(steps):
        history.step()
        if step % 3:
            continue
        for found in all_rooms(history.allocator):
            assert found.exact
            assert found.pods == largest(history.allocator, found.kind), (seed, step, found)
            assert found.free == free_devices(history.allocator, found.kind), (seed, step, found)
            assert 0 <= found.fragmentation <= 1
            seen["opportunistic" if not found.kind.tenant else "pinned" if found.kind.pinned else "guaranteed"] += 1
            seen["fragmented"] += 0 < found.fragmentation < 1
            seen["full"] += found.free == 0
    return seen


def test_it_is_what_the_allocator_answers() -> None:
    seen = sum((compared(seed) for seed in (0, 4, 9)), Counter[str]())
    assert all(seen[what] for what in ("opportunistic", "guaranteed", "pinned", "fragmented", "full")), seen


@pytest.mark.full(reason="a minute: each number of pods is tried")
@pytest.mark.parametrize("seed", range(100, 160))
def test_it_is_what_the_allocator_answers_in_many_clusters(seed: int) -> None:
    compared(seed)


def found(allocator: AnyAllocator, tenant: str, size: int) -> tuple[int, int]:
    """The devices of the largest gang, and the free ones."""
    (one,) = [x for x in all_rooms(allocator) if (x.kind.tenant, x.kind.size, x.kind.pinned) == (tenant, size, "")]
    return one.devices, one.free


def test_free_devices_in_pieces_are_of_no_use_for_whole_nodes() -> None:
    allocator = healthy(config(nodes(*"abcd"), A={"NODE": 4}))
    for name in "uvw":
        run(allocator, gang(name, "A", 3))
    assert found(allocator, "A", 4) == found(allocator, "", 4) == (4, 7)
    assert found(allocator, "A", 2) == (4, 7), "pods of two devices have a switch of their own only on an empty node"
    assert found(allocator, "A", 1) == found(allocator, "", 1) == (7, 7)


def test_a_gang_is_in_one_chain() -> None:
    allocator = healthy(config([rack("a", "b"), *nodes("c")], A={"RACK": 1, "NODE": 1}))
    assert found(allocator, "A", 4) == found(allocator, "", 4) == (8, 12)


def test_devices_that_are_lent_are_free_for_their_owner_and_not_at_once() -> None:
    allocator = healthy(config(nodes("a", "b"), A={"NODE": 1}, B={"NODE": 1}))
    run(allocator, gang("cheap", "B", 4, priority=-1))
    run(allocator, gang("own", "B", 4))
    assert found(allocator, "A", 4) == (0, 4)
    assert found(allocator, "", 4) == (0, 0)


def trials(bound: int, fit: Callable[[int], bool]) -> tuple[int, bool, int]:
    """The largest number of pods found, whether it is certain, and the number of trials."""
    search_of, tried, pods = search(bound), 0, -1
    while True:
        try:
            pods = next(search_of) if pods < 0 else search_of.send(fit(pods))
            tried += 1
        except StopIteration as end:
            return *end.value, tried


def test_only_halves_are_tried_of_large_gangs() -> None:
    """Of a thousand sizes, those near the bound one by one, and some others."""
    assert trials(1000, lambda n: n <= 1000) == (1000, True, 1)
    assert trials(1000, lambda n: n <= 997) == (997, False, 4), "other victims of larger gangs were not looked for"
    assert trials(22, lambda n: n <= 20) == (20, True, 3)
    assert trials(1000, lambda n: n <= 300) == (300, False, MAX_SCANNED + 10)
    assert trials(1000, lambda n: False)[:2] == (0, False)
    assert trials(2000, lambda n: True) == (MAX_PODS, False, 1), "a larger one may fit"
    assert trials(MAX_PODS, lambda n: True) == (MAX_PODS, True, 1)
    assert trials(10, lambda n: False) == (0, True, 10)
    assert trials(0, lambda n: False) == (0, True, 0)


def test_a_larger_gang_is_found_where_smaller_ones_do_not_fit() -> None:
    """A single pod goes to a node that is in use already, where a device is lent; two go to an empty one."""
    assert trials(6, lambda n: n == 2) == (2, True, 5)
