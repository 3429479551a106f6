"""The state of gangs and cells, for display. Computes on demand what decisions do not need."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from runtime.answers import GangStatus, LeafCell, TopCell
from runtime.cells import Cluster, Device, Forest, VirtualCell, VirtualCluster
from runtime.cells.bits import each, span
from runtime.gangs import Gang
from runtime.preemption.victims import owner, reserver


def gang_status(gang: Gang) -> GangStatus:
    """A gang as it is now."""
    virtual: dict[str, list[str]] = defaultdict(list)
    for cell in gang.virtual.values():
        if cell is not None:
            virtual[cell.top.address].append(cell.address)
    return GangStatus(
        gang.name,
        gang.spec.virtual_cluster,
        gang.spec.priority,
        gang.state,
        tuple(gang.places.placements),
        {top: tuple(cells) for top, cells in virtual.items()},
        gang.allocated,
        tuple(gang.waiting.values()),
        gang.demotion,
        gang.never,
    )


def leaf_cell(device: Device) -> LeafCell:
    """A leaf cell as it is now."""
    user, waiting = owner(device), reserver(device)
    return LeafCell(
        device.host.name,
        device.index,
        device.chain.name,
        device.address,
        device.state,
        device.priority,
        user.name if user is not None else None,
        waiting.name if waiting is not None else None,
        device.host.healthy,
        device.virtual.address if device.virtual is not None else None,
    )


def top_cells(cluster: Cluster, tenant: VirtualCluster) -> Iterator[TopCell]:
    """The preassigned cells of a virtual cluster.

    A free one has no physical cell that could be bad. But when fewer healthy cells of its kind can be had than the
    virtual cluster has free ones, the last of these are doomed to be bad, and are shown so.
    """
    doomed = _doomed(cluster, tenant)
    for top in tenant.tops:
        physical = top.physical
        forest = cluster.forests[top.chain.name]
        healthy = forest.is_healthy(physical) if physical is not None else top not in doomed
        yield TopCell(
            top.address,
            top.chain.name,
            top.chain.types[top.level],
            top.pinned,
            _unused(top),
            healthy,
            physical.address if physical is not None else None,
        )


def _unused(top: VirtualCell) -> bool:
    if top.pinned and not top.children:
        return top.priority < 0
    return not top.bound if top.pinned else top.physical is None


def _doomed(cluster: Cluster, tenant: VirtualCluster) -> set[VirtualCell]:
    doomed: set[VirtualCell] = set()
    for (chain, level), free in tenant.unallocated.items():
        forest = cluster.forests[chain]
        lacking = max(0, free - healthy_obtainable(forest, level))
        if lacking:
            doomed.update(list(tenant.views[chain].free_tops(level))[-lacking:])
    return doomed


def healthy_obtainable(forest: Forest, level: int) -> int:
    """How many cells of a level are free, or can be split off from free ones, and have no bad node."""
    chain, bad = forest.chain, 0
    for above in range(level, chain.top + 1):
        size = chain.below(above, level)
        inside = span(0, size)
        for position in each(forest.lists.free[above] & forest.damaged[above]):
            bad += (forest.damaged[level] >> position * size & inside).bit_count()
    return forest.lists.obtainable(level) - bad
