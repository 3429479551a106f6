"""What each virtual cluster has of the devices, and which of its gangs wait: one look at all gangs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from runtime.cells import Cluster, VirtualCluster
from runtime.gangs import Gang
from runtime.pods import OPPORTUNISTIC


@dataclass(slots=True)
class Share:
    """Of one virtual cluster, in devices."""

    promised: int = 0
    lent: int = 0
    """In cells that stand for its own now, and used by opportunistic gangs, whoever they belong to."""
    used: int = 0
    """By its gangs, with a guarantee."""
    opportunistic: int = 0
    """Used by its gangs, without a guarantee."""
    running: list[Gang] = field(default_factory=list)
    """Its gangs that have places."""
    waiting: list[Gang] = field(default_factory=list)
    failing: list[Gang] = field(default_factory=list)
    """Its gangs that can have no place in this configuration."""


def shares(cluster: Cluster, gangs: Iterable[Gang]) -> dict[str, Share]:
    """By virtual cluster. Gangs of virtual clusters that are not configured are under an empty name.

    Costs a look at each gang and at each preassigned cell, but none at devices.
    """
    by_tenant = {name: _promise(tenant) for name, tenant in cluster.tenants.items()} | {"": Share()}
    for gang in gangs:
        share = by_tenant.get(gang.spec.virtual_cluster) or by_tenant[""]
        if gang.is_waiting:
            (share.failing if gang.never else share.waiting).append(gang)
            continue
        share.running.append(gang)
        if gang.priority == OPPORTUNISTIC:
            share.opportunistic += len(gang.virtual)
        else:
            share.used += len(gang.virtual)
    return by_tenant


def _promise(tenant: VirtualCluster) -> Share:
    promised = sum(top.chain.leaves[top.level] for top in tenant.tops)
    return Share(promised, sum(top.physical.opportunistic for top in tenant.tops if top.physical is not None))
