"""How the allocator and HiveD can differ: the condition of each class is in `sides.py`. And how places are compared."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from runtime.cells import Device, PhysicalCell


class Difference(Enum):
    """Why a request, or its outcome, was not the same on both sides."""

    NO_PLACE = "limitation of HiveD: it waits even though a placement exists"
    DISPLACES = "limitation of HiveD: it displaces a gang even though enough cells are free"
    NO_VICTIMS = "limitation of HiveD: it waits even though a gang of lower priority could be displaced"
    MORE_DISPLACED = "limitation of HiveD: it reserves other cells and displaces more devices"
    DOOMED = (
        "limitation of HiveD: it counts bad cells against a virtual cluster, and gives gangs on other cells no "
        "guarantee"
    )
    DEMOTES = "bug in HiveD: it demotes a gang in the filtering phase, before a decision has been made"
    STAYS_PREEMPTED = "bug in HiveD: a gang stays BeingPreempted even though its cells are not reserved"
    LEAKS = "bug in HiveD: a gang keeps its cells after all its pods are gone"
    FORGETS = "bug in HiveD: it loses track of a gang that has bound pods"
    ON_BAD = "bug in HiveD: it chooses a bad node"
    FAILS = "bug in HiveD: it fails, or gives a device to two pods"
    RESERVES = "tie: different cells are reserved, but the same number of devices is displaced"
    DEALT = "tie: a gang has the same cells, distributed differently among its pods"
    PINNED = "intended: a gang is charged to a pinned cell only if it has requested this cell and runs in it"
    LENDS = (
        "intended: an opportunistic gang is displaced so that no gang of the same virtual cluster loses its guarantee"
    )
    CLOSER = "intended: opportunistic gangs are displaced so that a gang is placed closer together"
    TORN = "intended: opportunistic gangs are displaced so that a virtual cluster has more contiguous room"
    CHAIN = (
        "intended: a gang without a leaf cell type is placed in the first chain where it displaces no gang of its "
        "virtual cluster"
    )
    BEING_PREEMPTED = "intended: a pod of a gang that is being preempted waits"
    OTHER_DEMOTED = (
        "limitation of the allocator: it does not optimize which gangs lose their guarantee, so they may be larger"
    )
    OURS_REFUSES = "ours: it refuses a pod that HiveD does not refuse"
    OURS_SERVES = "ours: it does not refuse a pod that HiveD refuses"
    OURS_UNSOUND = "ours: it chooses a place that the gang must not have"
    OURS_WAITS = "ours: it waits where HiveD places or preempts"
    OURS_DISPLACES = "ours: it displaces gangs where HiveD displaces none"
    OURS_MORE = "ours: more devices are displaced than HiveD needs in the end"
    OURS_FARTHER = "ours: a guaranteed gang is placed less close together than in HiveD"
    OURS_CANNOT_FOLLOW = "ours: it cannot follow a placement of the leader"
    OURS_FORGETS = "ours: it loses track of a gang that has bound pods"
    OURS_KEEPS = "ours: a gang keeps its cells after all its pods are gone"
    OURS_DEMOTES = "ours: it demotes a gang that HiveD does not demote"
    OURS_KEEPS_GUARANTEE = "ours: it does not demote a gang that HiveD demotes"
    OURS_STATE = "ours: a gang is in a different state"
    OURS_CELLS = "ours: different devices are in use"
    OURS_RECOVERY = "ours: recovery under the same configuration refuses, demotes or misses something"


OURS = {x for x in Difference if x.value.startswith("ours")}
"""Differences that are faults of the allocator."""


def spread(pods: Sequence[Sequence[Device]]) -> list[int]:
    """In how many cells the devices of a gang are, from the top level down: the less, the closer they are."""
    cells: set[PhysicalCell] = {device for own in pods for device in own}
    counts: list[int] = []
    while cells:
        counts.append(len(cells))
        cells = {cell.parent for cell in cells if cell.parent is not None}
    return counts[::-1]


def left(
    pods: Sequence[Sequence[Device]], others: Sequence[Sequence[Device]], level: int, gone: Collection[Device]
) -> tuple[int, ...]:
    """What guaranteed gangs leave of each cell of a level in which the pods or the others are, largest first: when the
    pods have come, and those who were on some devices have gone."""
    cells = {above(device, level) for own in (*pods, *others) for device in own}
    taken = {device for own in pods for device in own}
    room = [[x for x in cell.devices() if x not in taken and (x.priority < 0 or x in gone)] for cell in cells]
    return tuple(sorted(map(len, room), reverse=True))


def above(device: Device, level: int) -> PhysicalCell:
    """The cell of a level that has a device."""
    cell: PhysicalCell = device
    while cell.level < level:
        assert cell.parent is not None, "it is a level of the chain"
        cell = cell.parent
    return cell


def fit(pieces: tuple[int, ...], rooms: tuple[int, ...]) -> bool:
    """Whether each piece finds a room, several of them the same one: by trying all. Pieces fall."""
    if not pieces or not pieces[0]:
        return True
    first, *rest = pieces
    return any(
        room >= first and fit(tuple(rest), (*rooms[:i], room - first, *rooms[i + 1 :])) for i, room in enumerate(rooms)
    )
