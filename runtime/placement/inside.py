"""Placement inside a virtual cluster: which virtual leaf cells a gang gets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from runtime.cells import ALL, FREE, View, VirtualCell
from runtime.placement.assignment import assign_nodes
from runtime.placement.leaves import for_pods
from runtime.placement.packing import Class


def place(
    view: View, sizes: Sequence[int], priority: int, allowed: int, taken: Collection[VirtualCell] = frozenset()
) -> list[tuple[VirtualCell, ...]] | None:
    """The leaf cells of each pod, on allowed nodes; sizes fall.

    With priority `ALL` no gang is displaced, and gangs are packed: each pod goes where the least room is left over.
    With another one it goes where it displaces least. Leaf cells of the view that are `taken` are not used.
    """
    nodes = dict(view.rooms.classes(priority, ALL, allowed))
    _shrink(nodes, taken)
    assignments = assign_nodes(nodes, sizes, _better, _filled, view.around)
    if assignments is None:
        return None

    def price(node: VirtualCell) -> dict[VirtualCell, int]:
        costs: dict[VirtualCell, int] = {}
        _price(node, priority, costs)
        return {leaf: cost for leaf, cost in costs.items() if leaf not in taken} if taken else costs

    return for_pods(view.nodes, assignments, sizes, price)


def _shrink(nodes: dict[Class, int], taken: Collection[VirtualCell]) -> None:
    """Nodes have less room where leaf cells are taken that could be used otherwise."""
    for spot, count in Counter(leaf.node.spot for leaf in taken if leaf.node is not None).items():
        for (room, free), among in list(nodes.items()):
            if among >> spot & 1:
                nodes[room, free] ^= 1 << spot
                if room > count:
                    nodes[room - count, free] = nodes.get((room - count, free), 0) | 1 << spot
                break


def _price(cell: VirtualCell, priority: int, costs: dict[VirtualCell, int]) -> None:
    """What taking each leaf cell would cost: nothing where it is free, else the priority that is displaced."""
    if not cell.children:
        if cell.priority == FREE:
            costs[cell] = 0
        elif priority != ALL and cell.priority < priority:
            costs[cell] = cell.priority + 1
    for child in cell.children:
        _price(child, priority, costs)


def _better(node: Class, size: int) -> tuple[int, ...]:
    room, free = node
    return (max(size - free, 0), room)


def _filled(node: Class, size: int) -> Class:
    room, free = node
    return (room - size, max(free - size, 0))
