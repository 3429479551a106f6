"""Gangs, pods and nodes as texts, and back: what is written down so that all can be as it was.

| key | value |
| --- | --- |
| `configuration` | a digest of it |
| `node/NAME` | whether it is healthy |
| `gang/NAME` | specification, state, places with the virtual cells that they count for, demotion |
| `pod/UID` | its name, its gang, its specification where it is not that of the gang, its place |

Others may keep what is theirs in the same journal, under keys of other kinds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, is_dataclass, replace
from hashlib import sha256
from typing import Any, NamedTuple

from generated.hived import AffinityGroupState
from runtime.answers import Demotion
from runtime.cells import Device, VirtualCell
from runtime.config import Configuration
from runtime.gangs import Gang
from runtime.pods import GangSpec, Member, Pod, PodPlacement, PodSpec

CONFIGURATION = "configuration"
KINDS = ("node", "gang", "pod")


class DeviceImage(NamedTuple):
    """A leaf cell, and the virtual one that it counts for, if any."""

    chain: str
    position: int
    top: int
    """The number of the preassigned cell; -1 where it counts for none."""
    inside: int
    """Which leaf cell in that."""


@dataclass(frozen=True, slots=True)
class SlotImage:
    """A place of a gang."""

    place: PodPlacement
    devices: tuple[DeviceImage, ...]


@dataclass(frozen=True, slots=True)
class GangImage:
    """A gang, but for its pods."""

    spec: PodSpec
    state: AffinityGroupState
    chain: str
    slots: dict[int, tuple[SlotImage, ...]]
    """By size, in the order in which the gang has them."""
    demotion: Demotion | None


@dataclass(frozen=True, slots=True)
class PodImage:
    """A pod of a gang."""

    pod: Pod
    slot_index: int
    """Which of the places of its size it has; -1 where it has none."""


def digest(configuration: Configuration) -> str:
    """The same for configurations that have the same cells and virtual clusters."""
    cells = [_plain(x) for x in (configuration.forests, configuration.tenants)]
    return sha256(json.dumps(cells).encode()).hexdigest()


def _plain(value: object) -> object:
    """As JSON has it; without the lines on which things stand."""
    match value:
        case dict():
            return [[key, _plain(item)] for key, item in value.items()]
        case tuple():
            return [_plain(item) for item in value]
        case _ if is_dataclass(value):
            return [_plain(getattr(value, name)) for name in value.__dataclass_fields__ if name != "line"]
        case _:
            return value


# Writing


def write(value: object) -> str:
    """On one line."""
    return json.dumps(value, separators=(",", ":"))


def write_gang(gang: Gang) -> str:
    """All that there is to a gang, but for its pods."""
    return write(
        {
            "spec": _spec(gang.spec),
            "state": gang.state.value,
            "chain": gang.places.chain,
            "slots": [
                [size, [[*_place(slot.place), [_device(d, gang.virtual[d]) for d in slot.devices]] for slot in same]]
                for size, same in gang.places.slots.items()
            ],
            "demotion": [gang.demotion.preemptor, gang.demotion.time] if gang.demotion is not None else None,
        }
    )


def write_pod(gang: Gang, pod: Pod) -> str:
    """A pod of a gang."""
    member = gang.member(pod) or pod
    slot = gang.assigned.get(pod.uid)
    same = gang.places.slots.get(member.spec.leaf_cells, ())
    slot_index = next((i for i, x in enumerate(same) if x is slot), -1)
    like = replace(gang.spec, leaf_cells=member.spec.leaf_cells) == member.spec
    spec = member.spec.leaf_cells if like else _spec(member.spec)
    return write([gang.name, member.name, member.namespace, spec, slot_index])


def _spec(spec: PodSpec) -> dict[str, Any]:
    fields = {name: getattr(spec, name) for name in spec.__dataclass_fields__}
    fields["gang"] = [spec.gang.name, [[m.pods, m.leaf_cells] for m in spec.gang.members]]
    return fields


def _place(place: PodPlacement) -> tuple[str, tuple[int, ...], tuple[str, ...]]:
    return place.node, place.leaf_cells, place.preassigned_types


def _device(device: Device, virtual: VirtualCell | None) -> DeviceImage:
    if virtual is None:
        return DeviceImage(device.chain.name, device.position, -1, -1)
    inside = int(virtual.name) if virtual.parent is not None else 0
    return DeviceImage(device.chain.name, device.position, int(virtual.top.name), inside)


# Reading


def read_gang(text: str) -> GangImage:
    """The gang that was written."""
    fields = json.loads(text)
    return GangImage(
        _read_spec(fields["spec"]),
        AffinityGroupState(fields["state"]),
        fields["chain"],
        {size: tuple(_read_slot(*slot) for slot in same) for size, same in fields["slots"]},
        Demotion(*fields["demotion"]) if fields["demotion"] else None,
    )


def read_pod(uid: str, text: str, gangs: dict[str, GangImage]) -> PodImage:
    """The pod that was written."""
    gang, name, namespace, written, slot_index = json.loads(text)
    spec = replace(gangs[gang].spec, leaf_cells=written) if isinstance(written, int) else _read_spec(written)
    return PodImage(Pod(uid, name, spec, namespace), slot_index)


def _read_spec(fields: dict[str, Any]) -> PodSpec:
    name, members = fields.pop("gang")
    return PodSpec(gang=GangSpec(name, tuple(Member(*m) for m in members)), **fields)


def _read_slot(node: str, indices: list[int], types: list[str], devices: list[Any]) -> SlotImage:
    placed = PodPlacement(node, tuple(indices), tuple(types))
    return SlotImage(placed, tuple(DeviceImage(*d) for d in devices))


def all_of(gangs: Iterable[Gang]) -> Iterator[tuple[str, str]]:
    """Keys and values of gangs and their pods."""
    for gang in gangs:
        yield gang_key(gang.name), write_gang(gang)
        for pod in gang.pods:
            yield pod_key(pod.uid), write_pod(gang, pod)


def node_key(name: str) -> str:
    """Of a node."""
    return f"node/{name}"


def gang_key(name: str) -> str:
    """Of a gang."""
    return f"gang/{name}"


def pod_key(uid: str) -> str:
    """Of a pod."""
    return f"pod/{uid}"
