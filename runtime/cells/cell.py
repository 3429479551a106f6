"""Physical cells, virtual cells, and the virtual clusters that see them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from generated.hived import Cell, CellState, System
from generated.hived.actions import CellActions
from runtime.cells.bits import each, span
from runtime.cells.index import FREE, GUARANTEED, NodeIndex
from runtime.config.model import Chain


class PhysicalCell:
    """A piece of hardware: a device, or what several of them have in common."""

    __slots__ = (
        "chain",
        "children",
        "healthy",
        "level",
        "name",
        "node",
        "opportunistic",
        "parent",
        "pinned",
        "position",
        "virtual",
    )

    def __init__(self, chain: Chain, level: int, position: int, name: str, parent: PhysicalCell | None) -> None:
        self.chain = chain
        self.level = level
        self.position = position
        """Among all cells of its level of its chain, in the order of the tree."""
        self.name = name
        """The last component of its address."""
        self.parent = parent
        self.node: PhysicalCell | None = None
        """The node that it is, or is inside of."""
        self.children: tuple[PhysicalCell, ...] = ()
        self.pinned = ""
        self.virtual: VirtualCell | None = None
        """The virtual cell that it stands for now."""
        self.opportunistic = 0
        """How many leaf cells in it opportunistic pods use."""
        self.healthy = False
        """Of a node: whether it has been reported so."""

    @property
    def address(self) -> str:
        """As in `0/1/node-7/0/3`."""
        return self.name if self.parent is None else f"{self.parent.address}/{self.name}"

    def __repr__(self) -> str:
        return f"<{self.chain.types[self.level]} {self.address}>"

    def devices(self) -> Iterator[Device]:
        """The leaf cells in it."""
        if isinstance(self, Device):
            yield self
        for child in self.children:
            yield from child.devices()


class Device(PhysicalCell):
    """A leaf cell, with its life cycle."""

    __slots__ = ("index", "machine", "priority")
    machine: DeviceMachine

    def __init__(self, chain: Chain, position: int, name: str, parent: PhysicalCell | None) -> None:
        super().__init__(chain, 1, position, name, parent)
        self.index = int(name)
        """Which device of its node it is."""
        self.priority = FREE
        """Priority of the gang that it is reserved for, else of the gang that uses it."""

    @property
    def state(self) -> CellState:
        """Where its life cycle is."""
        return self.machine.state

    @property
    def host(self) -> PhysicalCell:
        """The node that it is on."""
        assert self.node is not None, "leaf cells are below nodes"
        return self.node


class DeviceMachine(Cell):
    """The life cycle of a leaf cell, and which leaf cell it is."""

    __slots__ = ("device",)

    def __init__(self, system: System, actions: CellActions, device: Device) -> None:
        super().__init__(system, actions)
        self.device = device


class VirtualCell:
    """A cell of a virtual cluster, bound to a physical one as long as something guaranteed is in it."""

    __slots__ = (
        "bound",
        "chain",
        "children",
        "level",
        "name",
        "node",
        "number",
        "parent",
        "physical",
        "pinned",
        "spot",
        "top",
        "view",
    )
    top: VirtualCell
    node: VirtualCell | None

    def __init__(self, view: View, level: int, name: str, parent: VirtualCell | None) -> None:
        self.view = view
        self.chain = view.chain
        self.level = level
        self.name = name
        """The last component of its address."""
        self.parent = parent
        self.top = self if parent is None else parent.top
        """The preassigned cell that it is in."""
        self.node = None
        """The node of the view that it is, or is inside of."""
        self.number = -1
        """Of a preassigned cell: its place in the view."""
        self.spot = -1
        """Which node of the view it is, if it is one."""
        self.children: tuple[VirtualCell, ...] = ()
        self.physical: PhysicalCell | None = None
        self.bound = 0
        """How many children are bound."""
        self.pinned = ""

    @property
    def tenant(self) -> VirtualCluster:
        """Whose cell it is."""
        return self.view.tenant

    @property
    def address(self) -> str:
        """As in `VC1/0/1/3`."""
        before = self.view.tenant.name if self.parent is None else self.parent.address
        return f"{before}/{self.name}"

    @property
    def priority(self) -> int:
        """Of a leaf cell: that of the device it is bound to. Opportunistic use is none of its business."""
        device = self.physical
        return device.priority if isinstance(device, Device) and device.priority >= GUARANTEED else FREE

    def leaves(self) -> Iterator[VirtualCell]:
        """The leaf cells in it."""
        if not self.children:
            yield self
        for child in self.children:
            yield from child.leaves()

    def __repr__(self) -> str:
        return f"<{self.chain.types[self.level]} {self.address}>"


class View:
    """What a virtual cluster sees of a chain, or of one pinned cell: the field in which a gang is placed."""

    __slots__ = ("chain", "nodes", "rooms", "tenant", "tops", "unbound")

    def __init__(self, tenant: VirtualCluster, chain: Chain) -> None:
        self.tenant = tenant
        self.chain = chain
        self.tops: list[VirtualCell] = []
        self.unbound: dict[int, int] = {}
        """By level: preassigned cells that stand for no physical one, by their place in `tops`."""
        self.nodes: list[VirtualCell] = []
        """Cells of the node level, and preassigned cells that are smaller."""
        self.rooms = NodeIndex([])

    def add(self, level: int, name: str) -> VirtualCell:
        """Another preassigned cell."""
        top = self._grow(level, name, 0, None)
        top.number = len(self.tops)
        self.tops.append(top)
        self.toggle(top)
        return top

    def toggle(self, top: VirtualCell) -> None:
        """A preassigned cell is bound, or no longer."""
        self.unbound[top.level] = self.unbound.get(top.level, 0) ^ 1 << top.number

    def free_tops(self, level: int) -> Iterator[VirtualCell]:
        """Preassigned cells of a level that stand for no physical one."""
        return map(self.tops.__getitem__, each(self.unbound.get(level, 0)))

    def close(self) -> None:
        """When all preassigned cells are there."""
        self.rooms = NodeIndex([self.chain.leaves[x.level] for x in self.nodes])

    def _grow(self, level: int, name: str, number: int, parent: VirtualCell | None) -> VirtualCell:
        cell = VirtualCell(self, level, name, parent)
        if level == self.chain.node or (parent is None and level < self.chain.node):
            cell.spot = len(self.nodes)
            self.nodes.append(cell)
            cell.node = cell
        elif parent is not None:
            cell.node = parent.node
        first = 0 if parent is None else number * self.chain.fanout[level]
        cell.children = tuple(
            self._grow(level - 1, str(first + i), first + i, cell) for i in range(self.chain.fanout[level])
        )
        return cell

    def mark(self, node: VirtualCell) -> None:
        """Takes over the health of the physical node that a node of the view is bound to."""
        host = node.physical.node if node.physical is not None else None
        if host is not None and not host.healthy:
            self.rooms.bad |= 1 << node.spot
        else:
            self.rooms.bad &= ~(1 << node.spot)

    def around(self, spot: int, above: int) -> int:
        """The nodes in the cell a number of levels above a node; none where there is no such cell."""
        cell: VirtualCell | None = self.nodes[spot]
        for _ in range(above):
            cell = cell.parent if cell is not None else None
        if cell is None:
            return 0
        start = cell
        while start.spot < 0:
            start = start.children[0]
        return span(start.spot, self.chain.below(cell.level, self.chain.node))

    def everywhere(self) -> int:
        """All nodes."""
        return span(0, len(self.nodes))


class VirtualCluster:
    """A tenant."""

    __slots__ = ("name", "pinned", "tops", "unallocated", "views")

    def __init__(self, name: str) -> None:
        self.name = name
        self.views: dict[str, View] = {}
        """By chain; pinned cells are not in them."""
        self.pinned: dict[str, View] = {}
        """By the identifier of the pinned cell."""
        self.tops: list[VirtualCell] = []
        """All preassigned cells in the order of the configuration, then the pinned ones."""
        self.unallocated: dict[tuple[str, int], int] = defaultdict(int)
        """By chain and level: preassigned cells that stand for no physical cell now."""
