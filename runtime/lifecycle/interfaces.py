"""What lives need of an allocator, and what their machines call for."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from generated.confine.actions import SliceActions, SliverActions
from generated.grove.actions import PodGangActions
from generated.yunikorn.core.actions import ApplicationActions, NodeActions, ObjectStateActions
from generated.yunikorn.shim.actions import ShimApplicationActions, ShimNodeActions, TaskActions
from runtime.answers import Answer, GangStatus, Phase
from runtime.cells import Cluster
from runtime.config import Configuration
from runtime.pods import BindInfo, Pod


class Allocating(Protocol):
    """What is needed of an allocator: `Allocator` and `DurableAllocator` have it."""

    configuration: Configuration

    @property
    def cluster(self) -> Cluster:
        """All cells, to look at."""

    def node_healthy(self, name: str) -> None:
        """A node can be used."""

    def node_bad(self, name: str) -> None:
        """A node cannot be used any more."""

    def submit(self, pod: Pod) -> None:
        """A pod is there."""

    def schedule(
        self, pod: Pod, suggested_nodes: Iterable[str] | None = None, phase: Phase = Phase.FILTERING
    ) -> Answer:
        """Where a pod can go."""

    def allocate(self, pod: Pod, bind_info: BindInfo) -> None:
        """A pod gets its place."""

    def delete(self, pod: Pod) -> None:
        """A pod is gone."""

    def group(self, name: str) -> GangStatus | None:
        """A gang."""


@dataclass(frozen=True, slots=True)
class Actions:
    """What the machines call for."""

    core: ApplicationActions
    shim: ShimApplicationActions
    task: TaskActions
    gang: PodGangActions
    work: SliceActions
    part: SliverActions
    queue: ObjectStateActions
    node: NodeActions
    host: ShimNodeActions


def sizes(allocator: Allocating) -> dict[str, int]:
    """By node that is configured: how many leaf cells it has."""
    nodes = allocator.cluster.nodes.items()
    return {name: sum(1 for cell in cells for _ in cell.devices()) for name, cells in nodes}
