"""Which leaf cells of a node a pod gets: close together, and displacing as little as possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Tree(Protocol):
    """A physical or a virtual cell, as far as its shape goes."""

    @property
    def children(self) -> tuple[Tree, ...]: ...


T = TypeVar("T", bound=Tree)
N = TypeVar("N", bound=Tree)


@dataclass(slots=True)
class _Cell(Generic[T]):
    """A smallest cell that has enough leaf cells to choose from."""

    parts: list[list[T]]
    """These, by child."""
    height: int
    counts: list[int] = field(default_factory=list)
    """How many there are in it, in its parent, and so on."""


def for_pods(
    nodes: Sequence[N], assignments: Sequence[int], sizes: Sequence[int], price: Callable[[N], dict[T, int]]
) -> list[tuple[T, ...]]:
    """The leaf cells of each pod, on the node that it is assigned to. `price` gives the costs on a node."""
    costs: dict[int, dict[T, int]] = {}
    chosen = []
    for size, position in zip(sizes, assignments, strict=True):
        if position not in costs:
            costs[position] = price(nodes[position])
        leaves = nearest(nodes[position], size, costs[position])
        for leaf in leaves:
            del costs[position][leaf]
        chosen.append(leaves)
    return chosen


def nearest(node: Tree, size: int, costs: dict[T, int]) -> tuple[T, ...]:
    """`size` of the leaf cells that have a cost, out of the smallest cell that has enough of them.

    Of equally small cells that where they cost least, then that with the fewest others, in it and around it, so that
    large cells stay whole. The node must have enough.
    """
    ways = [(*_cheapest(cell.parts, size, costs), cell.counts) for cell in _smallest(node, size, costs)[1]]
    return min(ways, key=lambda way: (way[0], way[2]))[1]


def _cheapest(parts: list[list[T]], size: int, costs: dict[T, int]) -> tuple[int, tuple[T, ...]]:
    """The cheapest leaf cells of a cell, and their cost."""
    available = sorted(costs[leaf] for part in parts for leaf in part)
    limit = available[size - 1]
    sure = [leaf for part in parts for leaf in part if costs[leaf] < limit]
    open_parts = [[leaf for leaf in part if costs[leaf] == limit] for part in parts]
    return sum(available[:size]), (*sure, *_compact(open_parts, size - len(sure)))


def _smallest(cell: Tree, size: int, costs: dict[T, int]) -> tuple[list[T], list[_Cell[T]], int]:
    """The leaf cells of a cell that have a cost, the smallest cells in it that have enough of them, and its height."""
    if not cell.children:
        own: list[T] = [cell] if cell in costs else []
        return own, ([_Cell([own], 0, [1])] if len(own) >= size else []), 0
    leaves: list[T] = []
    parts: list[list[T]] = []
    smallest: list[_Cell[T]] = []
    height = 0
    for child in cell.children:
        below, inside, height = _smallest(child, size, costs)
        leaves += below
        parts.append(below)
        smallest += inside
    if not smallest and len(leaves) >= size:
        smallest = [_Cell(parts, height + 1)]
    least = min((x.height for x in smallest), default=0)
    smallest = [x for x in smallest if x.height == least]
    for x in smallest:
        x.counts.append(len(leaves))
    return leaves, smallest, height + 1


def _compact(parts: Iterable[list[T]], size: int) -> list[T]:
    """`size` leaf cells from as few parts as possible, leaving as few parts divided as possible."""
    rest = [part for part in parts if part]
    chosen: list[T] = []
    while size:
        enough = [part for part in rest if len(part) >= size]
        part = min(enough, key=len) if enough else max(rest, key=len)
        rest.remove(part)
        chosen += part[:size]
        size -= min(size, len(part))
    return chosen
