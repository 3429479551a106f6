"""Bound pods that cannot be understood: their devices are booked as what they are, whatever is written on the pods.

A device that runs a pod and counts as free is given away a second time. So where the specification or the bind info of
a bound pod cannot be read, or contradicts its gang, the pod still has a gang, and its devices are taken: in the place
of its gang that these devices belong to, or else in a gang of its own, without a guarantee.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generated.hived import CellState
from runtime.cells import Device
from runtime.cycle import Cycle
from runtime.errors import UserError
from runtime.gangs import Gang, Slot, places
from runtime.pods import OPPORTUNISTIC, BindInfo, GangSpec, Member, Pod, PodPlacement, PodSpec
from runtime.preemption.victims import owner, reserver
from runtime.restore import find_device

PREFIX = "held/"
"""The names of gangs that stand for a single pod begin so."""


@dataclass(frozen=True, slots=True)
class Claim:
    """What is known of a bound pod: who it is, and the devices that it runs on."""

    uid: str
    name: str
    namespace: str
    node: str
    leaf_cells: tuple[int, ...]
    """Indices of devices on the node."""
    chain: str = ""
    """Where several chains have such devices on the node: which is meant."""


def hold(cycle: Cycle, claim: Claim) -> tuple[Pod, BindInfo]:
    """Books the devices of a bound pod; answers the pod as it counts from now on, and its place.

    Raises `UserError` where the configuration has none of the devices, or other pods have them all.
    """
    alone = _alone(claim, len(claim.leaf_cells) or 1)
    cycle.delete(alone)
    devices = [find_device(cycle.cluster, claim.chain, claim.node, index) for index in claim.leaf_cells]
    present = [device for device in devices if device is not None]
    if not present:
        raise UserError(f"pod {alone.key} has no device of {claim.node} that is known: {list(claim.leaf_cells)}")
    for device in present:
        waiting = reserver(device)
        if device.state is CellState.RESERVED and waiting is not None:
            cycle.call_off(waiting)
    vacancy = _vacant(present)
    if vacancy is not None:
        gang, slot = vacancy
        spec = replace(gang.spec, leaf_cells=len(slot.place.leaf_cells))
        return _seat(cycle, gang, slot, Pod(claim.uid, claim.name, spec, claim.namespace))
    free = [device for device in present if device.state is CellState.FREE]
    if not free:
        raise UserError(f"other pods have the devices {list(claim.leaf_cells)} of {claim.node}, where {alone.key} runs")
    return _take(cycle, _alone(claim, len(free)), claim.node, free)


def _alone(claim: Claim, devices: int) -> Pod:
    """The pod as a gang of its own, in no virtual cluster."""
    gang = GangSpec(f"{PREFIX}{claim.namespace}/{claim.name}/{claim.uid}", (Member(1, devices),))
    return Pod(claim.uid, claim.name, PodSpec("", OPPORTUNISTIC, devices, gang), claim.namespace)


def _vacant(devices: Sequence[Device]) -> tuple[Gang, Slot] | None:
    """The place without a pod, of whatever gang, that has most of these devices."""
    best: tuple[int, Gang, Slot] | None = None
    for gang in {id(gang): gang for gang in map(owner, devices) if gang is not None}.values():
        for same in gang.places.slots.values():
            for slot in same:
                shared = len(set(slot.devices).intersection(devices))
                if slot.pod is None and shared > (best[0] if best is not None else 0):
                    best = shared, gang, slot
    return best[1:] if best is not None else None


def _take(cycle: Cycle, pod: Pod, node: str, devices: list[Device]) -> tuple[Pod, BindInfo]:
    gang = cycle.gangs[pod.spec.gang.name] = Gang(pod.spec, cycle.cluster.system)
    place = PodPlacement(node, tuple(device.index for device in devices), ("",) * len(devices))
    slot = Slot(place, tuple(devices))
    cycle.take(gang, places(devices[0].chain.name, {len(devices): [slot]}, dict.fromkeys(devices)), ())
    return _seat(cycle, gang, slot, pod)


def _seat(cycle: Cycle, gang: Gang, slot: Slot, pod: Pod) -> tuple[Pod, BindInfo]:
    cycle.homes[pod.uid] = gang
    gang.assign(pod, slot)
    return pod, gang.places.bind_info(slot)
