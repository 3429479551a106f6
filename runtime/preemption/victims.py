"""The gangs that a placement displaces."""

from __future__ import annotations

from collections.abc import Iterable

from generated.hived import AffinityGroupState
from runtime.cells import Device
from runtime.gangs import Gang, GangMachine
from runtime.pods import Pod


def owner(device: Device) -> Gang | None:
    """The gang whose pods use a leaf cell."""
    machine = device.machine.user
    return machine.gang if isinstance(machine, GangMachine) else None


def reserver(device: Device) -> Gang | None:
    """The gang that a leaf cell is, or will be, reserved for."""
    machine = device.machine.reserver
    return machine.gang if isinstance(machine, GangMachine) else None


def preemptors(gang: Gang) -> list[Gang]:
    """The gangs that wait for a gang to leave, each once; none where it is not being preempted."""
    if gang.state is not AffinityGroupState.BEING_PREEMPTED:
        return []
    stronger = (reserver(device) for device in gang.virtual)
    return list(dict.fromkeys(preemptor for preemptor in stronger if preemptor is not None))


def displaced(devices: Iterable[Device]) -> list[Gang]:
    """The gangs that use any of these leaf cells, each once."""
    gangs: dict[Gang, None] = {}
    for device in devices:
        user = device.machine.user
        if isinstance(user, GangMachine):
            gangs[user.gang] = None
    return list(gangs)


def victims(gangs: Iterable[Gang]) -> dict[str, tuple[Pod, ...]]:
    """All their pods, by node: a gang that loses one pod cannot run."""
    by_node: dict[str, list[Pod]] = {}
    for gang in gangs:
        for slot in gang.assigned.values():
            if slot.pod is not None:
                by_node.setdefault(slot.place.node, []).append(slot.pod)
    return {node: tuple(pods) for node, pods in by_node.items()}
