"""From what is written on a bound pod back to the places of its gang."""

from __future__ import annotations

from dataclasses import dataclass

from generated.hived import CellState
from runtime.cells import CellLedger, Cluster, Device, PhysicalCell, View, VirtualCell
from runtime.errors import UserError
from runtime.gangs import Places, Slot, places
from runtime.pods import OPPORTUNISTIC, BindInfo, PodPlacement, PodSpec


class LostError(Exception):
    """There is no virtual cell for a device any more."""


@dataclass(frozen=True, slots=True)
class Restored:
    """The places of a gang, as far as there still are such."""

    places: Places
    missing: tuple[str, ...]
    """Devices that the configuration does not have."""
    taken: tuple[str, ...]
    """Devices that other gangs have."""
    lost: str
    """Why the gang can have no guarantee any more; empty where it has one, or never had."""


def restore(ledger: CellLedger, spec: PodSpec, info: BindInfo) -> Restored:
    """The places that a gang had when its pod was bound. Leaves everything as it is."""
    written = sorted((x for same in info.gang for x in same), key=lambda x: len(x.leaf_cells))
    _check(spec, written)
    slots: dict[int, list[Slot]] = {}
    types: dict[Device, str] = {}
    missing: list[str] = []
    taken: list[str] = []
    for place in written:
        devices = []
        for index, kind in zip(place.leaf_cells, place.preassigned_types, strict=True):
            device = find_device(ledger.cluster, info.chain, place.node, index)
            if device is None:
                missing.append(f"{place.node} has no device {index}")
            elif device.state is not CellState.FREE:
                taken.append(f"device {index} of {place.node} is {device.state.display}")
            else:
                devices.append(device)
                types[device] = kind
        slots.setdefault(len(place.leaf_cells), []).append(Slot(place, tuple(devices)))
    virtual: dict[Device, VirtualCell | None] = dict.fromkeys(types)
    lost = ""
    if spec.priority != OPPORTUNISTIC:
        try:
            virtual.update(_virtual_cells(ledger, spec, types))
        except LostError as error:
            lost = str(error)
    return Restored(places(info.chain, slots, virtual), tuple(missing), tuple(taken), lost)


def _check(spec: PodSpec, written: list[PodPlacement]) -> None:
    sizes: dict[int, int] = {}
    for place in written:
        sizes[len(place.leaf_cells)] = sizes.get(len(place.leaf_cells), 0) + 1
        if len(place.preassigned_types) != len(place.leaf_cells):
            raise UserError(f"the bind info names {len(place.preassigned_types)} types for {place}")
    if sizes != spec.gang.sizes:
        raise UserError(
            f"the bind info has {sizes} pods by leaf cell count, but gang {spec.gang.name} has {spec.gang.sizes}"
        )
    devices = [(place.node, index) for place in written for index in place.leaf_cells]
    if len(set(devices)) < len(devices):
        raise UserError(f"the bind info of gang {spec.gang.name} names a device twice")


def find_device(cluster: Cluster, chain: str, node: str, index: int) -> Device | None:
    """A device of a node, of this chain or else of another one."""
    cells = sorted(cluster.nodes.get(node, ()), key=lambda cell: cell.chain.name != chain)
    return next((device for cell in cells for device in cell.devices() if device.index == index), None)


def _virtual_cells(ledger: CellLedger, spec: PodSpec, types: dict[Device, str]) -> dict[Device, VirtualCell]:
    """A virtual leaf cell for each device: one binding leads to the next, so they are made, and undone again."""
    cells: dict[Device, VirtualCell] = {}
    try:
        for device, kind in types.items():
            virtual = _virtual_cell(ledger, spec, device, kind)
            ledger.put(device, virtual, spec.priority)
            cells[device] = virtual
    finally:
        for device in cells:
            ledger.remove(device)
    return cells


def _virtual_cell(ledger: CellLedger, spec: PodSpec, device: Device, kind: str) -> VirtualCell:
    chain = device.chain
    tenant = ledger.cluster.tenants.get(spec.virtual_cluster)
    pinned = tenant.pinned.get(spec.pinned_cell) if tenant is not None else None
    if pinned is not None and pinned.chain.name == chain.name:
        kind = chain.types[pinned.tops[0].level]  # it may be larger by now, or smaller
    if kind not in chain.types[1:]:
        raise LostError(f"chain {chain.name} has no cells of type {kind or 'none'}")
    path: list[PhysicalCell] = [device]
    while path[-1].level < chain.types.index(kind):
        parent = path[-1].parent
        assert parent is not None, "the top has the highest level"
        path.append(parent)
    virtual = _top(ledger, spec, path.pop())
    for cell in reversed(path):
        if cell.virtual is not None and cell.virtual.parent is virtual:
            virtual = cell.virtual
        else:
            free = next((x for x in virtual.children if x.physical is None), None)
            if cell.virtual is not None or free is None:
                raise LostError(f"{cell.address} is bound to {cell.virtual}")
            virtual = free
    return virtual


def _top(ledger: CellLedger, spec: PodSpec, cell: PhysicalCell) -> VirtualCell:
    """The preassigned cell that stands for a physical one, or one that can."""
    tenant = ledger.cluster.tenants.get(spec.virtual_cluster)
    if tenant is None:
        raise LostError(f"there is no virtual cluster {spec.virtual_cluster}")
    view: View | None = tenant.pinned.get(spec.pinned_cell) if spec.pinned_cell else tenant.views.get(cell.chain.name)
    if view is None:
        raise LostError(f"virtual cluster {tenant.name} has no {spec.pinned_cell or cell.chain.name}")
    bound = cell.virtual
    if bound is not None:
        if bound.view is view and bound.parent is None:
            return bound
        raise LostError(f"{cell.address} is bound to {bound.address}")
    top = next(view.free_tops(cell.level), None)
    if top is None:
        raise LostError(f"virtual cluster {tenant.name} has no {cell.chain.types[cell.level]} left")
    lists = ledger.cluster.forests[cell.chain.name].lists
    holder_level = lists.holder(cell.level, cell.position)
    if not holder_level or holder_level > lists.may_split(cell.level):
        raise LostError(f"{cell.address} is needed for what others are promised")
    return top
