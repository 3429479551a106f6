"""All places that a gang could have instead of some, by trying everything: what `placement` is measured against.

Others are as good to a virtual cluster if they differ in which of its empty nodes they take, and in which physical
cells stand for those that are not bound.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations

from runtime.cells import CellLedger, Device, Forest, PhysicalCell, View, VirtualCell
from runtime.cells.free import FreeLists
from runtime.gangs import Gang
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.proposal import Placement
from runtime.placement.requirements import Requirements, requirements
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import owner


@dataclass(frozen=True, order=True)
class Worth:
    """Of a placement; lower is better."""

    displaced: int
    """Devices of the opportunistic gangs that have to go."""
    spread: int
    """The level of the smallest cell that all devices are in; one above the top where there is none."""


def all_others(ledger: CellLedger, view: View, placement: Placement, offer: CandidateNodes) -> Iterator[Worth]:
    """What all places are worth that are as good to the virtual cluster; nobody of it may be displaced."""
    forest = ledger.cluster.forests[view.chain.name]
    for leaves in choices(view, placement, offer):
        for devices in mappings(forest, requirements(leaves), offer):
            yield worth(forest, devices)


def worth(forest: Forest, devices: Sequence[Device]) -> Worth:
    """What taking these devices comes to."""
    gangs: set[Gang] = {gang for d in devices if d.priority == OPPORTUNISTIC and (gang := owner(d)) is not None}
    return Worth(sum(len(gang.virtual) for gang in gangs), spread(forest, devices))


def spread(forest: Forest, devices: Sequence[Device]) -> int:
    """The level of the smallest cell that has all of them."""
    chain = forest.chain
    for level in range(1, chain.top + 1):
        if len({device.position // chain.leaves[level] for device in devices}) == 1:
            return level
    return chain.top + 1


def choices(view: View, placement: Placement, offer: CandidateNodes) -> Iterator[list[VirtualCell]]:
    """The virtual leaf cells of a placement, and those where other empty nodes stand for its empty ones."""
    leaves = [leaf for assignment in placement.assignments for leaf in assignment.virtual]
    nodes = list(dict.fromkeys(leaf.node for leaf in leaves if leaf.node is not None))
    empty = [node for node in nodes if not view.rooms.used[node.spot]]
    allowed = offer.spots(view)
    others = [x for x in view.nodes if not view.rooms.used[x.spot] and allowed >> x.spot & 1]
    for chosen in permutations(others, len(empty)):
        if any(a.level != b.level for a, b in zip(empty, chosen, strict=True)):
            continue
        instead = dict(zip(empty, chosen, strict=True))
        found = []
        for leaf in leaves:
            assert leaf.node is not None
            node = instead.get(leaf.node, leaf.node)
            found.append(list(node.leaves())[list(leaf.node.leaves()).index(leaf)])
        yield found


def mappings(forest: Forest, want: Requirements, offer: CandidateNodes) -> Iterator[list[Device]]:
    """All devices that virtual leaf cells can have."""
    groups = list(want.under.items())

    def rest(done: list[Device], group: int) -> Iterator[list[Device]]:
        if group == len(groups):
            yield from tops(done, 0, forest.lists)
            return
        parent, children = groups[group]
        assert parent.physical is not None
        free = [x for x in parent.physical.children if x.virtual is None]
        for inside in siblings(children, free):
            yield from rest(done + inside, group + 1)

    def tops(done: list[Device], at: int, lists: FreeLists) -> Iterator[list[Device]]:
        if at == len(want.tops):
            if min(lists.spare()) >= 0:
                yield done
            return
        top = want.tops[at]
        for physical in forest.levels[top.level]:
            if lists.holder(physical.level, physical.position):
                left = lists.copy()
                left.take(physical.level, physical.position)
                for inside in cell(top, physical):
                    yield from tops(done + inside, at + 1, left)

    def siblings(children: Sequence[VirtualCell], free: Sequence[PhysicalCell]) -> Iterator[list[Device]]:
        for chosen in permutations(free, len(children)):
            yield from together(list(zip(children, chosen, strict=True)))

    def together(pairs: list[tuple[VirtualCell, PhysicalCell]]) -> Iterator[list[Device]]:
        if not pairs:
            yield []
            return
        for first in cell(*pairs[0]):
            for others in together(pairs[1:]):
                yield first + others

    def cell(virtual: VirtualCell, physical: PhysicalCell) -> Iterator[list[Device]]:
        if physical.node is not None and not offer.has(physical.node):
            return
        if isinstance(physical, Device):
            yield [physical]
            return
        yield from siblings(want.children[virtual], [x for x in physical.children if x.virtual is None])

    yield from rest(list(want.ready.values()), 0)
