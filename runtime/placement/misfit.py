"""When virtual cells find no physical ones: what not to want next time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from runtime.cells import PhysicalCell, VirtualCell
from runtime.cells.bits import span
from runtime.placement.requirements import Requirements


@dataclass(frozen=True, slots=True)
class Misfit:
    """There is no way for all that is wanted, and hardly one as long as these nodes of the view are."""

    nodes: int


def misfit(
    cell: VirtualCell,
    required: Requirements,
    alike: Iterable[VirtualCell],
    regions: Iterable[PhysicalCell],
    usable: int,
) -> Misfit:
    """What not to want, when a virtual cell finds nothing in these regions; nor will others alike.

    If some cell in it wants more nodes than any physical one has usable, then all cells of that level will have to
    want fewer. Otherwise it is the combination that is wrong, and one node less is wanted.
    """
    chain = cell.chain
    room: dict[int, int] = {}
    for region in regions:
        _measure(region, usable, room)
    nodes = required.nodes_in(cell)
    for level in range(chain.node, max(cell.level, chain.node) + 1):
        most = room.get(level, 0)
        if max(Counter(id(_above(node, level)) for node in nodes).values()) > most:
            return Misfit(sum(_beyond(other, level, most) for other in alike))
    return Misfit(1 << nodes[-1].spot)


def _measure(cell: PhysicalCell, usable: int, room: dict[int, int]) -> None:
    """The most usable nodes in a cell of each level; of cells inside of nodes, as if they were nodes."""
    chain = cell.chain
    if cell.node is not None:
        has, level = usable >> cell.node.position & 1, chain.node
    else:
        count, level = chain.below(cell.level, chain.node), cell.level
        has = (usable >> cell.position * count & span(0, count)).bit_count()
        if has:
            for child in cell.children:
                _measure(child, usable, room)
    room[level] = max(room.get(level, 0), has)


def _above(node: VirtualCell, level: int) -> VirtualCell:
    while node.level < level and node.parent is not None:
        node = node.parent
    return node


def _beyond(cell: VirtualCell, level: int, most: int) -> int:
    """In each cell of a level in a cell, all nodes except `most`."""
    if cell.level > level:
        return sum(_beyond(child, level, most) for child in cell.children)
    chain, inside = cell.chain, cell
    count = chain.below(cell.level, chain.node) if cell.level > chain.node else 1
    while inside.node is None:
        inside = inside.children[0]
    return span(inside.node.spot + most, count - most) if count > most else 0
