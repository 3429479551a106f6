"""The books of a simulation: rooms of nodes, levels over time, queues, quantiles."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from clusters import config, nodes, rack
from hypothesis import given, settings
from hypothesis import strategies as st
from simulating import RACKS, request
from tiers import share

from runtime import Allocator
from runtime.config import read_configuration
from runtime.simulate.figures import quantile
from runtime.simulate.job import Job
from runtime.simulate.ledger import Ledger, width_for
from runtime.simulate.queues import Queue, QueueKey, Shape, implied
from runtime.simulate.quotas import capacity, promised, quota
from runtime.simulate.rooms import Rooms


def most_gangs(free: dict[str, list[int]], size: int, devices: int) -> int:
    """How many gangs fit, by trying: on one node each, or on whole nodes of one chain."""
    if devices <= size:
        return sum(n // devices for own in free.values() for n in own)
    return sum(sum(n == size for n in own) // (devices // size) for own in free.values())


@given(st.integers(0, 2**32))
@settings(max_examples=share(60), deadline=None)
def test_what_is_stranded_is_what_the_most_gangs_leave_over(seed: int) -> None:
    random = Random(seed)
    read = read_configuration(config([rack("a", "b"), rack("c", "d")], A={"RACK": 2}))
    rooms = Rooms(read)
    free = {"RACK": [4, 4, 4, 4]}
    for place, node in enumerate("abcd"):
        taken = random.randint(0, 4)
        rooms.change("RACK", node, -taken)
        free["RACK"][place] -= taken
        if random.random() < 0.25:
            rooms.set_health(node, healthy=False)
            free["RACK"][place] = 0
    total = sum(free["RACK"])
    assert rooms.free() == total
    for devices in (1, 2, 3, 4, 8, 16):
        gangs = most_gangs(free, 4, devices)
        assert rooms.stranded(devices) == total - gangs * devices
        sizes = (devices,) if devices <= 4 else (4,) * (devices // 4)
        assert rooms.may_fit("", sizes) == (gangs > 0)
    assert not rooms.may_fit("NOTHING", (1,))


def test_nodes_are_named_as_the_allocator_names_them() -> None:
    explicit = {"cellType": "RACK", "cellAddress": "r", "cellChildren": [{"cellAddress": "x"}, {"cellAddress": "y"}]}
    for configuration in (RACKS, config([explicit, *nodes("z")], A={"NODE": 1})):
        read = read_configuration(configuration)
        allocator = Allocator(read)
        cells = list(allocator.leaf_cells())
        rooms = Rooms(read)
        assert set(rooms.nodes) == {cell.node for cell in cells}
        assert capacity(read) == len(cells)
        assert {n: rooms.devices(n) for n in rooms.nodes} == {n: sum(c.node == n for c in cells) for n in rooms.nodes}


def test_what_virtual_clusters_are_promised() -> None:
    pinned = rack("a", "b", pinnedCellId="pin1")
    read = read_configuration(
        config([pinned, rack("c", "d")], A={"pin1": 0, "RACK.NODE": 1}, B={"RACK.NODE.SWITCH": 2})
    )
    assert quota(read, "A") == {"RACK": 4}
    assert promised(read, "A") == 12
    assert promised(read, "B") == 4


def test_levels_are_averaged_over_intervals() -> None:
    ledger = Ledger(10, cut=25)
    level = ledger.level("x")
    now = {"value": 0.0}
    ledger.sample("s", lambda: now["value"])
    for time, by in ((4, 2), (12, 1), (12, 1), (31, -4)):
        ledger.advance(time)
        level.change(time, by)
        now["value"] = level.value
        ledger.count("moves")
    ledger.finish(34)
    assert ledger.ends == [10, 20, 25, 30, 34]
    assert ledger.averages("x") == pytest.approx([1.2, (2 * 2 + 4 * 8) / 10, 4, 4, 1])
    assert ledger.total("x") == 12 + 36 + 20 + 20 + 4
    assert ledger.total("x", until=25) == 68
    assert ledger.sampled["s"] == [2, 4, 4, 4, 0]
    assert ledger.sums("moves") == [1, 2, 0, 0, 1]
    assert ledger.sums("nothing") == [0] * 5


def test_the_interval_follows_the_length_of_the_workload() -> None:
    assert width_for(0) == 60
    assert width_for(86400) == 300
    assert width_for(30 * 86400) == 7200


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.floats(0, 1))
def test_quantiles_are_between_what_there_is(values: list[int], share: float) -> None:
    ordered = sorted(map(float, values))
    found = quantile(ordered, share)
    assert ordered[0] <= found <= ordered[-1]
    assert sum(v <= found + 1e-9 for v in ordered) >= share * (len(ordered) - 1)


def queue(backfill: int = 50) -> Queue:
    return Queue(QueueKey("A", True), backfill)


def test_a_queue_asks_for_each_shape_once() -> None:
    waiting = queue()
    jobs = [Job(request(f"g{n}", at=n, each=n % 3 + 1), n) for n in range(9)]
    for job in jobs:
        waiting.add(job)
    asked = []
    while (found := waiting.next()) is not None:
        asked.append(found.request.gang)
        waiting.refuse(found)
    assert asked == ["g0"], "whoever needs more is refused with it"
    assert not waiting.awake
    waiting.anything_new()
    first = waiting.next()
    assert first is jobs[0]
    waiting.take(jobs[0])
    waiting.refuse(jobs[1])
    assert waiting.next() is jobs[3]
    assert waiting.length == 8


def test_the_first_of_a_queue_is_overtaken_only_so_often() -> None:
    waiting = queue(backfill=2)
    jobs = [Job(request(f"g{n}", at=n, each=4 if n == 0 else 1), n) for n in range(6)]
    for job in jobs:
        waiting.add(job)
    waiting.refuse(jobs[0])
    began = []
    while (found := waiting.next()) is not None:
        waiting.take(found)
        began.append(found.request.gang)
    assert began == ["g1", "g2"]
    waiting.anything_new()
    assert waiting.next() is jobs[0]


def test_who_waits_long_enough_holds_up_those_who_want_the_same() -> None:
    waiting = queue(backfill=1)
    kinds = ("H100", "", "A100", "H100", "")
    jobs = [Job(request(f"g{n}", at=n, each=8 - n, leaf_type=kind), n) for n, kind in enumerate(kinds)]
    for job in jobs:
        waiting.add(job)
    waiting.refuse(jobs[0])
    began = []
    while (found := waiting.next()) is not None:
        waiting.take(found)
        began.append(found.request.gang)
    assert began == ["g1", "g2"], "g3 and g4 may want what g0 has waited for long enough"
    assert jobs[0].overtaken == 1


def test_who_takes_any_type_is_refused_for_all_types() -> None:
    waiting = queue()
    jobs = [Job(request(f"g{n}", at=n, each=2, leaf_type=kind), n) for n, kind in enumerate(("", "A100", "H100"))]
    for job in jobs:
        waiting.add(job)
    waiting.refuse(jobs[1])
    assert waiting.next() is jobs[0]
    waiting.refuse(jobs[0])
    assert waiting.next() is None


def test_larger_and_weaker_shapes_are_implied() -> None:
    shapes = [Shape(p, s) for p in (0, 5) for s in ((1,), (2,), (2, 1), (2, 2), (3, 1, 1))]
    for refused, shape in combinations(shapes, 2):
        (strong, small), (priority, sizes) = refused, shape
        fits_inside = len(small) <= len(sizes) and all(a <= b for a, b in zip(small, sizes, strict=False))
        assert implied(refused, shape) == (priority <= strong and fits_inside)
