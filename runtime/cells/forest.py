"""The physical cells of a chain, and which of them are free, bad, or in opportunistic use."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.cells.bits import span
from runtime.cells.cell import Device, PhysicalCell
from runtime.cells.free import FreeLists
from runtime.cells.index import GUARANTEED, NodeIndex
from runtime.config.model import CellSpec, ForestSpec


class Forest:
    """All physical cells of a chain."""

    __slots__ = ("bound_nodes", "by_opportunistic", "chain", "damaged", "levels", "lists", "nodes")

    def __init__(self, spec: ForestSpec, promised: list[int]) -> None:
        chain = spec.chain
        self.chain = chain
        self.levels: list[list[PhysicalCell]] = [[] for _ in range(chain.top + 1)]
        """Cells by level and position."""
        for number, cell in spec.tops:
            self._plant(cell, chain.top, number, None)
        self.lists = FreeLists(chain, len(spec.tops), promised)
        self.nodes = NodeIndex([chain.leaves[chain.node]] * len(self.levels[chain.node]))
        self.nodes.rooms(GUARANTEED)
        self.nodes.bad = span(0, len(self.levels[chain.node]))
        self.damaged = [span(0, len(cells)) for cells in self.levels]
        """By level: cells with a bad node in them, or on one."""
        self.bound_nodes = 0
        """Nodes in cells that stand for preassigned ones: where guaranteed pods are most likely to come next."""
        self.by_opportunistic: list[dict[int, int]] = [{0: span(0, len(cells))} for cells in self.levels]
        """By level: cells by how many of their leaf cells are in opportunistic use."""

    def _plant(self, spec: CellSpec | None, level: int, number: int, parent: PhysicalCell | None) -> PhysicalCell:
        chain, position = self.chain, len(self.levels[level])
        name = (spec.address if spec is not None else "") or str(number)
        cell = (
            PhysicalCell(chain, level, position, name, parent) if level > 1 else Device(chain, position, name, parent)
        )
        cell.pinned = spec.pinned if spec is not None else ""
        cell.node = cell if level == chain.node else parent.node if parent is not None else None
        self.levels[level].append(cell)
        fanout = chain.fanout[level]
        first = 0 if level == chain.node else number * fanout
        specs: tuple[CellSpec | None, ...] = (spec.children if spec is not None else ()) or (None,) * fanout
        cell.children = tuple(self._plant(x, level - 1, first + i, cell) for i, x in enumerate(specs))
        return cell

    def devices(self) -> Iterator[Device]:
        """All leaf cells."""
        for cell in self.levels[1]:
            assert isinstance(cell, Device), "level 1 has the leaf cells"
            yield cell

    def take(self, cell: PhysicalCell) -> None:
        """A cell now stands for a preassigned one."""
        self.lists.take(cell.level, cell.position)
        self.bound_nodes |= self._nodes_in(cell)

    def give(self, cell: PhysicalCell) -> None:
        """A cell is free again."""
        self.lists.give(cell.level, cell.position)
        self.bound_nodes &= ~self._nodes_in(cell)

    def _nodes_in(self, cell: PhysicalCell) -> int:
        if cell.level < self.chain.node:
            return 0
        count = self.chain.below(cell.level, self.chain.node)
        return span(cell.position * count, count)

    def count_opportunistic(self, device: Device, by: int) -> None:
        """One leaf cell more, or less, is in opportunistic use."""
        cell: PhysicalCell | None = device
        while cell is not None:
            sets, bit = self.by_opportunistic[cell.level], 1 << cell.position
            sets[cell.opportunistic] ^= bit
            if not sets[cell.opportunistic]:
                del sets[cell.opportunistic]
            cell.opportunistic += by
            sets[cell.opportunistic] = sets.get(cell.opportunistic, 0) | bit
            cell = cell.parent

    def set_health(self, node: PhysicalCell, *, healthy: bool) -> None:
        """A node turns good or bad."""
        chain, below = self.chain, range(1, self.chain.node + 1)
        node.healthy = healthy
        for level in below:
            count = chain.below(chain.node, level)
            inside = span(node.position * count, count)
            self.damaged[level] = self.damaged[level] & ~inside if healthy else self.damaged[level] | inside
        self.nodes.bad = self.damaged[chain.node]
        cell = node.parent
        while cell is not None:
            count = chain.fanout[cell.level]
            hurt = self.damaged[cell.level - 1] >> (cell.position * count) & span(0, count)
            bit = 1 << cell.position
            self.damaged[cell.level] = self.damaged[cell.level] | bit if hurt else self.damaged[cell.level] & ~bit
            cell = cell.parent

    def around(self, node: int, above: int) -> int:
        """The nodes in the cell a number of levels above a node; none where there is no such cell."""
        level = self.chain.node + above
        if level > self.chain.top:
            return 0
        count = self.chain.below(level, self.chain.node)
        return span(node // count * count, count)

    def is_healthy(self, cell: PhysicalCell) -> bool:
        """Whether no node in it, or under it, is bad."""
        return not self.damaged[cell.level] >> cell.position & 1
