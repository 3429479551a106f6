"""What a gang wants of a virtual cluster, as far as it is not bound: the trees above the chosen leaf cells."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from runtime.cells import Device, VirtualCell

Devices: TypeAlias = dict[VirtualCell, Device]
"""The device of each leaf cell."""


@dataclass(slots=True)
class Requirements:
    """The chosen leaf cells, and what is above them."""

    ready: Devices = field(default_factory=dict)
    """Leaf cells that are bound."""
    children: dict[VirtualCell, list[VirtualCell]] = field(default_factory=lambda: defaultdict(list))
    """Of unbound cells: the wanted ones."""
    tops: list[VirtualCell] = field(default_factory=list)
    """Unbound preassigned cells."""
    under: dict[VirtualCell, list[VirtualCell]] = field(default_factory=lambda: defaultdict(list))
    """Of bound cells: the wanted ones that are unbound."""

    _least: int = -1

    def leaves_in(self, cell: VirtualCell) -> int:
        """How many leaf cells in a cell are wanted."""
        return sum(map(self.leaves_in, self.children[cell])) if cell in self.children else 1

    def unbound(self) -> Iterator[VirtualCell]:
        """The chosen leaf cells that have no device yet."""
        todo = [*self.tops, *(cell for cells in self.under.values() for cell in cells)]
        while todo:
            cell = todo.pop()
            if cell in self.children:
                todo += self.children[cell]
            else:
                yield cell

    def least(self) -> int:
        """The fewest leaf cells without a device that are wanted of any node."""
        if self._least < 0:
            self._least = min(Counter(leaf.node for leaf in self.unbound()).values(), default=0)
        return self._least

    def nodes_in(self, cell: VirtualCell) -> list[VirtualCell]:
        """The wanted nodes in a cell; of a smaller one, the node that it is in."""
        if cell.node is not None:
            return [cell.node]
        return [node for child in self.children[cell] for node in self.nodes_in(child)]


def requirements(leaves: Iterable[VirtualCell]) -> Requirements:
    """What is to be found for these leaf cells."""
    required = Requirements()
    for leaf in leaves:
        if isinstance(leaf.physical, Device):
            required.ready[leaf] = leaf.physical
            continue
        cell = leaf
        while (parent := cell.parent) is not None:
            visited = parent in required.children
            (required.under if parent.physical is not None else required.children)[parent].append(cell)
            if visited or parent.physical is not None:
                break
            cell = parent
        else:
            required.tops.append(cell)
    return required
