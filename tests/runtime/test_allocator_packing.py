"""Mixed gangs, pairings, and the choice between nodes: against searches that try everything."""

from __future__ import annotations

from functools import cache
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from runtime.placement.matching import match
from runtime.placement.packing import Class, fits, pack


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
