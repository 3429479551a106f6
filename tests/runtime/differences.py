"""How the allocator and HiveD can differ: what `beside_hived.py` puts a name to, and what makes two places alike."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

from runtime.cells import Device, PhysicalCell


class Difference(Enum):
    """Why an ask, or what came of it, was not the same on both sides."""

    PANIC = "fault of HiveD: it fails"
    DEMOTES = "fault of HiveD: it demotes a gang in an attempt that comes to nothing, or others than it needs"
    STAYS_PREEMPTED = "fault of HiveD: a gang stays BeingPreempted when nobody wants its cells any more"
    LEAKS = "fault of HiveD: a gang keeps its cells when all its pods are gone"
    TAKES_BACK = "fault of HiveD: it forgets a gang that has bound pods"
    FREES = "fault of HiveD: it counts cells as free that a guaranteed gang uses"
    BREAKS = "fault of HiveD: it decides for cells that are promised to others, and fails when the pod is bound"
    ON_BAD = "fault of HiveD: it decides for a bad node"
    IN_TURNS = "fault of HiveD: when its victims are gone, it names others, or waits all the same"
    RESTORES = "fault of HiveD: a gang has a guarantee again, on a bad node, for which there is no cell of its kind"
    HIVED_REFUSES = "limit of HiveD: it refuses a pod that could wait"
    NO_PLACE = "limit of HiveD: it waits where there is a place"
    DISPLACES = "limit of HiveD: it displaces somebody where there is a free place"
    NO_VICTIMS = "limit of HiveD: it waits where a weaker gang could be displaced"
    CANNOT_FOLLOW = "intended: a place that the other side has decided is refused, as its own books do not allow it"
    REFUSES = "intended: a pod that contradicts its placed gang is refused"
    BEING_PREEMPTED = "intended: a pod of a gang that is being preempted waits"
    PINNED = "intended: a gang counts for a pinned cell only where it has asked for it and runs in it"
    WEAKER = "intended: gangs of lower priority go rather than fewer devices of a gang of higher priority"
    LENDS = "intended: an opportunistic gang goes rather than that one of the same virtual cluster loses its guarantee"
    CLOSER = "intended: opportunistic gangs go rather than that a gang is less close"
    TORN = "intended: opportunistic gangs go rather than that a virtual cluster has less room in one piece"
    OURS_FORGETS = "ours: it forgets a gang that HiveD knows"
    OURS_DEMOTES = "ours: it demotes a gang that HiveD does not demote"
    MORE_VICTIMS = "ours: victims with more devices, guaranteed ones first, than all that HiveD needs in the end"
    OURS_WAITS = "ours: it waits where HiveD places or preempts"
    OURS_DISPLACES = "ours: it displaces opportunistic gangs where HiveD displaces nobody"
    OURS_KILLS = "ours: it kills guaranteed gangs where HiveD displaces nobody"


OURS = {x for x in Difference if x.value.startswith("ours")}
INTENDED = {x for x in Difference if x.value.startswith("intended")}


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
