"""Answers to operators about nodes, virtual clusters and opportunistic gangs. Called under the partition lock."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from generated.hived import AffinityGroupState as State
from runtime.answers import GangStatus
from runtime.cells import Device, VirtualCluster
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.inspect import leaf_cell, top_cells
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import owner, reserver
from runtime.room import Room
from runtime.room import opportunistic as opportunistic_rooms
from runtime.service.failing import refused
from runtime.service.history import Event, History
from runtime.service.shares import Share, shares
from runtime.service.tracker import Tracker


def time_text(seconds: float) -> str:
    """RFC 3339, as Kubernetes writes times."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def event(entry: Event) -> dict[str, Any]:
    """One event."""
    return {
        "number": entry.number,
        "time": time_text(entry.time),
        "kind": entry.kind.value,
        "text": entry.text,
        "gang": entry.gang,
        "virtualCluster": entry.tenant,
        "nodes": list(entry.nodes),
        "others": list(entry.others),
        "pods": list(entry.pods),
    }


def events(entries: Iterable[Event]) -> dict[str, Any]:
    """Oldest first."""
    return {"items": [event(x) for x in entries]}


def usage(history: History, since: float) -> dict[str, Any]:
    """How full the cluster was, oldest first."""
    return {
        "items": [
            {
                "time": time_text(x.time),
                "guaranteed": x.guaranteed,
                "opportunistic": x.opportunistic,
                "devices": x.devices,
                "waiting": x.waiting,
            }
            for x in history.samples(since)
        ]
    }


def node(allocator: DurableAllocator, tracker: Tracker, history: History, name: str) -> dict[str, Any]:
    """What holds each device of a node, why it is bad, and what happened there. Raises `UserError`."""
    cells = allocator.cluster.nodes.get(name)
    if not cells:
        raise UserError(f"there is no node {name} in the configuration")
    seen = tracker.nodes.get(name)
    reason = "it is not in the cluster: Kubernetes has no node of this name" if seen is None else seen.reason
    devices = [x for cell in cells for x in cell.devices() if isinstance(x, Device)]
    return {
        "node": name,
        "healthy": cells[0].healthy,
        "reason": "" if cells[0].healthy else reason,
        "chains": [cell.chain.name for cell in cells],
        "devices": [_device(x) for x in devices],
        "gangs": [gang(x) for x in _distinct(y for x in devices for y in (owner(x), reserver(x)))],
        "events": [event(x) for x in history.events(node=name)],
    }


def _device(device: Device) -> dict[str, Any]:
    cell = leaf_cell(device)
    return {
        "index": cell.index,
        "chain": cell.chain,
        "state": cell.state.value,
        "gang": cell.owner,
        "reservedFor": cell.reserver,
        "virtualCell": cell.virtual,
    }


def gang(group: Gang) -> dict[str, Any]:
    """A gang, in a list."""
    return {
        "gang": group.name,
        "virtualCluster": group.spec.virtual_cluster,
        "priority": group.priority,
        "state": group.state.value,
        "devices": len(group.virtual) or group.spec.gang.leaf_cells,
        "nodes": group.places.nodes,
    }


def _distinct(gangs: Iterable[Gang | None]) -> list[Gang]:
    return list({id(x): x for x in gangs if x is not None}.values())


def tenants(allocator: DurableAllocator, tracker: Tracker, history: History) -> dict[str, Any]:
    """How full each virtual cluster is."""
    by_tenant = shares(allocator.cluster, allocator.gangs.values())
    unknown = list(refused(allocator, tracker))
    return {
        "items": [_tenant(allocator, history, name, by_tenant[name], unknown) for name in allocator.cluster.tenants]
    }


def tenant(allocator: DurableAllocator, tracker: Tracker, history: History, name: str) -> dict[str, Any]:
    """How full a virtual cluster is: devices that it is promised, uses with a guarantee, has lost to bad nodes, has
    lent, and uses beyond its promise. Raises `UserError`. Costs a look at all gangs."""
    if name not in allocator.cluster.tenants:
        raise UserError(f"there is no virtual cluster {name}; there are {', '.join(allocator.cluster.tenants)}")
    share = shares(allocator.cluster, allocator.gangs.values())[name]
    return _tenant(allocator, history, name, share, refused(allocator, tracker))


def _tenant(
    allocator: DurableAllocator, history: History, name: str, share: Share, unknown: Iterable[GangStatus]
) -> dict[str, Any]:
    """`unknown`: gangs that are refused, of any virtual cluster."""
    waiting = sorted(share.waiting, key=lambda x: (-x.spec.priority, history.waiting_since(x.name), x.name))
    since = {x.name: time_text(history.waiting_since(x.name)) for x in waiting}
    return {
        "virtualCluster": name,
        "promised": share.promised,
        "used": share.used,
        "free": share.promised - share.used,
        "bad": _bad(allocator, allocator.cluster.tenants[name]),
        "lent": share.lent,
        "opportunistic": share.opportunistic,
        "gangs": len(share.running),
        "waitingDevices": sum(x.spec.gang.leaf_cells for x in waiting),
        "waitsLongest": min(waiting, key=lambda x: (history.waiting_since(x.name), x.name)).name if waiting else None,
        "waiting": [{**gang(x), "since": since[x.name]} for x in waiting],
        "failing": [
            *({**gang(x), "failure": x.never} for x in share.failing),
            *(_refused_gang(x) for x in unknown if x.virtual_cluster == name),
        ],
        "running": [gang(x) for x in sorted(share.running, key=lambda x: (-len(x.virtual), x.name))],
    }


def _refused_gang(status: GangStatus) -> dict[str, Any]:
    return {
        "gang": status.name,
        "virtualCluster": status.virtual_cluster,
        "priority": status.priority,
        "state": status.state.value,
        "devices": status.waiting[0].spec.gang.leaf_cells,
        "nodes": [],
        "failure": status.never,
    }


def _bad(allocator: DurableAllocator, virtual_cluster: VirtualCluster) -> int:
    """Devices of preassigned cells on bad nodes; of free ones, those that no healthy cell can be had for."""
    tops = zip(virtual_cluster.tops, top_cells(allocator.cluster, virtual_cluster), strict=True)
    return sum(
        sum(not x.host.healthy for x in top.physical.devices() if isinstance(x, Device))
        if top.physical is not None
        else 0
        if seen.healthy
        else top.chain.leaves[top.level]
        for top, seen in tops
    )


def preemptions(history: History, since: float) -> dict[str, Any]:
    """How many gangs were preempted since a time, in seconds since the epoch, and how many pods they had; by virtual
    cluster of the victim. Virtual clusters without victims are left out."""
    gangs, pods = history.tally.since(since)
    return {
        "items": [
            {
                "virtualCluster": key.tenant,
                "victim": "guaranteed" if key.guaranteed else "opportunistic",
                "fate": key.fate.value,
                "gangs": count,
                "pods": pods[key],
            }
            for key, count in sorted(gangs.items(), key=lambda x: (x[0].tenant, not x[0].guaranteed, x[0].fate.value))
        ]
    }


def room(space: Room) -> dict[str, Any]:
    """The largest gang of a kind that fits now."""
    kind = space.kind
    return {
        "virtualCluster": kind.tenant or None,
        "leafCellType": kind.leaf_type,
        "pinnedCellId": kind.pinned or None,
        "podDevices": kind.size,
        "pods": space.pods,
        "devices": space.devices,
        "free": space.free,
        "fragmentation": round(space.fragmentation, 4),
        "exact": space.exact,
    }


def opportunistic(allocator: DurableAllocator) -> dict[str, Any]:
    """Gangs that run without a guarantee: they leave first when cells are needed for a guarantee. And the largest ones
    that fit now."""
    gangs = [x for x in allocator.gangs.values() if x.virtual and x.priority == OPPORTUNISTIC]
    gangs.sort(key=lambda x: (x.state is not State.BEING_PREEMPTED, -len(x.virtual), x.name))
    return {
        "items": [
            {
                **gang(x),
                "demotedBy": x.demotion.preemptor if x.demotion is not None else None,
                "leavesFor": sorted({y.name for y in map(reserver, x.virtual) if y is not None}),
            }
            for x in gangs
        ],
        "fits": [room(x) for x in opportunistic_rooms(allocator.cluster)],
    }
