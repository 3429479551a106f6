"""An allocator from what was written down: exactly as it was; or, where the configuration has changed, by recovery."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from generated.hived import AffinityGroupState
from runtime.answers import Demotion
from runtime.cells import Cluster, Device, VirtualCell
from runtime.cycle import Cycle
from runtime.gangs import Gang, Places, Slot, places
from runtime.images import CONFIGURATION, KINDS, DeviceImage, GangImage, PodImage, read_gang, read_pod
from runtime.pods import BindInfo, Pod

PREEMPTING = AffinityGroupState.PREEMPTING
HAVE_PLACES = (AffinityGroupState.ALLOCATED, AffinityGroupState.BEING_PREEMPTED)


@dataclass(frozen=True, slots=True)
class Written:
    """What was written down."""

    configuration: str
    nodes: dict[str, bool]
    gangs: dict[str, GangImage]
    pods: dict[str, PodImage]
    """By uid, in the order in which they came, or got their places."""

    def bound(self) -> list[tuple[Pod, BindInfo | None]]:
        """Pods with what is written on those that have a place, as recovery wants it."""
        return [(image.pod, self._info(image)) for image in self.pods.values()]

    def _info(self, image: PodImage) -> BindInfo | None:
        if image.slot_index < 0:
            return None
        gang = self.gangs[image.pod.spec.gang.name]
        place = gang.slots[image.pod.spec.leaf_cells][image.slot_index].place
        written = tuple(tuple(slot.place for slot in same) for same in gang.slots.values())
        return BindInfo(place.node, place.leaf_cells, gang.chain, written)


def read(images: Mapping[str, str]) -> Written:
    """From the map of a journal."""
    by_kind: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    for key, text in images.items():
        kind, _, name = key.partition("/")
        if kind in by_kind:
            by_kind[kind][name] = text
    gangs = {name: read_gang(text) for name, text in by_kind["gang"].items()}
    return Written(
        json.loads(images.get(CONFIGURATION, '""')),
        {name: json.loads(text) for name, text in by_kind["node"].items()},
        gangs,
        {uid: read_pod(uid, text, gangs) for uid, text in by_kind["pod"].items()},
    )


def rebuild(cycle: Cycle, written: Written) -> None:
    """Makes a new allocator what it was. The configuration must be the same.

    Gangs that have places take them by the event that gave them to them; then those that preempt reserve theirs, by
    which their victims learn of it again.
    """
    for name, healthy in written.nodes.items():
        cycle.set_health(name, healthy=healthy)
    gangs = {name: Gang(image.spec, cycle.cluster.system) for name, image in written.gangs.items()}
    for name, image in written.gangs.items():
        gang = cycle.gangs[name] = gangs[name]
        if image.demotion is not None:
            gang.demote(image.demotion)
        if image.slots:
            gang.settle(_places(cycle.cluster, image))
        if image.state in HAVE_PLACES:
            gang.machine.schedule(frozenset(device.machine for device in gang.virtual))
    for name, image in written.gangs.items():
        if image.state is PREEMPTING:
            _preempt(cycle.cluster, gangs[name])
    for uid, pod in written.pods.items():
        gang = gangs[pod.pod.spec.gang.name]
        cycle.homes[uid] = gang
        if pod.slot_index < 0:
            gang.waiting[uid] = pod.pod
        else:
            gang.assign(pod.pod, gang.places.slots[pod.pod.spec.leaf_cells][pod.slot_index])


def _preempt(cluster: Cluster, gang: Gang) -> None:
    """By the same event, a gang whose victims are all gone would not wait: it gets one more that goes at once."""
    victim = None
    if all(device.machine.user is None for device in gang.virtual):
        device = next(iter(gang.virtual))
        victim = Gang(gang.spec, cluster.system)
        victim.demote(Demotion(gang.name, 0))
        victim.settle(places(gang.places.chain, {}, {device: None}))
        victim.machine.schedule(frozenset([device.machine]))
    gang.machine.schedule(frozenset(device.machine for device in gang.virtual))
    if victim is not None:
        victim.machine.pods_deleted()
        cluster.system.remove(victim.machine)


def _places(cluster: Cluster, image: GangImage) -> Places:
    slots: dict[int, list[Slot]] = {}
    virtual: dict[Device, VirtualCell | None] = {}
    for size, same in image.slots.items():
        slots[size] = []
        for slot in same:
            pairs = [_device(cluster, image.spec.virtual_cluster, device) for device in slot.devices]
            virtual.update(pairs)
            slots[size].append(Slot(slot.place, tuple(device for device, _ in pairs)))
    return places(image.chain, slots, virtual)


def _device(cluster: Cluster, tenant: str, image: DeviceImage) -> tuple[Device, VirtualCell | None]:
    chain, position, top, inside = image
    device = cluster.forests[chain].levels[1][position]
    assert isinstance(device, Device), "level 1 has the leaf cells"
    if top < 0:
        return device, None
    cell = cluster.tenants[tenant].tops[top]
    while cell.children:
        size = cell.chain.leaves[cell.level - 1]
        cell, inside = cell.children[inside // size], inside % size
    return device, cell
