"""Mixed gangs, pairings, and the choice between nodes: against searches that try everything."""

from __future__ import annotations

from functools import cache
from itertools import combinations, permutations
from types import SimpleNamespace
from typing import Any, cast

import pytest
from clusters import config, gang, healthy, row, run
from hypothesis import given
from hypothesis import strategies as st

from runtime.placement.assignment import assign_nodes
from runtime.placement.fewest import Budget, Fewest, _subsets
from runtime.placement.fitting import Fitting
from runtime.placement.free import FreeCells
from runtime.placement.matching import match
from runtime.placement.misfit import Misfit, misfit
from runtime.placement.packing import Class, fits, pack
from runtime.pods import OPPORTUNISTIC


def better(node: Class, size: int) -> tuple[int, ...]:
    return (max(size - node[1], 0), node[0])


def filled(node: Class, size: int) -> Class:
    return (node[0] - size, max(node[1] - size, 0))


def packed(rooms: list[int], sizes: list[int]) -> list[int] | None:
    """The rooms that the pods of a gang go to, where all that is in use can be displaced by nobody."""
    nodes = {(room, room): rooms.count(room) for room in rooms}
    chosen = pack(nodes, sorted(sizes, reverse=True), better, filled)
    return None if chosen is None else [room for room, _ in chosen]


def possible(rooms: list[int], sizes: list[int]) -> bool:
    @cache
    def rest(left: tuple[int, ...], todo: tuple[int, ...]) -> bool:
        if not todo:
            return True
        size = todo[0]
        return any(
            rest(tuple(sorted((*left[:i], room - size, *left[i + 1 :]))), todo[1:])
            for i, room in enumerate(left)
            if room >= size
        )

    return rest(tuple(sorted(rooms)), tuple(sorted(sizes, reverse=True)))


@given(st.lists(st.integers(1, 8), min_size=1, max_size=5), st.lists(st.integers(1, 8), min_size=1, max_size=7))
def test_a_gang_is_packed_whenever_it_can_be(rooms: list[int], sizes: list[int]) -> None:
    chosen = packed(rooms, sizes)
    assert (chosen is not None) == possible(rooms, sizes)
    if chosen is None:
        return
    left = sorted(rooms)
    for size, room in zip(sorted(sizes, reverse=True), chosen, strict=True):
        left.remove(room)
        left.append(room - size)
        assert room >= size


def test_the_gang_that_a_greedy_walk_refuses() -> None:
    assert packed([3, 3], [1, 1, 2, 2]) is not None


def test_best_fit_alone_would_refuse_this_one() -> None:
    """The first 3 fits exactly best into the 4, and then the 2s have no place."""
    assert packed([6, 4], [3, 3, 2, 2]) == [6, 3, 4, 2]


def test_the_fullest_nodes_are_filled_first() -> None:
    assert packed([8, 3, 5], [2, 2, 2]) == [3, 5, 3]


def test_a_necessary_condition_that_is_sufficient_for_one_size() -> None:
    assert fits({3: 2, 4: 1}, [2, 2, 2, 2])
    assert not fits({3: 2, 4: 1}, [2, 2, 2, 2, 2])
    assert not fits({8: 1, 1: 9}, [2, 2, 2, 2, 2])
    assert fits({3: 2}, [3, 2, 1]), "which does not mean that a mixed gang fits"


@given(st.integers(0, 5), st.integers(0, 5), st.data())
def test_as_many_as_possible_are_paired(lefts: int, rights: int, data: st.DataObject) -> None:
    edges = data.draw(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4))))
    chosen = match(range(lefts), range(rights), lambda a, b: (a, b) in edges)
    pairs = [(a, b) for a, b in enumerate(chosen) if b is not None]
    assert len({b for _, b in pairs}) == len(pairs)
    assert set(pairs) <= edges
    slots = [*range(rights), *([-1] * lefts)]
    most = max(sum((a, b) in edges for a, b in enumerate(x)) for x in permutations(slots, lefts)) if lefts <= 3 else 0
    assert len(pairs) >= most


def test_three_siblings_that_need_two_steps_back() -> None:
    edges = {(0, 0), (0, 1), (1, 1), (1, 2), (2, 0)}
    assert match("abc", "xyz", lambda a, b: ("abc".index(a), "xyz".index(b)) in edges) == [1, 2, 0]


# Close together ------------------------------------------------------------------------------------------------------


def around(node: int, above: int) -> int:
    """The nodes in a cell of a tree of eight nodes, halved at each level."""
    count = 1 << above
    return 0 if above > 3 else ((1 << count) - 1) << node // count * count


def seated(nodes: set[int], pods: int, shunned: int = 0) -> list[int] | None:
    """Where so many pods go, each of which takes one of these nodes."""
    return assign_nodes({(1, 1): sum(1 << x for x in nodes)}, [1] * pods, better, filled, around, shunned)


def test_a_gang_gets_the_smallest_cell_that_has_all_its_nodes() -> None:
    assert seated({1, 2, 3, 6}, 2) == [2, 3]
    assert seated({1, 4, 5, 6}, 3) == [4, 5, 6], "not in a cell of two nodes, but in one of four"
    assert seated({1, 4, 5, 6}, 4) == [1, 4, 5, 6]


def test_shunned_nodes_come_last() -> None:
    assert seated({0, 1, 4, 6, 7}, 2, shunned=0b11) == [6, 7]
    assert seated({0, 1, 4}, 2, shunned=0b11) == [4, 0]
    assert seated({0, 3}, 2, shunned=0b1001) == [0, 3]


def _cell(level: int, parent: SimpleNamespace | None) -> SimpleNamespace:
    return SimpleNamespace(level=level, parent=parent)


def test_a_gang_that_grows_stays_around_all_that_it_has() -> None:
    root = _cell(3, None)
    left, right = _cell(2, root), _cell(2, root)
    near, far = _cell(1, left), _cell(1, left)
    tops = cast(Any, [_cell(0, None)])
    search = FreeCells(cast(Any, SimpleNamespace(forest=None)), tops, ())
    one, other, third = _cell(0, near), _cell(0, far), _cell(0, right)
    assert [*search._around(cast(Any, [one]))] == [near, left, root]
    assert [*search._around(cast(Any, [one, other]))] == [left, root]
    assert [*search._around(cast(Any, [one, other, third]))] == [root]
    assert [*search._around(cast(Any, [one, _cell(0, _cell(1, None))]))] == []


def test_a_gang_that_fills_a_cell_gets_one_of_its_own() -> None:
    allocator = healthy(config([row("a", "b", "c", "d")], A={"ROW.RACK.NODE": 4}))
    (first,) = run(allocator, gang("first", "A", 4))
    assert first.node == "a"
    assert [x.node for x in run(allocator, gang("second", "A", 4, 4))] == ["c", "d"]
    assert [x.node for x in run(allocator, gang("third", "A", 4))] == ["b"]


# Whom to displace ----------------------------------------------------------------------------------------------------


def displaced(size: int, number: int) -> Any:
    return SimpleNamespace(virtual=range(size), number=number)


@given(st.lists(st.integers(1, 4), max_size=6), st.integers(1, 12))
def test_all_sets_of_few_devices_are_tried_small_ones_first(sizes: list[int], most: int) -> None:
    gangs = [displaced(x, n) for n, x in enumerate(sorted(sizes))]
    tried = [tuple(x.number for x in cast(Any, chosen)) for chosen in _subsets(gangs, most)]
    weights = [sum(len(gangs[i].virtual) for i in chosen) for chosen in tried]
    assert weights == sorted(weights)
    every = [c for n in range(1, len(gangs) + 1) for c in combinations(range(len(gangs)), n)]
    assert sorted(tried) == sorted(c for c in every if sum(len(gangs[i].virtual) for i in c) < most)


class Told(Fewest):
    """A search whose attempts end as the test says: only where two gangs may be displaced is there another way."""

    def __init__(self, first_way: list[Any], rivals: list[Any]) -> None:
        self.first_way, self.rivals = first_way, rivals
        self.asked: list[list[int]] = []

    def any(self) -> Any:
        return devices(self.first_way)

    def _least(self) -> int:
        return 0

    def _rivals(self) -> list[Any]:
        return self.rivals

    def _attempt(self, victims: Any) -> Any:
        self.asked.append(sorted(x.number for x in victims))
        return devices(self.rivals[:2]) if {*self.rivals[:2]} <= victims else Misfit(0)


def devices(gangs: list[Any]) -> dict[Any, Any]:
    return {n: SimpleNamespace(priority=OPPORTUNISTIC, gang=x) for n, x in enumerate(gangs)}


class Numbered:
    def __init__(self, number: int, size: int) -> None:
        self.number, self.virtual = number, range(size)


def test_other_gangs_are_displaced_where_they_have_fewer_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("runtime.placement.fewest.owner", lambda device: device.gang)
    first_way, rivals = [Numbered(1, 4), Numbered(2, 3)], [Numbered(3, 1), Numbered(4, 2), Numbered(5, 5)]
    search = Told(first_way, rivals)
    found = search.best(Budget())
    assert [x.gang.number for x in cast(Any, found).values()] == [3, 4]
    assert search.asked == [[2], [1], [3], [4], [3, 4]], "those of the first way are spared, then sets rise by size"
    hurried, little = Told(first_way, rivals), Budget()
    little.left = 3
    assert [x.gang.number for x in cast(Any, hurried.best(little)).values()] == [1, 2]
    assert hurried.asked == [[2], [1], [3]]


# What numbers say ----------------------------------------------------------------------------------------------------


class Cell:
    """What numbers of use are kept of."""

    def __init__(self, level: int, position: int, parent: Cell | None = None, used: int = 0) -> None:
        self.level, self.position, self.parent, self.opportunistic = level, position, parent, used
        self.chain = CHAIN
        self.node = self if level == 1 else None


CHAIN = SimpleNamespace(node=1, leaves=[1, 2, 4])


def test_nodes_have_room_when_all_who_use_them_may_go() -> None:
    """Four nodes of two leaf cells, all in use, and a free one. A gang has all of the first and of the last of these,
    and half of the second."""
    nodes = [Cell(1, n, None, 2) for n in range(4)]
    going = [Cell(0, 0, nodes[0], 1), Cell(0, 1, nodes[0], 1), Cell(0, 2, nodes[1], 1)]
    going += [Cell(0, 6, nodes[3], 1), Cell(0, 7, nodes[3], 1)]
    forest: Any = SimpleNamespace(chain=CHAIN, by_opportunistic=[{}, {0: 0b10000, 2: 0b1111}])
    candidates: Any = SimpleNamespace(nodes=lambda _: 0b11111)

    def usable(least: int) -> int:
        wanted: Any = SimpleNamespace(least=lambda: least)
        victims: Any = [SimpleNamespace(virtual=going)]
        return Fitting(forest, wanted, candidates, victims).usable

    assert usable(2) == 0b11001, "the free one, and those that the gang has alone"
    assert usable(1) == 0b11011


def test_where_nodes_are_many_enough_one_node_less_is_wanted() -> None:
    wanted_nodes = [SimpleNamespace(level=1, parent=None, spot=3)]
    wanted: Any = SimpleNamespace(nodes_in=lambda _: wanted_nodes)
    cell: Any = SimpleNamespace(chain=CHAIN, level=1)
    assert misfit(cell, wanted, [], [cast(Any, Cell(1, 2))], 0b100) == Misfit(0b1000)
