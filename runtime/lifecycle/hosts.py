"""Nodes: how they are made and found, and what the allocator hears of them."""

from __future__ import annotations

from generated.yunikorn.shim import System
from runtime.errors import UserError
from runtime.lifecycle.keys import host_key
from runtime.lifecycle.registry import Host, HostNode, HostShim, Registry


def make(registry: Registry, name: str, *, cordoned: bool = False) -> Host:
    """A node that nothing has been heard of before."""
    system = System(registry.timers)
    shim = HostShim(system, registry.actions.host, schedulable=not cordoned)
    node = HostNode(system, registry.actions.node, partition=registry.queues.partition.machine)
    host = shim.host = node.host = Host(name, registry, system, shim, node)
    return host


def known(hosts: dict[str, Host], name: str) -> Host:
    """A node that has been reported."""
    host = hosts.get(name)
    if host is None:
        raise UserError(f"node {name} has not been reported")
    return host


def tell(host: Host) -> None:
    """Reports a node to the allocator, if it can be used now and could not before, or the other way round."""
    registry = host.registry
    registry.note(host_key(host.name))
    if host.usable == host.fit:
        return
    host.usable = host.fit
    if host.usable:
        registry.allocator.node_healthy(host.name)
        registry.freed += 1
    else:
        registry.allocator.node_bad(host.name)
