"""Which nodes a gang may be placed on."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.cells import Forest, PhysicalCell, View


class CandidateNodes:
    """The healthy nodes and, if the gang is bound to suggestions, only those that the outer scheduler suggests."""

    __slots__ = ("_nodes", "names")

    def __init__(self, names: Iterable[str] | None = None) -> None:
        self.names = None if names is None else frozenset(names)
        """None where any node will do."""
        self._nodes: dict[str, int] = {}

    def has(self, node: PhysicalCell) -> bool:
        """Whether a node may be used."""
        return node.healthy and (self.names is None or node.name in self.names)

    def nodes(self, forest: Forest) -> int:
        """The set of nodes of a chain that may be used."""
        name = forest.chain.name
        if self.names is None:
            return forest.nodes.healthy()
        if name not in self._nodes:
            cells = forest.levels[forest.chain.node]
            offered = bytearray(len(cells) // 8 + 1)
            for cell in cells:
                if cell.name in self.names:
                    offered[cell.position >> 3] |= 1 << (cell.position & 7)
            self._nodes[name] = int.from_bytes(offered, "little") & forest.nodes.healthy()
        return self._nodes[name]

    def spots(self, view: View) -> int:
        """The nodes of a view that may be used: of those that are bound, healthy and offered ones."""
        spots = view.everywhere() & ~view.rooms.bad
        if self.names is not None:
            for node in view.nodes:
                host = node.physical.node if node.physical is not None else None
                if host is not None and host.name not in self.names:
                    spots &= ~(1 << node.spot)
        return spots
