"""What the allocator answers when it is asked to schedule a pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from generated.hived import AffinityGroupState, CellState
from runtime.pods import BindInfo, Pod, PodPlacement


class Phase(Enum):
    """For what the nodes are offered."""

    FILTERING = "Filtering"
    """They fit as they are. Asking changes nothing."""
    PREEMPTING = "Preempting"
    """They fit when weaker pods are killed. Asking may begin a preemption."""
    EVICTING = "Evicting"
    """They fit as they are, and who asks evicts the pods in the way itself. Asking may begin a preemption."""


@dataclass(frozen=True, slots=True)
class Bind:
    """The pod has a place."""

    node: str
    leaf_cells: tuple[int, ...]
    info: BindInfo
    """To be stored with the pod, and given back to `allocate` and `recover`."""


@dataclass(frozen=True, slots=True)
class Preempt:
    """The pod has a place once these are gone: whole gangs, by the node that each pod is on."""

    victims: Mapping[str, tuple[Pod, ...]]

    def pods(self) -> Iterator[Pod]:
        """All of them."""
        return (pod for pods in self.victims.values() for pod in pods)


@dataclass(frozen=True, slots=True)
class Wait:
    """There is no place now."""

    reason: str
    permanent: bool = False
    """There is none in an empty cluster either. Only another configuration makes room."""


Answer: TypeAlias = Bind | Preempt | Wait


@dataclass(frozen=True, slots=True)
class Demotion:
    """A gang that has lost its guaranteed cells to a stronger one, and goes on opportunistically."""

    preemptor: str
    """Empty if no other gang has them: they are gone from the configuration."""
    time: float
    """Seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class GangStatus:
    """What there is to say of a gang."""

    name: str
    virtual_cluster: str
    priority: int
    state: AffinityGroupState
    placement: tuple[PodPlacement, ...]
    """Of all its pods; empty while it is pending."""
    virtual_placement: Mapping[str, tuple[str, ...]]
    """Addresses of leaf cells by that of the preassigned cell."""
    allocated: tuple[Pod, ...]
    waiting: tuple[Pod, ...]
    demotion: Demotion | None
    never: str = ""
    """Why it can have no place in this configuration; empty where it may have one."""


@dataclass(frozen=True, slots=True)
class LeafCell:
    """What there is to say of a leaf cell."""

    node: str
    index: int
    chain: str
    address: str
    state: CellState
    priority: int
    """Of the gang that it is reserved for, else of the gang that uses it; -2 if neither exists."""
    owner: str | None
    reserver: str | None
    healthy: bool
    virtual: str | None
    """The address of the virtual leaf cell that it stands for."""


@dataclass(frozen=True, slots=True)
class TopCell:
    """A preassigned cell of a virtual cluster."""

    address: str
    chain: str
    cell_type: str
    pinned: str
    """The identifier, if it is a pinned cell."""
    free: bool
    """All of it is unused."""
    healthy: bool
    """Of a cell in use: whether all its nodes are. Of a free one: whether a healthy cell could be had for it."""
    physical: str | None
    """The address of the physical cell that it stands for now."""
