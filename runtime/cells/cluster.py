"""The cluster as configured: physical cells, virtual clusters, and pinned cells."""

from __future__ import annotations

from collections import defaultdict

from generated.hived import System
from generated.hived.actions import CellActions
from runtime.cells.cell import DeviceMachine, PhysicalCell, View, VirtualCluster
from runtime.cells.forest import Forest
from runtime.config.model import Configuration, TenantSpec
from runtime.config.physical import pins
from runtime.config.quota import promised
from runtime.errors import ConfigurationError, Problem


class Cluster:
    """All cells. Every node is bad until it is reported healthy."""

    __slots__ = ("forests", "nodes", "pinned", "system", "tenants")

    def __init__(self, configuration: Configuration) -> None:
        self.system = System()
        tenants = configuration.tenants.values()
        self.forests = {
            name: Forest(spec, promised(spec, tenants)) for name, spec in sorted(configuration.forests.items())[::-1]
        }
        """Chains in the order in which they are tried: by name, descending."""
        self.nodes: dict[str, list[PhysicalCell]] = defaultdict(list)
        """A machine may be a node of several chains."""
        self.pinned: dict[str, PhysicalCell] = {}
        for forest in self.forests.values():
            for node in forest.levels[forest.chain.node]:
                self.nodes[node.name].append(node)
        for name, spec in configuration.forests.items():
            if any(pins(spec)):
                cells = (cell for level in self.forests[name].levels for cell in level)
                self.pinned.update((cell.pinned, cell) for cell in cells if cell.pinned)
        self.tenants = {tenant.name: self._tenant(tenant) for tenant in tenants}
        self._check_pins()

    def _tenant(self, spec: TenantSpec) -> VirtualCluster:
        tenant = VirtualCluster(spec.name)
        for quota in spec.quotas:
            chain = self.forests[quota.chain].chain
            view = tenant.views.setdefault(quota.chain, View(tenant, chain))
            for _ in range(quota.number):
                tenant.tops.append(view.add(quota.level, str(len(tenant.tops))))
            tenant.unallocated[quota.chain, quota.level] += quota.number
        for pin in spec.pinned:
            cell = self.pinned[pin]
            view = tenant.pinned[pin] = View(tenant, cell.chain)
            top = view.add(cell.level, str(len(tenant.tops)))
            top.pinned, top.physical, cell.virtual = pin, cell, top
            tenant.tops.append(top)
            view.toggle(top)
            self.forests[cell.chain.name].take(cell)
        for view in (*tenant.views.values(), *tenant.pinned.values()):
            view.close()
            for node in view.nodes:
                view.mark(node)
        return tenant

    def _check_pins(self) -> None:
        """Quotas count cells; where the pinned ones are decides whether enough whole ones are left."""
        problems = [
            Problem(
                "virtualClusters",
                None,
                f"the pinned cells of chain {name} leave too few whole cells of type {forest.chain.types[level]}",
                "pin cells that are close together",
            )
            for name, forest in self.forests.items()
            for level, spare in enumerate(forest.lists.spare())
            if spare < 0
        ]
        if problems:
            raise ConfigurationError(problems)

    def bind_actions(self, actions: CellActions) -> None:
        """Gives every leaf cell its life cycle."""
        for forest in self.forests.values():
            for device in forest.devices():
                device.machine = DeviceMachine(self.system, actions, device)
