"""Frames: the state of a cluster at a moment, and the difference of two frames, which is what the page receives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple, Protocol

from runtime.allocator import Tenant
from runtime.answers import GangStatus, LeafCell

Data = dict[str, Any]
"""What becomes a JSON object."""


class Cluster(Protocol):
    """What is looked at: `Allocator` and `DurableAllocator` have it."""

    def groups(self) -> Iterator[GangStatus]:
        """All gangs that are known."""

    def leaf_cells(self) -> Iterator[LeafCell]:
        """All leaf cells, always in the same order."""

    def virtual_clusters(self) -> Iterator[Tenant]:
        """All virtual clusters."""


class Leaf(NamedTuple):
    """What can change of a leaf cell."""

    state: str
    priority: int
    owner: str
    """The gang that uses it; empty where none does."""
    reserver: str


class GangView(NamedTuple):
    """What is shown of a gang."""

    name: str
    tenant: str
    priority: int
    state: str
    pods: int
    """Known ones."""
    note: str
    """That it was displaced, and the gang that displaced it; or why it fails for good."""
    fails: bool = False
    """It cannot be placed unless its request or the configuration changes."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A cluster at a moment."""

    time: float
    """Seconds: since the beginning of a simulation, or since the epoch."""
    leaves: tuple[Leaf, ...]
    healthy: tuple[bool, ...]
    """By node, in the order of the scene."""
    gangs: Mapping[str, GangView]


@dataclass(frozen=True, slots=True)
class _Node:
    name: str
    first: int
    """The place of its first leaf cell."""
    count: int


class Recorder:
    """Records frames of a cluster whose cells do not change. Not thread-safe."""

    def __init__(self, cluster: Cluster) -> None:
        """Looks at every leaf cell once."""
        self._cluster = cluster
        leaves = list(cluster.leaf_cells())
        self._chains = [
            (chain, list(_nodes(list(cells)))) for chain, cells in groupby(enumerate(leaves), lambda x: x[1].chain)
        ]
        self._first = [node.first for _, racks in self._chains for _, nodes in racks for node in nodes]

    def scene(self) -> Data:
        """What stays: chains, what holds the nodes together, nodes with their leaf cells, virtual clusters."""
        return {
            "chains": [
                {
                    "name": chain,
                    "racks": [
                        {"address": rack, "nodes": [[x.name, x.first, x.count] for x in nodes]} for rack, nodes in racks
                    ],
                }
                for chain, racks in self._chains
            ],
            "tenants": [x.name for x in self._cluster.virtual_clusters()],
        }

    def frame(self, time: float) -> Frame:
        """How it is now. Takes time in proportion to leaf cells and gangs: about 50 ms for 10,000 of them."""
        cells = list(self._cluster.leaf_cells())
        leaves = tuple(Leaf(x.state.display, x.priority, x.owner or "", x.reserver or "") for x in cells)
        gangs = {x.name: _gang_view(x) for x in self._cluster.groups()}
        return Frame(time, leaves, tuple(cells[n].healthy for n in self._first), gangs)


def _nodes(cells: list[tuple[int, LeafCell]]) -> Iterator[tuple[str, list[_Node]]]:
    """The nodes of a chain by what holds them together, which is the address above them."""
    of_rack = groupby(cells, lambda x: x[1].address.partition(f"{x[1].node}/")[0].rstrip("/"))
    for rack, inside in of_rack:
        nodes = []
        for name, leaves in groupby(inside, lambda x: x[1].node):
            places = [n for n, _ in leaves]
            nodes.append(_Node(name, places[0], len(places)))
        yield rack, nodes


def _gang_view(gang: GangStatus) -> GangView:
    pods = len(gang.allocated) + len(gang.waiting)
    note = "" if gang.demotion is None else f"displaced by {gang.demotion.preemptor or 'a changed configuration'}"
    fails = bool(gang.never)
    return GangView(gang.name, gang.virtual_cluster, gang.priority, gang.state.display, pods, gang.never or note, fails)


def difference(before: Frame | None, after: Frame) -> Data:
    """What a page that shows one frame has to change to show another; everything, where it shows none."""
    old = before or Frame(0.0, (), (), {})
    return {
        "time": after.time,
        "leaves": [[n, *x] for n, x in enumerate(after.leaves) if n >= len(old.leaves) or old.leaves[n] != x],
        "nodes": [[n, x] for n, x in enumerate(after.healthy) if n >= len(old.healthy) or old.healthy[n] != x],
        "gangs": [list(x) for name, x in after.gangs.items() if old.gangs.get(name) != x],
        "gone": [name for name in old.gangs if name not in after.gangs],
    }
