"""Which pods of a gang share a node, decided on numbers alone.

Nodes are told apart only by their class: the room that they have, and whatever else makes one node better than
another. Nodes of one class can stand in for each other, which keeps the search small: it fills in the largest pods
first, each into the best class, and only when that fails does it go back. For pods of one size that never happens.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

Class: TypeAlias = tuple[int, int]
"""The room of a node at the priority of the gang, and its room at another priority."""

MAX_PARTIAL_PLACEMENTS = 20_000
"""Maximum number of partial placements that are examined for a gang of mixed sizes."""


def fits(room: Mapping[int, int], sizes: Sequence[int]) -> bool:
    """Whether a gang can fit at all: for each size, pods of that size or larger count as if of that size.

    Necessary; and sufficient where all pods are of one size.
    """
    most = sum(size for size in sizes)
    if most > sum(free * nodes for free, nodes in room.items()):
        return False
    needed: dict[int, int] = {}
    for size in sizes:
        needed[size] = needed.get(size, 0) + 1
    count = 0
    for size in sorted(needed, reverse=True):
        count += needed[size]
        if count > sum(free // size * nodes for free, nodes in room.items()):
            return False
    return True


def holds(rooms: Mapping[int, int], pieces: Mapping[int, int]) -> bool:
    """Whether rooms hold pieces of some sizes, each of them whole; both as how many there are of a size."""
    sizes = sorted((size for size, count in pieces.items() for _ in range(count if size else 0)), reverse=True)
    nodes = {(room, 0): count for room, count in rooms.items()}
    return pack(nodes, sizes, lambda node, _: node, lambda node, size: (node[0] - size, 0)) is not None


def impossible(rooms: Mapping[int, int], sizes: Sequence[int]) -> bool:
    """Whether it is certain that a gang does not fit into empty nodes: how many there are by room. Sizes fall."""
    nodes = {(room, 0): count for room, count in rooms.items()}
    chosen, complete = _search(nodes, sizes, lambda node, _: node, lambda node, size: (node[0] - size, 0))
    return chosen is None and complete


def pack(
    nodes: Mapping[Class, int],
    sizes: Sequence[int],
    better: Callable[[Class, int], tuple[int, ...]],
    filled: Callable[[Class, int], Class],
) -> list[Class] | None:
    """The class of the node of each pod, at the time when its turn comes; none where the gang does not fit.

    `nodes` counts nodes by class, `sizes` fall; `better` orders the classes for a pod of a size, lowest first, and
    `filled` is the class of a node that has taken such a pod.
    """
    return _search(nodes, sizes, better, filled)[0]


def _search(
    nodes: Mapping[Class, int],
    sizes: Sequence[int],
    better: Callable[[Class, int], tuple[int, ...]],
    filled: Callable[[Class, int], Class],
) -> tuple[list[Class] | None, bool]:
    """The same, and whether the search was complete: where it was not, there may be a way."""
    left = {c: n for c, n in nodes.items() if n}
    room: dict[int, int] = {}
    for (free, _), n in left.items():
        room[free] = room.get(free, 0) + n
    if not fits(room, sizes):
        return None, True
    chosen: list[Class] = []
    open_choices: list[list[Class]] = []
    failed: set[tuple[int, frozenset[tuple[Class, int]]]] = set()
    mixed = len(set(sizes)) > 1
    looked = 0
    while len(chosen) < len(sizes):
        size, turn = sizes[len(chosen)], len(chosen)
        if len(open_choices) == turn:
            looked += 1
            state = (turn, frozenset(left.items())) if mixed and looked > 2 * len(sizes) else None
            fitting = [] if state in failed else [c for c in left if c[0] >= size]
            open_choices.append(sorted(fitting, key=lambda c: better(c, size), reverse=True))
        if open_choices[-1]:
            choice = open_choices[-1].pop()
            _move(left, choice, filled(choice, size))
            chosen.append(choice)
            continue
        if not mixed or looked > MAX_PARTIAL_PLACEMENTS or not chosen:
            return None, looked <= MAX_PARTIAL_PLACEMENTS
        failed.add((turn, frozenset(left.items())))
        open_choices.pop()
        choice = chosen.pop()
        _move(left, filled(choice, sizes[len(chosen)]), choice)
    return chosen, True


def _move(nodes: dict[Class, int], source: Class, target: Class) -> None:
    """One node changes class."""
    if nodes[source] == 1:
        del nodes[source]
    else:
        nodes[source] -= 1
    nodes[target] = nodes.get(target, 0) + 1
