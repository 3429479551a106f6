"""Nodes: how they register, whether they may be used, and whose pods are there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from generated.yunikorn.core import NodeState
from generated.yunikorn.shim import System
from runtime.errors import UserError
from runtime.lives.keys import host_key
from runtime.lives.life import Slot
from runtime.lives.machines import HostNode, HostShim

if TYPE_CHECKING:
    from runtime.lives.registry import Registry


@dataclass(slots=True, eq=False)
class Host:
    """A node that has been reported."""

    name: str
    registry: Registry
    system: System
    shim: HostShim
    node: HostNode
    ready: bool = False
    """As reported last; the machines do not know of it."""
    usable: bool = False
    """What the allocator was told."""
    slots: dict[str, Slot] = field(default_factory=dict)
    """By uid: pods that have their place there."""

    @property
    def fit(self) -> bool:
        """May something be placed there?"""
        return self.ready and self.node.state is NodeState.SCHEDULABLE

    def tell(self) -> None:
        """The allocator hears of it, if it can be used now and could not before, or the other way round."""
        registry = self.registry
        registry.note(host_key(self.name))
        if self.usable == self.fit:
            return
        self.usable = self.fit
        if self.usable:
            registry.allocator.node_healthy(self.name)
            registry.freed += 1
        else:
            registry.allocator.node_bad(self.name)


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
