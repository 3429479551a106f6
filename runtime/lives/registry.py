"""What all lives share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Protocol

from generated.confine.actions import SliceActions, SliverActions
from generated.grove.actions import PodGangActions
from generated.yunikorn.core.actions import ApplicationActions, NodeActions, ObjectStateActions
from generated.yunikorn.shim.actions import ShimApplicationActions, ShimNodeActions, TaskActions
from runtime.answers import Answer, GangStatus, Phase
from runtime.cells import Cluster
from runtime.config import Configuration
from runtime.lives.hosts import Host
from runtime.lives.life import Life, Slot
from runtime.lives.orders import Act, Order
from runtime.lives.queues import Queues
from runtime.lives.submission import Settings
from runtime.lives.timers import Timers
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


@dataclass(slots=True, eq=False)
class Registry:
    """All applications, queues and nodes, and what has changed since somebody looked."""

    allocator: Allocating
    settings: Settings
    timers: Timers
    actions: Actions
    queues: Queues
    sizes: dict[str, int]
    """By node that is configured: how many leaf cells it has."""
    settle: Callable[[Life], None]
    """Does what the latest moves of a gang call for."""
    hosts: dict[str, Host] = field(default_factory=dict)
    lives: dict[str, Life] = field(default_factory=dict)
    past: dict[str, Life] = field(default_factory=dict)
    """Applications that are completed or have failed, until they expire; by name and number."""
    pods: dict[str, Slot] = field(default_factory=dict)
    """By uid."""
    made: int = 0
    """How many applications have come."""
    freed: int = 0
    """Counts what may help those that wait."""
    orders: list[Order] = field(default_factory=list)
    dirty: dict[Life, None] = field(default_factory=dict)
    """Lives that have moved, and are to be looked after."""
    journaled: bool = False
    changed: set[str] = field(default_factory=set)
    """Keys of what is different from what is journaled."""

    def note(self, *keys: str) -> None:
        """Something is different from what is journaled."""
        if self.journaled:
            self.changed.update(keys)

    def check_invariants(self) -> None:
        """Raises `InvariantBroken` where a machine is not as it always must be."""
        self.queues.system.check_invariants()
        for host in self.hosts.values():
            host.system.check_invariants()
        for life in self.lives.values():
            life.check_invariants()

    def order(self, slot: Slot, act: Act) -> None:
        """The agent of its node is to do something with a pod."""
        if not self.settings.prompt:
            self.orders.append(Order(act, slot.uid, slot.node, slot.leaf_cells))


def sizes(allocator: Allocating) -> dict[str, int]:
    """By node that is configured: how many leaf cells it has."""
    nodes = allocator.cluster.nodes.items()
    return {name: sum(1 for cell in cells for _ in cell.devices()) for name, cells in nodes}
