"""What a decision comes to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runtime.cells import Device, VirtualCell
from runtime.gangs import Gang, Places, Slot, places
from runtime.pods import PodPlacement


@dataclass(frozen=True, slots=True)
class PodAssignment:
    """The leaf cells of a pod; with the virtual ones that they count for, if any."""

    devices: tuple[Device, ...]
    virtual: tuple[VirtualCell, ...]

    def slot(self) -> Slot:
        """As a place of a gang."""
        types = tuple(v.chain.types[v.top.level] for v in self.virtual) or ("",) * len(self.devices)
        place = PodPlacement(self.devices[0].host.name, tuple(d.index for d in self.devices), types)
        return Slot(place, self.devices)


@dataclass(frozen=True, slots=True)
class Placement:
    """Places for a whole gang."""

    chain: str
    assignments: tuple[PodAssignment, ...]
    """By pod."""
    demote: tuple[Gang, ...] = ()
    """Gangs that first have to lose their guarantee, and go on opportunistically."""
    peaceful: bool = False
    """No gang of the same virtual cluster is displaced or demoted."""

    def devices(self) -> Iterator[Device]:
        """All leaf cells."""
        return (device for assignment in self.assignments for device in assignment.devices)

    def places(self) -> Places:
        """As places of the gang."""
        slots: dict[int, list[Slot]] = {}
        virtual: dict[Device, VirtualCell | None] = {}
        for assignment in self.assignments:
            devices = assignment.devices
            virtual.update(zip(devices, assignment.virtual or (None,) * len(devices), strict=True))
            slots.setdefault(len(devices), []).append(assignment.slot())
        return places(self.chain, dict(sorted(slots.items())), virtual)


@dataclass(frozen=True, slots=True)
class NoPlace:
    """There is no place for a gang."""

    reason: str
    permanent: bool = False
    """There is none in an empty cluster either: only another configuration has one."""
