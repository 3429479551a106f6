"""Gangs, each with its life cycle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from generated.hived import AffinityGroup, AffinityGroupState, System
from runtime.answers import Demotion
from runtime.cells import Device, VirtualCell
from runtime.pods import BindInfo, Pod, PodPlacement, PodSpec

MAX_LEAVES = 1_000_000
"""Maximum number of leaf cells of a gang, to its machine. A larger gang waits for ever."""


class GangMachine(AffinityGroup):
    """The life cycle of a gang, and which gang it is."""

    __slots__ = ("gang",)

    def __init__(self, gang: Gang, size: int, *, demoted: bool = False) -> None:
        self.gang = gang
        super().__init__(gang.system, priority=gang.spec.priority, size=min(size, MAX_LEAVES), demoted=demoted)


@dataclass(slots=True)
class Slot:
    """A place for a pod of the gang."""

    place: PodPlacement
    devices: tuple[Device, ...]
    """Fewer than the place says where the configuration has lost some."""
    pod: Pod | None = None


@dataclass(frozen=True, slots=True)
class Places:
    """Where all pods of a gang go."""

    chain: str
    slots: dict[int, list[Slot]]
    """By size, rising."""
    virtual: dict[Device, VirtualCell | None]
    """All leaf cells, each with the virtual one that it counts for, if any."""
    written: tuple[tuple[PodPlacement, ...], ...]
    """As every pod of the gang has to remember it."""

    @property
    def placements(self) -> Iterator[PodPlacement]:
        """Of all pods."""
        return (place for same in self.written for place in same)

    @property
    def nodes(self) -> list[str]:
        """All nodes, by name."""
        return sorted({place.node for place in self.placements})

    def bind_info(self, slot: Slot) -> BindInfo:
        """What a pod in a slot has to remember."""
        return BindInfo(slot.place.node, slot.place.leaf_cells, self.chain, self.written)


def places(chain: str, slots: dict[int, list[Slot]], virtual: dict[Device, VirtualCell | None]) -> Places:
    """As they are written down, too."""
    return Places(chain, slots, virtual, tuple(tuple(s.place for s in same) for same in slots.values()))


NOWHERE = Places("", {}, {}, ())


@dataclass(slots=True, eq=False)
class Gang:
    """Pods that are placed all together or not at all."""

    spec: PodSpec
    """While it is pending, that of the pod that asked last; with its places, it is settled."""
    system: System
    machine: GangMachine = field(init=False)
    waiting: dict[str, Pod] = field(default_factory=dict)
    """By uid: pods that are known, and have no slot."""
    assigned: dict[str, Slot] = field(default_factory=dict)
    """By uid: the slots of the others."""
    places: Places = NOWHERE
    demotion: Demotion | None = None
    """Why and when it was demoted, if it is: that it is, its machine says."""
    never: str = ""
    """Why it can have no place in this configuration, as was decided last; empty where it may have one."""

    def __post_init__(self) -> None:
        self.machine = GangMachine(self, self.spec.gang.leaf_cells)

    @property
    def name(self) -> str:
        """What people call it."""
        return self.spec.gang.name

    @property
    def state(self) -> AffinityGroupState:
        """Where its life cycle is."""
        return self.machine.state

    @property
    def is_waiting(self) -> bool:
        """Whether it has no leaf cells yet: at most, it has reserved some."""
        return self.state in (AffinityGroupState.PENDING, AffinityGroupState.PREEMPTING)

    @property
    def priority(self) -> int:
        """As it counts now; -1 where it has no guarantee."""
        return self.machine.rank

    @property
    def virtual(self) -> dict[Device, VirtualCell | None]:
        """All its leaf cells, each with the virtual one that it counts for, if any."""
        return self.places.virtual

    @property
    def pods(self) -> tuple[Pod, ...]:
        """All that are known."""
        return (*self.waiting.values(), *self.allocated)

    @property
    def allocated(self) -> tuple[Pod, ...]:
        """Pods that have a slot."""
        return tuple(slot.pod for slot in self.assigned.values() if slot.pod is not None)

    @property
    def open_slots(self) -> list[Slot]:
        """Those of its places that have no pod."""
        return [slot for same in self.places.slots.values() for slot in same if slot.pod is None]

    def member(self, pod: Pod) -> Pod | None:
        """The pod of this uid, if it is one of the gang."""
        slot = self.assigned.get(pod.uid)
        return self.waiting.get(pod.uid) if slot is None else slot.pod

    def open_slot(self, size: int) -> Slot | None:
        """The first free slot of a size."""
        return next((slot for slot in self.places.slots.get(size, ()) if slot.pod is None), None)

    def assign(self, pod: Pod, slot: Slot) -> None:
        """A pod has a slot."""
        slot.pod = pod
        self.assigned[pod.uid] = slot
        self.waiting.pop(pod.uid, None)

    def leave(self, pod: Pod) -> None:
        """A pod is gone; its slot is free for another one."""
        self.waiting.pop(pod.uid, None)
        slot = self.assigned.pop(pod.uid, None)
        if slot is not None:
            slot.pod = None

    def specified_by(self, pod: Pod) -> bool:
        """Whether a pod says of the gang what the gang goes by."""
        spec = pod.spec
        return spec is self.spec or replace(spec, leaf_cells=self.spec.leaf_cells) == self.spec

    def respecify(self, spec: PodSpec) -> None:
        """It goes by another specification from now on; only a pending gang can."""
        self.spec = spec
        self.system.remove(self.machine)
        self.begin_anew()

    def settle(self, places: Places) -> None:
        """It will go there. If a new configuration lacks some of its leaf cells, it lives on with fewer."""
        self.places = places
        if len(places.virtual) != self.machine.size:
            self.system.remove(self.machine)
            self.machine = GangMachine(self, len(places.virtual), demoted=self.machine.demoted)

    def demote(self, demotion: Demotion) -> None:
        """It loses its guarantee, and keeps its leaf cells: these count for no virtual ones any more."""
        self.places.virtual.update(dict.fromkeys(self.places.virtual))
        self.demotion = demotion
        self.machine.demote()

    def unplace(self) -> None:
        """It is pending again, and has to look for other places."""
        self.places = NOWHERE

    def begin_anew(self) -> None:
        """Another life, when the old one is over although there are pods left."""
        self.places, self.demotion = NOWHERE, None
        self.machine = GangMachine(self, self.spec.gang.leaf_cells)
