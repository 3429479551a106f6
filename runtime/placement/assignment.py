"""Assigns the pods of a gang to nodes, after `packing` has chosen the class of node for each pod."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from runtime.cells.bits import first
from runtime.placement.packing import Class, pack

Around: TypeAlias = Callable[[int, int], int]
"""The nodes in the cell a number of levels above a node; none where there is no such cell."""

MAX_REGIONS = 32
"""Maximum number of cells of a level that are searched for one with all the nodes that a gang needs."""


def assign_nodes(
    nodes: Mapping[Class, int],
    sizes: Sequence[int],
    better: Callable[[Class, int], tuple[int, ...]],
    filled: Callable[[Class, int], Class],
    around: Around,
    shunned: int = 0,
) -> list[int] | None:
    """The node of each pod, for sets of nodes by class; none where the gang does not fit.

    Nodes that already have a pod of the gang come first within their class, then those first in the tree. A gang that
    needs several nodes gets them out of the smallest cell that has them, if one is found; shunned nodes come last.
    """
    classes = pack({c: bits.bit_count() for c, bits in nodes.items()}, sizes, better, filled)
    if classes is None:
        return None
    assignments = _assign(nodes, sizes, classes, filled, shunned)
    if len(set(assignments)) > 1:
        close = _close(nodes, _needed(sizes, classes, filled), around, shunned)
        if close is not None:
            return _assign(close, sizes, classes, filled, shunned)
    return assignments


def _assign(
    nodes: Mapping[Class, int],
    sizes: Sequence[int],
    classes: Sequence[Class],
    filled: Callable[[Class, int], Class],
    shunned: int,
) -> list[int]:
    """A node of its class for each pod."""
    untouched = dict(nodes)
    begun: dict[Class, list[int]] = defaultdict(list)
    assignments: list[int] = []
    for size, chosen in zip(sizes, classes, strict=True):
        if begun[chosen]:
            node = begun[chosen].pop()
        else:
            node = first(untouched[chosen] & ~shunned or untouched[chosen])
            untouched[chosen] ^= 1 << node
        begun[filled(chosen, size)].append(node)
        assignments.append(node)
    return assignments


def _needed(
    sizes: Sequence[int], classes: Sequence[Class], filled: Callable[[Class, int], Class]
) -> Mapping[Class, int]:
    """How many nodes of each class a gang needs."""
    needed: Counter[Class] = Counter()
    begun: Counter[Class] = Counter()
    for size, chosen in zip(sizes, classes, strict=True):
        if begun[chosen]:
            begun[chosen] -= 1
        else:
            needed[chosen] += 1
        begun[filled(chosen, size)] += 1
    return needed


def _close(
    nodes: Mapping[Class, int], needed: Mapping[Class, int], around: Around, shunned: int
) -> dict[Class, int] | None:
    """Only the nodes of one cell, the smallest one that has as many of each class as are needed; if one is found."""
    rarest = min(needed, key=lambda c: nodes[c].bit_count())
    rest, above = nodes[rarest] & ~shunned, 1
    while rest:
        left, looked, rest = rest, 0, 0
        while left and looked < MAX_REGIONS:
            looked += 1
            cell = around(first(left), above)
            if cell and all((nodes[c] & cell & ~shunned).bit_count() >= n for c, n in needed.items()):
                return {c: among & cell for c, among in nodes.items()}
            rest |= cell & left
            left &= ~(cell or left & -left)
        above += 1
    return None
