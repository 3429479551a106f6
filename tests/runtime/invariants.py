"""What must hold of an allocator after every step: S1 to S18, and all books against a recount from nothing."""

from __future__ import annotations

from collections import Counter
from typing import Any

from clusters import AnyAllocator as AnyAllocator

from generated.hived import AffinityGroup, AffinityGroupState, Cell, CellState, PreemptionSmall
from runtime.cells import FREE, Forest, NodeIndex, PhysicalCell, View, VirtualCell
from runtime.cells.cell import VirtualCluster
from runtime.gangs import Gang
from runtime.preemption.victims import owner, reserver


def check(allocator: AnyAllocator) -> None:
    """Everything."""
    cluster = allocator.cluster
    machines(allocator)
    for gang in allocator.gangs.values():
        check_gang(gang)
    for forest in cluster.forests.values():
        check_forest(forest)
        check_lists(forest, list(cluster.tenants.values()))
        check_devices(forest)
    for tenant in cluster.tenants.values():
        for view in (*tenant.views.values(), *tenant.pinned.values()):
            check_view(view)


def machines(allocator: AnyAllocator) -> None:
    """S1 to S11 and S16, as the specs say them."""
    system = allocator.cluster.system
    system.check_invariants()
    groups = [x for x in system.machines if isinstance(x, AffinityGroup)]
    cells = [x for x in system.machines if isinstance(x, Cell)]
    PreemptionSmall(system, groups=groups, cells=cells).check_invariants()
    assert {id(g.machine) for g in allocator.gangs.values()} == {id(g) for g in groups}, "no machine is left over"


def check_gang(gang: Gang) -> None:
    """Its places, its machine and its pods agree."""
    devices = [d for same in gang.places.slots.values() for slot in same for d in slot.devices]
    assert len(set(devices)) == len(devices)
    assert set(devices) == set(gang.virtual)
    assert {d.machine for d in devices} == gang.machine.cells
    assert gang.waiting or gang.assigned, "a gang without pods has ended"
    for size, same in gang.places.slots.items():
        assert len(same) == gang.spec.gang.sizes[size]
        for slot in same:
            assert {d.host.name for d in slot.devices} <= {slot.place.node}
            assert {d.index for d in slot.devices} <= set(slot.place.leaf_cells)
            assert slot.pod is None or (gang.assigned[slot.pod.uid] is slot and slot.pod.spec.leaf_cells == size)
    if gang.state in (AffinityGroupState.PENDING, AffinityGroupState.PREEMPTING):
        assert not gang.assigned
    guaranteed = gang.priority >= 0
    leaves = [leaf for leaf in gang.virtual.values() if leaf is not None]
    assert len(leaves) == (len(gang.virtual) if guaranteed else 0)
    assert len(set(leaves)) == len(leaves)
    assert {leaf.tenant.name for leaf in leaves} <= {gang.spec.virtual_cluster}


def check_devices(forest: Forest) -> None:
    """Priorities, bindings and owners of leaf cells; S18."""
    for device in forest.devices():
        using, waiting = owner(device), reserver(device)
        holder = waiting or using
        assert device.priority == (FREE if holder is None else holder.priority), device
        if holder is not None:
            expected = holder.virtual[device]
            pinned = device.virtual is not None and device.virtual.pinned
            assert device.virtual is expected or (expected is None and pinned), device
        else:
            assert device.virtual is None or device.virtual.pinned
        if device.state is CellState.RESERVING:
            assert using is not None
            assert waiting is not None
            assert using.priority < 0 or using.spec.virtual_cluster == waiting.spec.virtual_cluster, "S18"


def check_forest(forest: Forest) -> None:
    """Health and opportunistic use, counted from nothing."""
    for level, cells in enumerate(forest.levels):
        sets: dict[int, int] = {}
        damaged = 0
        for cell in cells:
            count = sum(device.priority == -1 for device in cell.devices())
            assert cell.opportunistic == count, cell
            sets[count] = sets.get(count, 0) | 1 << cell.position
            hosts = {device.host for device in cell.devices()}
            damaged |= (not all(host.healthy for host in hosts)) << cell.position
            bound = [x for x in cell.children if x.virtual is not None and x.virtual.parent is not None]
            assert cell.virtual is None or cell.virtual.physical is cell
            assert not bound or cell.virtual is not None
        assert {n: x for n, x in forest.by_opportunistic[level].items() if x} == sets
        assert forest.damaged[level] == damaged
    nodes = forest.levels[forest.chain.node]
    assert forest.nodes.bad == forest.damaged[forest.chain.node]
    check_index(forest.nodes, [Counter(d.priority for d in n.devices() if d.priority != FREE) for n in nodes])


def check_index(index: NodeIndex, used: list[Counter[int]]) -> None:
    """The rooms of nodes, counted from nothing."""
    assert index.used == [dict(x) for x in used]
    for priority, rooms in index._rooms.items():
        expected: dict[int, int] = {}
        for node, counts in enumerate(used):
            room = index.sizes[node] - sum(n for p, n in counts.items() if p >= priority)
            expected[room] = expected.get(room, 0) | 1 << node
        assert {room: x for room, x in rooms.items() if x} == expected


def check_lists(forest: Forest, tenants: list[VirtualCluster]) -> None:
    """Free lists as they must be for what is bound; promises; S17, also in its strong form."""
    chain = forest.chain
    free = [0] * (chain.top + 1)

    def taken(cell: PhysicalCell) -> bool:
        return (cell.virtual is not None and cell.virtual.parent is None) or any(map(taken, cell.children))

    def collect(cell: PhysicalCell) -> None:
        if not taken(cell):
            free[cell.level] |= 1 << cell.position
        elif cell.virtual is None or cell.virtual.parent is not None:
            for child in cell.children:
                collect(child)

    for top in forest.levels[chain.top]:
        collect(top)
    lists = forest.lists
    assert lists.free == free
    assert lists.count == [x.bit_count() for x in free]
    promised = [0] * (chain.top + 1)
    for tenant in tenants:
        own: Counter[tuple[str, int]] = Counter()
        for cell in tenant.tops:
            if cell.physical is None:
                own[cell.chain.name, cell.level] += 1
                if cell.chain is chain:
                    promised[cell.level] += 1
        assert own == Counter({k: n for k, n in tenant.unallocated.items() if n})
    assert lists.promised == promised
    assert all(lists.obtainable(level) >= promised[level] for level in range(1, chain.top + 1)), "S17"
    assert min(lists.spare()) >= 0, "S17, for all levels together"


def check_view(view: View) -> None:
    """Bindings of virtual cells and the rooms of their nodes."""

    def walk(cell: VirtualCell) -> None:
        assert cell.bound == sum(x.physical is not None for x in cell.children)
        physical = cell.physical
        if physical is not None:
            assert physical.virtual is cell
            assert physical.level == cell.level
            assert cell.parent is None or physical.parent is cell.parent.physical
            assert cell.pinned or not cell.children or cell.bound
            assert cell.pinned or cell.children or cell.priority >= 0
        else:
            assert not cell.bound
        for child in cell.children:
            walk(child)

    for top in view.tops:
        walk(top)
    for level in range(1, view.chain.top + 1):
        assert list(view.free_tops(level)) == [x for x in view.tops if x.level == level and x.physical is None]
    used, bad = [], 0
    for node in view.nodes:
        leaves = list(leaf_cells(node))
        used.append(Counter(leaf.priority for leaf in leaves if leaf.priority >= 0))
        host = node.physical.node if node.physical is not None else None
        bad |= (host is not None and not host.healthy) << node.spot
    assert view.rooms.bad == bad
    check_index(view.rooms, used)


def leaf_cells(cell: VirtualCell) -> list[VirtualCell]:
    """The leaf cells in a virtual cell."""
    return [leaf for child in cell.children for leaf in leaf_cells(child)] if cell.children else [cell]


def picture(allocator: AnyAllocator) -> Any:
    """All that there is, to compare; pods that only wait are left out, and who is known is."""
    cluster = allocator.cluster
    return (
        [
            (
                list(forest.lists.free),
                list(forest.lists.promised),
                list(forest.damaged),
                forest.bound_nodes,
                {n: x for n, x in forest.by_opportunistic[1].items() if x},
                [(d.priority, d.virtual and d.virtual.address, d.state) for d in forest.devices()],
                [_name(owner(d)) for d in forest.devices()],
                [_name(reserver(d)) for d in forest.devices()],
                [dict(x) for x in forest.nodes.used],
            )
            for forest in cluster.forests.values()
        ],
        [
            [[leaf.physical and leaf.physical.address for leaf in leaf_cells(top)] for top in tenant.tops]
            for tenant in cluster.tenants.values()
        ],
        {
            name: (gang.state, gang.demotion, gang.places.written, sorted(gang.assigned))
            for name, gang in allocator.gangs.items()
            if gang.state is not AffinityGroupState.PENDING
        },
    )


def _name(gang: Gang | None) -> str | None:
    return gang.name if gang is not None else None
