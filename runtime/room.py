"""The largest gang that can be placed now without displacing anybody, and how fragmented the free devices are.

Opportunistic gangs use any free device on a healthy node, so that the largest one follows from the numbers of free
devices by node. Where a guaranteed gang goes depends on cells: the largest one is found by trial, with the decision
that a pod of such a gang would get.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass

from runtime.cells import ALL, CellLedger, Cluster, Forest, View
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.choose import choose
from runtime.placement.proposal import Placement
from runtime.pods import OPPORTUNISTIC, GangSpec, Member, PodSpec
from runtime.preemption.victims import displaced

MAX_SCANNED = 16
"""Maximum number of sizes of gangs that are tried one after the other, from the upper bound down."""
MAX_PODS = 1024
"""Maximum number of pods of a gang that is tried: a decision takes time in proportion."""
MAX_REFINED = 32
"""Maximum number of pods of a gang for which placements that displace fewer gangs are searched for, too."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Gangs that differ in their number of pods alone."""

    tenant: str
    """The virtual cluster whose guarantee they use; empty for opportunistic gangs."""
    leaf_type: str
    pinned: str
    """The identifier of the pinned cell that they run in; empty for none."""
    size: int
    """Devices of a pod."""


@dataclass(frozen=True, slots=True)
class Room:
    """What is free for gangs of a kind."""

    kind: Kind
    pods: int
    """Of the largest gang that can be placed now without displacing anybody."""
    free: int
    """Devices that are free: for a guarantee, those of the promise that no gang of the virtual cluster uses; for
    opportunistic gangs, those on healthy nodes that no gang uses."""
    exact: bool = True
    """Whether no larger gang can be placed; otherwise, a larger one may be."""

    @property
    def devices(self) -> int:
        """Of the largest gang."""
        return self.pods * self.kind.size

    @property
    def fragmentation(self) -> float:
        """The share of the free devices that the largest gang cannot have; 0 where none is free."""
        return 1 - self.devices / self.free if self.free else 0.0


# Opportunistic gangs


def opportunistic(cluster: Cluster) -> Iterator[Room]:
    """For each leaf type, and pods of each size that a cell in a node has."""
    for leaf_type, forests in _by_leaf_type(cluster).items():
        rooms = [_free(forest) for forest in forests]
        free = sum(count * nodes for room in rooms for count, nodes in room.items())
        for size in _sizes(forests):
            pods = max(_pods(room, size) for room in rooms)
            yield Room(Kind("", leaf_type, "", size), pods, free)


def _by_leaf_type(cluster: Cluster) -> dict[str, list[Forest]]:
    by_leaf_type: dict[str, list[Forest]] = {}
    for forest in cluster.forests.values():
        by_leaf_type.setdefault(forest.chain.leaf_type, []).append(forest)
    return dict(sorted(by_leaf_type.items()))


def _sizes(cells: list[Forest] | list[View]) -> list[int]:
    """The numbers of devices of all cells that are in a node."""
    return sorted({cell.chain.leaves[level] for cell in cells for level in range(1, cell.chain.node + 1)})


def _free(forest: Forest, among: int = -1) -> dict[int, int]:
    """Healthy nodes by their number of unused devices."""
    usable = forest.nodes.healthy() & among
    return {room: (nodes & usable).bit_count() for room, nodes in forest.nodes.rooms(ALL).items()}


def _pods(rooms: Mapping[int, int], size: int) -> int:
    """How many pods of a size nodes can have: how many nodes there are by room."""
    return sum(room // size * nodes for room, nodes in rooms.items())


# Guaranteed gangs


def kinds(cluster: Cluster, tenant: str) -> list[Kind]:
    """The kinds of guaranteed gangs of a virtual cluster: by leaf type or pinned cell, and size of pods."""
    own = cluster.tenants[tenant]
    by_leaf_type: dict[str, list[View]] = {}
    for view in own.views.values():
        if view.nodes:
            by_leaf_type.setdefault(view.chain.leaf_type, []).append(view)
    alike = [(leaf_type, "", views) for leaf_type, views in sorted(by_leaf_type.items())]
    alike += [(view.chain.leaf_type, pin, [view]) for pin, view in own.pinned.items()]
    return [
        Kind(tenant, leaf_type, pin, size)
        for leaf_type, pin, views in alike
        for size in _sizes(views)
        if size <= max(view.chain.leaves[node.level] for view in views for node in view.nodes)
    ]


def _views(cluster: Cluster, kind: Kind) -> list[View]:
    own = cluster.tenants[kind.tenant]
    if kind.pinned:
        return [own.pinned[kind.pinned]]
    return [view for view in own.views.values() if view.chain.leaf_type == kind.leaf_type]


def free(cluster: Cluster, kind: Kind) -> int:
    """Devices of the promise that no gang of the virtual cluster uses or has reserved."""
    return sum(
        room * nodes.bit_count() for view in _views(cluster, kind) for room, nodes in view.rooms.rooms(ALL).items()
    )


def most(cluster: Cluster, kind: Kind) -> int:
    """No gang of more pods can be placed without displacing anybody: by numbers alone."""
    return max((_most(cluster, view, kind.size) for view in _views(cluster, kind)), default=0)


def _most(cluster: Cluster, view: View, size: int) -> int:
    """A node of the view that is bound has only what is free on its physical node; each of the others can have any one
    of the nodes that stand for none. Preassigned cells that are smaller may share any healthy node."""
    forest = cluster.forests[view.chain.name]
    promised = _pods({room: nodes.bit_count() for room, nodes in view.rooms.rooms(ALL).items()}, size)
    if any(node.level < view.chain.node for node in view.nodes):
        return min(promised, _pods(_free(forest), size))
    pods, unbound, taken = 0, 0, 0
    for node in view.nodes:
        host = node.physical
        if host is None:
            unbound += 1
        elif host.healthy:
            taken |= 1 << host.position
            pods += min(view.rooms.room(node.spot, ALL), forest.nodes.room(host.position, ALL)) // size
    others = _free(forest, ~taken)
    for room in sorted(others, reverse=True):
        nodes = min(unbound, others[room])
        pods += room // size * nodes
        unbound -= nodes
    return min(promised, pods)


def fits(cluster: Cluster, kind: Kind, pods: int) -> bool:
    """Whether a gang can be placed now without displacing anybody. Leaves everything as it is."""
    gang = GangSpec("", (Member(pods, kind.size),))
    spec = PodSpec(kind.tenant, OPPORTUNISTIC + 1, kind.size, gang, kind.leaf_type, kind.pinned)
    choice = choose(CellLedger(cluster), spec, CandidateNodes(), refine=pods <= MAX_REFINED)
    return isinstance(choice, Placement) and not choice.demote and not displaced(choice.devices())


def search(most: int) -> Generator[int, bool, tuple[int, bool]]:
    """Yields numbers of pods to try, and is sent whether they fit. Returns the largest number that fits, and whether it
    is certain that no larger one does. `most` is an upper bound.

    A larger gang may fit where a smaller one does not: a gang is placed as compactly as possible, even if opportunistic
    gangs have to leave. So the largest sizes are all tried, and between the others, halves.
    """
    highest = min(most, MAX_PODS)
    failing = max(highest - MAX_SCANNED, 0) + 1
    for pods in range(highest, failing - 1, -1):
        if (yield pods):
            return pods, pods == most or most <= MAX_REFINED
    fitting = 0
    while failing - fitting > 1:
        middle = (fitting + failing) // 2
        if (yield middle):
            fitting = middle
        else:
            failing = middle
    return fitting, most <= MAX_SCANNED
