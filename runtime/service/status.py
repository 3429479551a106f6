"""What there is, as the inspect endpoints tell it. Whoever looks holds the partition to read."""

from __future__ import annotations

from typing import Any

from runtime.answers import GangStatus
from runtime.cells import FREE, Cluster, Device, PhysicalCell, VirtualCell
from runtime.cells.virtual import VirtualCluster
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.inspect import top_cells
from runtime.lives.following import Following
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import owner, reserver
from runtime.service.follower import Follower


def gang(status: GangStatus) -> dict[str, Any]:
    """An affinity group."""
    nodes: dict[str, list[int]] = {}
    for place in status.placement:
        nodes.setdefault(place.node, []).extend(place.leaf_cells)
    demotion = status.demotion
    return {
        "metadata": {"name": status.name},
        "status": {
            "vc": status.virtual_cluster,
            "priority": status.priority,
            "state": status.state.value,
            "physicalPlacement": {node: sorted(indices) for node, indices in nodes.items()},
            "virtualPlacement": {top: list(cells) for top, cells in status.virtual_placement.items()},
            "allocatedPods": [pod.uid for pod in status.allocated],
            "preemptingPods": [pod.uid for pod in status.waiting] if status.state.value == "Preempting" else [],
            "lazyPreemptionStatus": {"preemptor": demotion.preemptor, "preemptionTime": demotion.time}
            if demotion is not None
            else None,
        },
    }


def following(follower: Follower) -> Following:
    """The lives of gangs, where they are followed; raises `UserError` where they are not."""
    if follower.following is None:
        raise UserError(
            f"the lives of gangs are not followed any more, after {follower.faults} faults; see the log"
            if follower.faults
            else "the lives of gangs are not followed: the service was started without --lives"
        )
    return follower.following


def lives(follower: Follower) -> dict[str, Any]:
    """The lives of all gangs."""
    return {**following(follower).overview(), "faults": follower.faults}


def physical_cluster(cluster: Cluster) -> list[dict[str, Any]]:
    """A tree for each top cell."""
    forests = cluster.forests.values()
    return [_physical(top) for forest in forests for top in forest.levels[forest.chain.top]]


def virtual_clusters(allocator: DurableAllocator) -> dict[str, list[dict[str, Any]]]:
    """Trees of all virtual clusters."""
    return {name: virtual_cluster(allocator, name) for name in allocator.cluster.tenants}


def virtual_cluster(allocator: DurableAllocator, name: str) -> list[dict[str, Any]]:
    """A tree for each preassigned cell; and each leaf cell that the virtual cluster uses opportunistically."""
    cluster = allocator.cluster
    tenant = cluster.tenants[name]
    shown = [_virtual(top, healthy) for top, healthy in zip(tenant.tops, _healths(cluster, tenant), strict=True)]
    for forest in cluster.forests.values():
        shown += [_opportunistic(x) for x in forest.devices() if _is_opportunistic(x, name)]
    return shown


def _healths(cluster: Cluster, tenant: VirtualCluster) -> list[bool]:
    return [top.healthy for top in top_cells(cluster, tenant)]


def _is_opportunistic(device: Device, tenant: str) -> bool:
    gang = owner(device)
    return gang is not None and gang.priority == OPPORTUNISTIC and gang.spec.virtual_cluster == tenant


def _opportunistic(device: Device) -> dict[str, Any]:
    return {
        "leafCellType": device.chain.leaf_type,
        "cellType": device.chain.leaf_type,
        "cellAddress": f"{device.address}-opp",
        "cellState": device.state.value,
        "cellHealthiness": _health(healthy=device.host.healthy),
        "cellPriority": OPPORTUNISTIC,
        "physicalCell": {"cellAddress": device.address},
    }


def _physical(cell: PhysicalCell) -> dict[str, Any]:
    children = [_physical(child) for child in cell.children]
    holder = None
    if isinstance(cell, Device):
        holder = reserver(cell) or owner(cell)
        state, priority = cell.state.value, cell.priority
        healthy = cell.host.healthy
    else:
        state = "Used" if any(x["cellState"] != "Free" for x in children) else "Free"
        priority = max(x["cellPriority"] for x in children)
        bad = any(x["cellHealthiness"] == "Bad" for x in children)
        healthy = not bad
    shown = {**_cell(cell, state, priority, healthy=healthy), "cellChildren": children}
    if cell.virtual is not None:
        shown |= {"vc": cell.virtual.tenant.name, "virtualCell": {"cellAddress": cell.virtual.address}}
    elif holder is not None:
        shown["vc"] = holder.spec.virtual_cluster
    return shown


def _virtual(cell: VirtualCell, healthy: bool) -> dict[str, Any]:
    """Of cells that are bound to nothing yet, the health is that of the preassigned cell."""
    physical = cell.physical
    children = [_virtual(child, healthy) for child in cell.children]
    if children:
        state = "Used" if any(x["cellState"] != "Free" for x in children) else "Free"
        priority = max(x["cellPriority"] for x in children)
    else:
        priority = cell.priority
        device = physical if isinstance(physical, Device) and priority != FREE else None
        state = device.state.value if device is not None else "Free"
    if isinstance(physical, PhysicalCell):
        healthy = all(device.host.healthy for device in physical.devices())
    shown = {**_cell(cell, state, priority, healthy=healthy), "cellChildren": children}
    if physical is not None:
        shown["physicalCell"] = {"cellAddress": physical.address}
    return shown


def _cell(cell: PhysicalCell | VirtualCell, state: str, priority: int, *, healthy: bool) -> dict[str, Any]:
    return {
        "leafCellType": cell.chain.leaf_type,
        "cellType": cell.chain.types[cell.level],
        "isNodeLevel": cell.level == cell.chain.node,
        "cellAddress": cell.address,
        "cellState": state,
        "cellHealthiness": _health(healthy=healthy),
        "cellPriority": priority,
    }


def _health(*, healthy: bool) -> str:
    return "Healthy" if healthy else "Bad"
