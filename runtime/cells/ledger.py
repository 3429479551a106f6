"""The ledger of leaf cells: the only place that changes bindings, free lists, priorities and counts, together."""

from __future__ import annotations

from runtime.cells.cell import Device, PhysicalCell, VirtualCell
from runtime.cells.cluster import Cluster
from runtime.cells.index import FREE, GUARANTEED
from runtime.errors import SafetyBrokenError


class CellLedger:
    """Puts leaf cells to use and takes them back. `remove` undoes `put` exactly, so that things can be tried out."""

    __slots__ = ("cluster",)

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster

    def put(self, device: Device, virtual: VirtualCell | None, priority: int) -> None:
        """Puts a leaf cell to use: for a virtual one, or opportunistically."""
        device.priority = priority
        forest = self.cluster.forests[device.chain.name]
        if virtual is None:
            forest.count_opportunistic(device, 1)
        else:
            self._bind(virtual, device)
            assert virtual.node is not None, "leaf cells are in nodes"
            virtual.view.rooms.change(virtual.node.spot, priority, 1)
        forest.nodes.change(device.host.position, priority, 1)

    def remove(self, device: Device) -> None:
        """Takes it back."""
        forest, virtual = self.cluster.forests[device.chain.name], device.virtual
        forest.nodes.change(device.host.position, device.priority, -1)
        if virtual is not None and device.priority >= GUARANTEED:
            assert virtual.node is not None, "leaf cells are in nodes"
            virtual.view.rooms.change(virtual.node.spot, device.priority, -1)
            self._unbind(virtual, device)
        else:
            forest.count_opportunistic(device, -1)
        device.priority = FREE

    def _bind(self, virtual: VirtualCell, physical: PhysicalCell) -> None:
        """Binds upwards, until both have a parent in common."""
        while virtual.physical is None:
            if physical.virtual is not None:
                raise SafetyBrokenError(f"{physical} is bound to {physical.virtual}, and is to be bound to {virtual}")
            virtual.physical, physical.virtual = physical, virtual
            if virtual.spot >= 0:
                virtual.view.mark(virtual)
            if virtual.parent is None or physical.parent is None:
                tenant = virtual.view.tenant
                tenant.unallocated[virtual.chain.name, virtual.level] -= 1
                virtual.view.toggle(virtual)
                self.cluster.forests[virtual.chain.name].take(physical)
                return
            virtual, physical = virtual.parent, physical.parent
            virtual.bound += 1

    def _unbind(self, virtual: VirtualCell, physical: PhysicalCell) -> None:
        """Unbinds upwards, as long as nothing else is bound; never a pinned cell."""
        while not virtual.bound and not virtual.pinned:
            virtual.physical = physical.virtual = None
            if virtual.spot >= 0:
                virtual.view.mark(virtual)
            if virtual.parent is None or physical.parent is None:
                tenant = virtual.view.tenant
                tenant.unallocated[virtual.chain.name, virtual.level] += 1
                virtual.view.toggle(virtual)
                self.cluster.forests[virtual.chain.name].give(physical)
                return
            virtual, physical = virtual.parent, physical.parent
            virtual.bound -= 1

    def set_health(self, name: str, *, healthy: bool) -> bool:
        """A machine turns good or bad; answers whether it is one of the cluster."""
        for node in self.cluster.nodes.get(name, ()):
            self.cluster.forests[node.chain.name].set_health(node, healthy=healthy)
            self._tell(node)
        return name in self.cluster.nodes

    def _tell(self, cell: PhysicalCell) -> None:
        """Views learn of the health of the nodes that theirs are bound to."""
        if cell.virtual is not None and cell.virtual.spot >= 0:
            cell.virtual.view.mark(cell.virtual)
        for child in cell.children:
            self._tell(child)
