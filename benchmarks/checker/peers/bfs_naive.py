"""A breadth-first search of HiveD-lite in straightforward Python: the oracle for all other models.

Usage: python bfs_naive.py GROUPS CELLS SIZE [symmetric]. With `symmetric` cells are sorted in every state, which leaves
one state of those that differ only in which cell is which.

A state is (groups, cells). A group is one of P E A B D: Pending, prEempting, Allocated, Being preempted, Deleted; its
index is its priority. A cell is (kind, user, reserver), the kind one of F U G R: Free, Used, reservinG, Reserved; user
and reserver are the index of a group, or -1.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import combinations
from time import perf_counter

Cell = tuple[str, int, int]
State = tuple[tuple[str, ...], tuple[Cell, ...]]
Choices = list[tuple[int, ...]]

FREE: Cell = ("F", -1, -1)


def call_off(cells: list[Cell], group: int) -> None:
    """Release every reservation of a group."""
    for c, (kind, user, reserver) in enumerate(cells):
        if reserver == group:
            cells[c] = ("U", user, -1) if kind == "G" else FREE


def eligible(groups: tuple[str, ...], cell: Cell, group: int) -> bool:
    """May a group choose a cell?"""
    kind, user, reserver = cell
    if kind == "F":
        return True
    if user >= group and groups[user] != "B":
        return False
    return reserver < group


def scheduled(before: tuple[str, ...], cells_before: tuple[Cell, ...], g: int, choice: tuple[int, ...]) -> State:
    """What follows when a group is scheduled on cells."""
    groups, cells = list(before), list(cells_before)
    preempts = any(cells[c][0] in "UG" for c in choice)
    for c in choice:
        former = cells[c][2]
        if former >= 0:
            groups[former] = "P"
            call_off(cells, former)
    for c in choice:
        kind, user, _ = cells[c]
        if not preempts:
            cells[c] = ("U", g, -1)
        elif kind == "U":
            cells[c] = ("G", user, g)
            groups[user] = "B"
        else:
            cells[c] = ("R", -1, g)
    groups[g] = "E" if preempts else "A"
    return tuple(groups), tuple(cells)


def successors(state: State, choices: Choices) -> Iterator[State]:
    """What can follow, step by step."""
    groups, cells = state
    for g, was in enumerate(groups):
        if was == "P":
            for choice in choices:
                for c in choice:
                    if not eligible(groups, cells[c], g):
                        break
                else:
                    yield scheduled(groups, cells, g, choice)
        elif was == "B":
            awaited = [("R", -1, x[2]) if x[0] == "G" else FREE for x in cells]
            yield changed(groups, g, "D"), tuple(y if x[1] == g else x for x, y in zip(cells, awaited, strict=True))
        elif was == "E":
            if all(x[0] == "R" for x in cells if x[2] == g):
                yield changed(groups, g, "A"), tuple(("U", g, -1) if x[2] == g else x for x in cells)
            left = list(cells)
            call_off(left, g)
            yield changed(groups, g, "D"), tuple(left)
        elif was == "A":
            yield changed(groups, g, "D"), tuple(FREE if x[1] == g else x for x in cells)
        else:
            yield changed(groups, g, "P"), cells
    if "E" in groups or "B" in groups:
        after = tuple({"E": "P", "B": "A"}.get(x, x) for x in groups)
        yield after, tuple(("U", x[1], -1) if x[1] >= 0 else FREE for x in cells)


def changed(groups: tuple[str, ...], g: int, to: str) -> tuple[str, ...]:
    """The groups with one in another state."""
    return (*groups[:g], to, *groups[g + 1 :])


def holds(state: State, size: int) -> bool:
    """The invariants."""
    groups, cells = state
    for kind, user, reserver in cells:
        if kind == "F":
            right = user < 0 and reserver < 0
        elif kind == "U":
            right = user >= 0 and groups[user] in "AB" and reserver < 0
        elif kind == "G":
            right = user >= 0 and groups[user] == "B" and reserver >= 0 and groups[reserver] == "E"
        else:
            right = user < 0 and reserver >= 0 and groups[reserver] == "E"
        if not right:
            return False
    return all(sum(x[1] == g for x in cells) == size for g, was in enumerate(groups) if was == "A")


def main(group_count: int, cell_count: int, size: int, symmetric: bool) -> None:
    """Search, and print the counts."""
    begun = perf_counter()
    choices = list(combinations(range(cell_count), size))
    first: State = (("P",) * group_count, (FREE,) * cell_count)
    seen, level = {first}, [first]
    transitions = depth = 0
    while True:
        next_level = []
        for state in level:
            for after in successors(state, choices):
                transitions += 1
                if symmetric:
                    after = after[0], tuple(sorted(after[1]))
                if after not in seen:
                    assert holds(after, size), after
                    seen.add(after)
                    next_level.append(after)
        if not next_level:
            break
        level, depth = next_level, depth + 1
    seconds = perf_counter() - begun
    print(f"states={len(seen)} transitions={transitions} depth={depth} seconds={seconds:.3f}")


if __name__ == "__main__":
    asked_groups, asked_cells, asked_size = map(int, sys.argv[1:4])
    main(asked_groups, asked_cells, asked_size, "symmetric" in sys.argv)
