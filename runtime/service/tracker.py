"""What is known of pods and nodes, apart from where they are placed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from time import time

from runtime.cells import Cluster
from runtime.pods import BindInfo, Pod
from runtime.service.objects import NodeObject, PodObject


class PodPhase(Enum):
    """How far a pod has come."""

    WAITING = "Waiting"
    PREEMPTING = "Preempting"
    BINDING = "Binding"
    """It has its place, and has not been reported bound yet."""
    BOUND = "Bound"


@dataclass(slots=True)
class Tracked:
    """A pod that is to be scheduled here."""

    seen: PodObject
    """As it was seen first. What it asks for may change until it has a place."""
    pod: Pod | None
    problem: str = ""
    """Why what is written on it cannot be understood, or cannot be; empty where all is well."""
    phase: PodPhase = PodPhase.WAITING
    info: BindInfo | None = None
    """Its place, from when it is binding."""
    running: bool = False
    """Its node has said so."""
    leaving: bool = False
    """Its deletion has been requested."""
    attempts: int = 0
    """How often its place was asked for after it had been given."""
    since: float = field(default_factory=time)
    """When this process saw it first, in seconds since the epoch."""
    journaled: bool = False
    """It is known from the journal, and the cluster has not told of it yet."""

    reason: str = ""
    """Why it has not been admitted, if it is gated."""

    @property
    def by_gate(self) -> bool:
        """Whether it is admitted by us, and bound by whatever scheduler it has: nobody asks for its place."""
        return self.seen.gated or bool(self.seen.admitted_to)


class Tracker:
    """All pods and nodes that are known."""

    def __init__(self) -> None:
        self._pods: dict[str, Tracked] = {}
        self._keys: dict[str, str] = {}
        self.nodes: dict[str, NodeObject] = {}

    def pod(self, uid: str) -> Tracked | None:
        """By uid."""
        return self._pods.get(uid)

    def by_key(self, key: str) -> Tracked | None:
        """By namespace and name."""
        return self._pods.get(self._keys.get(key, ""))

    def pods(self) -> Iterator[Tracked]:
        """All pods."""
        return iter(self._pods.values())

    def lost(self, node: str, cluster: Cluster) -> str:
        """A node and why no pod can be bound to it any more, in words; empty where one can."""
        if node not in cluster.nodes:
            return f"node {node}, which is no longer configured"
        return f"node {node}, which was deleted" if node not in self.nodes else ""

    def add(self, tracked: Tracked) -> None:
        """Another pod."""
        self._pods[tracked.seen.uid] = tracked
        self._keys[tracked.seen.key] = tracked.seen.uid

    def remove(self, tracked: Tracked) -> None:
        """A pod is gone."""
        del self._pods[tracked.seen.uid]
        if self._keys.get(tracked.seen.key) == tracked.seen.uid:
            del self._keys[tracked.seen.key]
