"""Free lists, the index of nodes, and which leaf cells go together."""

from __future__ import annotations

from itertools import combinations
from random import Random

import pytest
from clusters import config, healthy, rack
from hypothesis import given
from hypothesis import strategies as st

from runtime import SafetyBrokenError
from runtime.cells import ALL, NodeIndex, PhysicalCell
from runtime.cells.bits import each, first, span
from runtime.cells.free import FreeLists
from runtime.config import Chain
from runtime.placement.leaves import nearest

CHAIN = Chain("ROW", ("", "GPU", "NODE", "RACK", "ROW"), (0, 0, 2, 3, 2), (0, 1, 2, 6, 12), 2)


def lists(tops: int = 2, promised: tuple[int, ...] = (0, 0, 0, 0, 0)) -> FreeLists:
    return FreeLists(CHAIN, tops, list(promised))


def test_sets_of_positions() -> None:
    assert list(each(0b101001)) == [0, 3, 5]
    assert first(0b101000) == 3
    assert span(2, 3) == 0b11100


def test_taking_a_cell_splits_what_it_is_in_and_giving_it_back_merges() -> None:
    books = lists(promised=(0, 1, 0, 0, 0))
    books.take(1, 5)
    assert books.free == [0, 1 << 4, 0b000011, 0b10, 0b10]
    assert books.count == [0, 1, 2, 1, 1]
    assert (books.holder(1, 4), books.holder(1, 0), books.holder(1, 7), books.holder(1, 5)) == (1, 2, 3, 0)
    assert [books.obtainable(level) for level in (1, 2, 3, 4)] == [1 + 4 + 6 + 12, 2 + 3 + 6, 1 + 2, 1]
    with pytest.raises(SafetyBrokenError, match="GPU 5 of ROW is not free"):
        books.copy().take(1, 5)
    books.give(1, 5)
    assert books.free == lists().free
    assert books.count == lists().count


def test_a_cell_is_split_only_if_all_promises_can_still_be_kept() -> None:
    assert lists(promised=(0, 1, 0, 0, 1)).may_split(1) == 4
    full = lists(promised=(0, 1, 0, 1, 1))
    assert full.spare() == [0, 5, 3, 1, 1]
    assert full.may_split(1) == 4
    full.take(3, 0)
    assert full.spare() == [0, 5, 3, 1, 0]
    assert full.may_split(1) == 3, "the row that is left is promised as a whole"


@given(st.randoms(use_true_random=False))
def test_buddy_allocation_serves_every_order_in_which_promised_cells_come_and_go(random: Random) -> None:
    promised = [0] * 5
    left = random.randint(1, 3)
    books = lists(left)
    for level in range(4, 0, -1):
        promised[level] = random.randint(0, left)
        left = (left - promised[level]) * CHAIN.fanout[level]
    books.promised = list(promised)
    before = (list(books.free), list(books.count))
    taken: list[tuple[int, int]] = []
    for _ in range(60):
        wanted = [level for level in range(1, 5) if books.promised[level]]
        if wanted and random.random() < 0.6:
            level = random.choice(wanted)
            held = random.randint(level, books.may_split(level))
            choice = list(each(books.free[held]))
            if not choice:
                assert any(books.free[above] for above in range(level, books.may_split(level) + 1))
                continue
            size = CHAIN.below(held, level)
            position = random.choice(choice) * size + random.randrange(size)
            books.take(level, position)
            taken.append((level, position))
        elif taken:
            books.give(*taken.pop(random.randrange(len(taken))))
        assert min(books.spare()) >= 0
        assert all(books.obtainable(level) >= books.promised[level] for level in range(1, 5)), "S17"
        assert books.count == [x.bit_count() for x in books.free]
    for level, position in taken:
        books.give(level, position)
    assert (books.free, books.count) == before


def test_an_index_is_made_when_it_is_asked_for_and_kept_right() -> None:
    index = NodeIndex([4, 4, 2])
    index.change(0, 5, 1)
    index.change(0, 7, 1)
    index.change(1, 9, 1)
    rooms = {room: x for room, x in index.rooms(6).items() if x}
    assert rooms == {3: 0b011, 2: 0b100}
    index.change(0, 7, -1)
    assert {room: x for room, x in index.rooms(6).items() if x} == {4: 0b001, 3: 0b010, 2: 0b100}
    assert dict(index.classes(6, ALL, 0b011)) == {(4, 3): 0b001, (3, 3): 0b010}
    for priority in range(100, 130):
        index.rooms(priority)
    assert index.rooms(6) == NodeIndex.rooms(index, 6)
    assert len(index._rooms) <= 16


def node() -> PhysicalCell:
    kinds = {"SWITCH": (2, "GPU"), "SOCKET": (2, "SWITCH"), "NODE": (2, "SOCKET")}
    types = {name: {"childCellType": child, "childCellNumber": n} for name, (n, child) in kinds.items()}
    types["NODE"]["isNodeLevel"] = True
    cells = {"cellTypes": types, "physicalCells": [{"cellType": "NODE", "cellAddress": "n"}]}
    return healthy({"physicalCluster": cells, "virtualClusters": {}}).cluster.forests["NODE"].levels[4][0]


def height(leaves: tuple[int, ...]) -> int:
    """The level of the smallest cell with all of these, in a tree of twos."""
    return max((a ^ b).bit_length() for a in leaves for b in leaves)


@given(st.sets(st.integers(0, 7), min_size=1), st.integers(1, 8))
def test_leaf_cells_are_as_close_as_can_be(free: set[int], size: int) -> None:
    if size > len(free):
        return
    cell = node()
    devices = {device: 0 for device in cell.devices() if device.index in free}
    chosen = tuple(device.index for device in nearest(cell, size, devices))
    assert len(set(chosen)) == size
    assert set(chosen) <= free
    assert height(chosen) == min(height(x) for x in combinations(sorted(free), size))


def test_the_cell_with_the_fewest_others_is_torn() -> None:
    cell = node()
    devices = {device: 0 for device in cell.devices() if device.index in (0, 1, 2, 3, 4, 5)}
    assert {d.index for d in nearest(cell, 2, devices)} == {4, 5}, "of whole switches the one in the half socket"
    devices = {device: 0 for device in cell.devices() if device.index in (0, 1, 2)}
    assert [d.index for d in nearest(cell, 1, devices)] == [2], "the half switch first"


def test_what_costs_less_is_taken_within_a_cell_but_closeness_comes_first() -> None:
    cell = node()
    costs = {device: (0 if device.index in (0, 2, 6) else 3) for device in cell.devices()}
    assert {d.index for d in nearest(cell, 2, costs)} == {0, 1}
    costs = {device: (0 if device.index in (6, 7) else 3) for device in cell.devices()}
    assert {d.index for d in nearest(cell, 2, costs)} == {6, 7}


def test_a_cluster_without_virtual_clusters_is_one_large_free_list() -> None:
    allocator = healthy(config([rack("a", "b"), rack("c", "d")]))
    assert allocator.cluster.forests["RACK"].lists.count == [0, 0, 0, 0, 2]
