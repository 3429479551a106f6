"""What a pod asks for, and what is written down on it once it is bound."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from runtime.errors import UserError

OPPORTUNISTIC = -1
HIGHEST = 1000


@dataclass(frozen=True, slots=True)
class Member:
    """A number of pods of a gang, and the number of leaf cells for each."""

    pods: int
    leaf_cells: int


@dataclass(frozen=True, slots=True)
class GangSpec:
    """A gang: pods that are placed all together or not at all. HiveD calls it an affinity group."""

    name: str
    members: tuple[Member, ...]

    @property
    def sizes(self) -> dict[int, int]:
        """Pods by the number of leaf cells that they need, members of equal size taken together; sizes rise."""
        sizes: Counter[int] = Counter()
        for member in self.members:
            sizes[member.leaf_cells] += member.pods
        return dict(sorted(sizes.items()))

    @property
    def pods(self) -> int:
        """How many pods it has."""
        return sum(member.pods for member in self.members)

    @property
    def leaf_cells(self) -> int:
        """How many leaf cells all its pods need."""
        return sum(member.pods * member.leaf_cells for member in self.members)


@dataclass(frozen=True, slots=True)
class PodSpec:
    """What a pod asks for."""

    virtual_cluster: str
    priority: int
    leaf_cells: int
    gang: GangSpec
    leaf_type: str = ""
    """Empty: any."""
    pinned_cell: str = ""
    lazy_preemption: bool = False
    ignore_suggested: bool = True
    """Whether the gang may be placed on nodes that are not offered."""

    def check(self) -> None:
        """Refuses what cannot be meant, whatever the cluster."""
        self.check_form()
        if self.pinned_cell and self.priority == OPPORTUNISTIC:
            raise UserError(f"an opportunistic pod cannot ask for a pinned cell ({self.pinned_cell})")

    def check_form(self) -> None:
        """Refuses what no pod can be: HiveD does so when it reads the annotation, and the rest when the pod asks."""
        if not OPPORTUNISTIC <= self.priority <= HIGHEST:
            raise UserError(f"priority must be {OPPORTUNISTIC} (opportunistic) to {HIGHEST}, not {self.priority}")
        if self.leaf_cells < 1:
            raise UserError(f"a pod needs at least one leaf cell, not {self.leaf_cells}")
        if not self.gang.name:
            raise UserError("the gang has no name")
        for member in self.gang.members:
            if member.pods < 1 or member.leaf_cells < 1:
                raise UserError(f"gang {self.gang.name}: numbers of pods and leaf cells must be positive: {member}")
        if all(self.leaf_cells != m.leaf_cells for m in self.gang.members):
            raise UserError(f"gang {self.gang.name} has no member whose pods need {self.leaf_cells} leaf cells")


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod. Who it is, is its uid alone."""

    uid: str
    name: str = field(compare=False)
    spec: PodSpec = field(compare=False)
    namespace: str = field(default="default", compare=False)

    @property
    def key(self) -> str:
        """What people call it."""
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True, slots=True)
class PodPlacement:
    """Where a pod of the gang has its place."""

    node: str
    leaf_cells: tuple[int, ...]
    """Indices of devices on the node."""
    preassigned_types: tuple[str, ...]
    """By leaf cell: the type of the preassigned cell that it counts for; empty where it counts for none."""


@dataclass(frozen=True, slots=True)
class BindInfo:
    """What is written down on a bound pod: its own place, and that of its whole gang."""

    node: str
    leaf_cells: tuple[int, ...]
    chain: str
    gang: tuple[tuple[PodPlacement, ...], ...]
    """By pod size, rising, the places of all pods of that size."""
