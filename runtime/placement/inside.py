"""Placement inside a virtual cluster: which virtual leaf cells a gang gets."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.cells import ALL, FREE, View, VirtualCell
from runtime.placement.leaves import nearest
from runtime.placement.packing import Class
from runtime.placement.seating import seat


def place(view: View, sizes: Sequence[int], priority: int, allowed: int) -> list[tuple[VirtualCell, ...]] | None:
    """The leaf cells of each pod, on allowed nodes; sizes fall.

    With priority `ALL` nobody is displaced, and gangs are packed: each pod goes where the least room is left over.
    With another one it goes where it displaces least.
    """
    nodes = dict(view.rooms.classes(priority, ALL, allowed))
    seats = seat(nodes, sizes, _better, _filled)
    if seats is None:
        return None
    costs: dict[int, dict[VirtualCell, int]] = {}
    chosen = []
    for size, spot in zip(sizes, seats, strict=True):
        node = view.nodes[spot]
        if spot not in costs:
            costs[spot] = {}
            _price(node, priority, costs[spot])
        leaves = nearest(node, size, costs[spot])
        for leaf in leaves:
            del costs[spot][leaf]
        chosen.append(leaves)
    return chosen


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
