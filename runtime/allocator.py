"""The allocator: gangs on cells, for virtual clusters that each get what they are promised."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import time

from runtime.answers import Answer, GangStatus, LeafCell, Phase, TopCell
from runtime.cells import Cluster
from runtime.config import Configuration, read_configuration
from runtime.cycle import Cycle
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.holding import Claim, hold
from runtime.inspect import gang_status, leaf_cell, top_cells
from runtime.pods import BindInfo, Pod
from runtime.recovery import Recovered, recover


@dataclass(frozen=True, slots=True)
class Tenant:
    """A virtual cluster, seen from outside."""

    name: str
    cells: tuple[TopCell, ...]


class Allocator:
    """Belongs to one thread at a time: each call is one step, and sees the steps before it whole.

    Every node is bad until it is reported healthy.
    """

    def __init__(self, configuration: Configuration, now: Callable[[], float] = time) -> None:
        self.configuration = configuration
        self._cluster = Cluster(configuration)
        self._cycle = Cycle(self._cluster, now)

    @classmethod
    def from_config(cls, source: str | Path | Mapping[str, object], now: Callable[[], float] = time) -> Allocator:
        """From HiveD's configuration: a path, or a mapping of the same form.

        Raises `ConfigurationError` with everything that is wrong in it.
        """
        return cls(read_configuration(source), now)

    @property
    def cluster(self) -> Cluster:
        """All cells, to look at."""
        return self._cluster

    @property
    def gangs(self) -> Mapping[str, Gang]:
        """All gangs of which pods are known, by name, to look at."""
        return self._cycle.gangs

    @property
    def homes(self) -> Mapping[str, Gang]:
        """By uid: the gang of each pod that is known."""
        return self._cycle.homes

    @property
    def core(self) -> Cycle:
        """What is beneath the calls below, for who builds an allocator anew, or listens to it."""
        return self._cycle

    # Nodes

    def node_healthy(self, name: str) -> None:
        """A node can be used. A name that is not configured means nothing."""
        self._cycle.set_health(name, healthy=True)

    def node_bad(self, name: str) -> None:
        """A node cannot be used any more, or is gone. What runs there keeps its leaf cells."""
        self._cycle.set_health(name, healthy=False)

    # Pods

    def submit(self, pod: Pod) -> None:
        """A pod is there. Scheduling it says so too; but a gang lasts as long as any pod of it is known to be there."""
        self._cycle.submit(pod)

    def schedule(
        self, pod: Pod, suggested_nodes: Iterable[str] | None = None, phase: Phase = Phase.FILTERING
    ) -> Answer:
        """Where a pod can go.

        In the filtering phase, asking changes nothing, but that the pod is known from now on: its gang lasts until
        all known pods are deleted. In the preempting phase, leaf cells are reserved when gangs must be displaced.
        `suggested_nodes` count for pods that do not ignore them; none means any node. Raises `UserError`.
        """
        return self._cycle.schedule(pod, suggested_nodes, phase)

    def allocate(self, pod: Pod, bind_info: BindInfo) -> None:
        """A pod gets its place: what `schedule` answered, or what is written on a pod that is bound already.

        The first pod of a gang takes the leaf cells of all. Raises `UserError` when the place cannot be had any more.
        """
        self._cycle.allocate(pod, bind_info)

    def hold(self, claim: Claim) -> tuple[Pod, BindInfo]:
        """A pod runs on these devices, and what is written on it cannot be understood: they count as taken.

        Answers the pod as it counts from now on, and its place. Raises `UserError` where there is nothing to book.
        """
        return hold(self._cycle, claim)

    def delete(self, pod: Pod) -> None:
        """A pod is gone, whether it was ever placed or not. A gang keeps its leaf cells until its last pod goes."""
        self._cycle.delete(pod)

    def recover(self, pods: Iterable[tuple[Pod, BindInfo | None]], nodes: Mapping[str, bool]) -> Recovered:
        """After a restart: all live pods with what is written on the bound ones, and all nodes with their health.

        The result does not depend on the order of either. Raises `UserError` unless the allocator is new.
        """
        if self._cycle.homes:
            raise UserError("only an allocator that knows no pods can recover")
        return recover(self._cycle, pods, nodes)

    # What there is

    def group(self, name: str) -> GangStatus | None:
        """A gang, by the name of its affinity group; none where no pod of it is known."""
        gang = self._cycle.gangs.get(name)
        return gang_status(gang) if gang is not None else None

    def groups(self) -> Iterator[GangStatus]:
        """All gangs of which pods are known."""
        return map(gang_status, self._cycle.gangs.values())

    def leaf_cells(self) -> Iterator[LeafCell]:
        """All leaf cells: chains by name, descending, each in the order of its tree."""
        return (leaf_cell(d) for forest in self._cluster.forests.values() for d in forest.devices())

    def virtual_clusters(self) -> Iterator[Tenant]:
        """All virtual clusters, in the order of the configuration, each with its preassigned cells."""
        for tenant in self._cluster.tenants.values():
            yield Tenant(tenant.name, tuple(top_cells(self._cluster, tenant)))
