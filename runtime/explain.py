"""What a configuration comes to, in words: for who brings one from HiveD, and wants to know before anything starts."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.cells import Cluster
from runtime.cells.cell import VirtualCluster
from runtime.config import Configuration


def explain(configuration: Configuration) -> Iterator[str]:
    """Lines: what there is of each kind of hardware, who is promised what of it, what is left, and what is odd."""
    cluster = Cluster(configuration)
    for name, forest in cluster.forests.items():
        chain = forest.chain
        path = " > ".join(reversed(chain.types[1:]))
        yield f"chain {name}: {len(forest.levels[chain.top])} of {path}; {len(forest.levels[1])} devices"
        yield f"  a node is a {chain.types[chain.node]}, with {chain.leaves[chain.node]} devices"
        promised = {(tenant.name, level): n for tenant in cluster.tenants.values() for level, n in _own(tenant, name)}
        for (who, level), number in promised.items():
            yield f"  {who} is promised {number} x {chain.types[level]} ({number * chain.leaves[level]} devices)"
        devices = sum(number * chain.leaves[level] for (_, level), number in promised.items())
        spare = forest.lists.obtainable(1) - devices
        yield f"  {spare} devices are promised to nobody" if spare else "  all devices are promised"
    for tenant in cluster.tenants.values():
        for pin, view in tenant.pinned.items():
            (top,) = view.tops
            where = top.physical.address if top.physical is not None else "?"
            yield f"pinned cell {pin}: {top.chain.types[top.level]} {where}, of {tenant.name}"
        if not tenant.tops:
            yield f"warning: {tenant.name} is promised nothing: all its gangs have to be opportunistic"
    settings = configuration.settings
    yield f"listens on {settings.web_server}; API server: {settings.kube_api_server or 'as the kubeconfig says'}"
    yield from (f"warning: {note}; ignored, as in HiveD" for note in configuration.notes)


def _own(tenant: VirtualCluster, chain: str) -> Iterator[tuple[int, int]]:
    view = tenant.views.get(chain)
    counts: dict[int, int] = {}
    for top in view.tops if view is not None else ():
        counts[top.level] = counts.get(top.level, 0) + 1
    yield from sorted(counts.items(), reverse=True)
