"""The state, as the inspect endpoints return it. The caller holds the partition's read lock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from generated.hived import AffinityGroupState, CellState
from runtime.answers import GangStatus
from runtime.cells import Cluster, Device, PhysicalCell, VirtualCell
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.inspect import top_cells
from runtime.lifecycle.follower import ApplicationFollower
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import owner, reserver
from runtime.service.failing import problem
from runtime.service.lifecycle_reporter import LifecycleReporter
from runtime.service.questions import time_text
from runtime.service.tracker import Tracker


def gang(status: GangStatus) -> dict[str, Any]:
    """An affinity group that has cells, in HiveD's shape."""
    nodes = _by_node(status)
    demotion = status.demotion
    preempting = status.state is AffinityGroupState.PREEMPTING
    fields = {
        "vc": status.virtual_cluster,
        "priority": status.priority,
        "state": status.state.value,
        "physicalPlacement": nodes,
        "virtualPlacement": {top: list(cells) for top, cells in status.virtual_placement.items()},
        "allocatedPods": [pod.uid for pod in status.allocated],
        "preemptingPods": [pod.uid for pod in status.waiting] if preempting else [],
        "lazyPreemptionStatus": {"preemptor": demotion.preemptor, "preemptionTime": time_text(demotion.time)}
        if demotion is not None
        else None,
    }
    required = ("vc", "priority", "state")
    present = {name: value for name, value in fields.items() if value or name in required}
    return {"metadata": {"name": status.name}, "status": present}


def has_cells(status: GangStatus) -> bool:
    """Whether HiveD would know the gang: it forgets those that wait."""
    return status.state is not AffinityGroupState.PENDING


def full_gang(status: GangStatus) -> dict[str, Any]:
    """Any gang, with all fields."""
    demotion = status.demotion
    return {
        "name": status.name,
        "virtualCluster": status.virtual_cluster,
        "priority": status.priority,
        "state": status.state.value,
        "physicalPlacement": _by_node(status),
        "virtualPlacement": {top: list(cells) for top, cells in status.virtual_placement.items()},
        "allocatedPods": [pod.uid for pod in status.allocated],
        "waitingPods": [pod.uid for pod in status.waiting],
        "demotion": {"preemptor": demotion.preemptor, "time": time_text(demotion.time)}
        if demotion is not None
        else None,
        "failure": status.never or None,
    }


def _by_node(status: GangStatus) -> dict[str, list[int]]:
    nodes: dict[str, list[int]] = {}
    for place in status.placement:
        nodes.setdefault(place.node, []).extend(place.leaf_cells)
    return {node: sorted(indices) for node, indices in nodes.items()}


def problems(allocator: DurableAllocator, tracker: Tracker) -> dict[str, Any]:
    """Pods on which something cannot be understood, or contradicts where they run, and those that are refused."""
    problematic = [(tracked, text) for tracked in tracker.pods() if (text := problem(allocator, tracked))]
    return {
        "items": [
            {
                "pod": tracked.seen.key,
                "uid": tracked.seen.uid,
                "phase": tracked.phase.value,
                "problem": text,
                "node": tracked.info.node if tracked.info is not None else tracked.seen.node,
                "devices": list(tracked.info.leaf_cells) if tracked.info is not None else [],
                "gang": tracked.pod.spec.gang.name if tracked.pod is not None else "",
            }
            for tracked, text in problematic
        ]
    }


def application_follower(reporter: LifecycleReporter) -> ApplicationFollower:
    """The lives of gangs, where they are followed; raises `UserError` where they are not."""
    if reporter.follower is None:
        raise UserError(
            f"gang life cycles are no longer tracked, after {reporter.faults} faults; see the log"
            if reporter.faults
            else "gang life cycles are not tracked: the service was started with --no-lives"
        )
    return reporter.follower


def applications(reporter: LifecycleReporter) -> dict[str, Any]:
    """The lives of all gangs."""
    return {**application_follower(reporter).overview(), "faults": reporter.faults}


# Cells, in HiveD's shape: it omits what is empty, and shows with each bound cell its counterpart, without children


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
    healths = [top.healthy for top in top_cells(cluster, tenant)]
    trees = [_virtual(top, healthy) for top, healthy in zip(tenant.tops, healths, strict=True)]
    for forest in cluster.forests.values():
        trees += [_opportunistic(x, name) for x in forest.devices() if _is_opportunistic(x, name)]
    return trees


def _is_opportunistic(device: Device, tenant: str) -> bool:
    gang = owner(device) if reserver(device) is None else None
    return gang is not None and gang.priority == OPPORTUNISTIC and gang.spec.virtual_cluster == tenant


def _opportunistic(device: Device, tenant: str) -> dict[str, Any]:
    health = _health(healthy=device.host.healthy)
    mirrored = _cell(device, CellState.USED.value, OPPORTUNISTIC, health)
    return {**mirrored, "cellAddress": f"{device.address}-opp", "physicalCell": {**mirrored, "vc": tenant}}


def _physical(cell: PhysicalCell) -> dict[str, Any]:
    children = [_physical(child) for child in cell.children]
    holder = None
    if isinstance(cell, Device):
        holder = reserver(cell) or owner(cell)
        state, priority, health = cell.state.value, cell.priority, _health(healthy=cell.host.healthy)
    else:
        state = _common_state(x["cellState"] for x in children)
        priority = max(x["cellPriority"] for x in children)
        health = _health(healthy=all(x["cellHealthiness"] == "Healthy" for x in children))
    tree = _cell(cell, state, priority, health)
    if children:
        tree["cellChildren"] = children
    if cell.virtual is not None:
        tree["vc"] = cell.virtual.tenant.name
        tree["virtualCell"] = _cell(cell.virtual, state, priority, health)
    elif holder is not None and holder.spec.virtual_cluster:
        tree["vc"] = holder.spec.virtual_cluster
    return tree


def _virtual(cell: VirtualCell, healthy: bool) -> dict[str, Any]:
    """Of cells that are bound to nothing yet, the health is that of the preassigned cell."""
    physical = cell.physical
    if isinstance(physical, PhysicalCell):
        healthy = all(device.host.healthy for device in physical.devices())
    children = [_virtual(child, healthy) for child in cell.children]
    priority = max(x["cellPriority"] for x in children) if children else cell.priority
    state = _state(physical) if isinstance(physical, PhysicalCell) else CellState.FREE.value
    health = _health(healthy=healthy)
    tree = _cell(cell, state, priority, health)
    if children:
        tree["cellChildren"] = children
    if isinstance(physical, PhysicalCell):
        tree["physicalCell"] = {**_cell(physical, state, priority, health), "vc": cell.tenant.name}
    return tree


def _state(cell: PhysicalCell) -> str:
    return _common_state(device.state.value for device in cell.devices())


def _common_state(states: Iterable[str]) -> str:
    """That of a cell whose parts are in these: theirs, where they agree; else something of it is used."""
    different = set(states)
    return different.pop() if len(different) == 1 else CellState.USED.value


def _cell(cell: PhysicalCell | VirtualCell, state: str, priority: int, health: str) -> dict[str, Any]:
    """A cell without its children; only top cells name their type of leaf, and only nodes say that they are one."""
    chain = cell.chain
    return {
        **({"leafCellType": chain.leaf_type} if cell.parent is None else {}),
        "cellType": chain.types[cell.level],
        **({"isNodeLevel": True} if cell.level == chain.node else {}),
        "cellAddress": cell.address,
        "cellState": state,
        "cellHealthiness": health,
        "cellPriority": priority,
    }


def _health(*, healthy: bool) -> str:
    return "Healthy" if healthy else "Bad"
