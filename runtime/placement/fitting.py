"""Which physical cells can stand for which virtual ones, on usable nodes, and without displacing more than allowed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Set
from typing import TypeAlias

from runtime.cells import FREE, Device, Forest, PhysicalCell, VirtualCell
from runtime.gangs import Gang
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.matching import match
from runtime.placement.requirements import Devices, Requirements
from runtime.preemption.victims import owner

Victims: TypeAlias = Set[Gang] | None
"""The opportunistic gangs that may be displaced; none where any of them may."""

NOBODY: Victims = frozenset()


class Fitting:
    """One attempt to find devices for what a gang wants."""

    def __init__(self, forest: Forest, required: Requirements, candidates: CandidateNodes, victims: Victims) -> None:
        self.forest = forest
        self.required = required
        self.candidates = candidates
        self.victims = victims
        self.usable = candidates.nodes(forest)
        """The nodes that may have what is wanted of any node."""
        self._leaves: dict[VirtualCell, int] = {}
        self._going: Counter[PhysicalCell] = Counter()
        """How many leaf cells in a cell are used by gangs that may be displaced, if not by all."""
        if victims is not None:
            for gang in victims:
                self._count(gang)
            if len(forest.by_opportunistic[forest.chain.node]) > 1:
                self.usable &= self._with_room(required.least())

    def _count(self, gang: Gang) -> None:
        for device in gang.virtual:
            cell: PhysicalCell | None = device
            while cell is not None:
                self._going[cell] += 1
                cell = cell.parent

    def _with_room(self, least: int) -> int:
        """The nodes with at least this many leaf cells that are not used by an opportunistic gang that has to stay."""
        chain = self.forest.chain
        most = chain.leaves[chain.node] - least
        nodes = sum(nodes for used, nodes in self.forest.by_opportunistic[chain.node].items() if used <= most)
        for cell, going in self._going.items():
            if cell.level == chain.node and cell.chain is chain and cell.opportunistic - going <= most:
                nodes |= 1 << cell.position
        return nodes

    def leaves(self, virtual: VirtualCell) -> int:
        """How many leaf cells in a virtual cell are wanted."""
        count = self._leaves.get(virtual)
        if count is None:
            count = self._leaves[virtual] = self.required.leaves_in(virtual)
        return count

    def possible(self, virtual: VirtualCell, physical: PhysicalCell) -> bool:
        """Whether a physical cell has room for a virtual one, or is so large that it may; as far as numbers say."""
        if self.victims is None:
            return True
        staying = physical.opportunistic - self._going[physical]
        return staying + self.leaves(virtual) <= physical.chain.leaves[physical.level]

    def fit(self, virtual: VirtualCell, physical: PhysicalCell) -> Devices | None:
        """The devices for what is wanted in a virtual cell, if it can have this physical one."""
        if physical.node is not None and not self.candidates.has(physical.node):
            return None
        if isinstance(physical, Device):
            return {virtual: physical} if self._allowed(physical) else None
        if physical.node is not None and not physical.opportunistic:
            return dict(self._alike(virtual, physical))
        if not self.possible(virtual, physical):
            return None
        devices: Devices = {}
        for pair in self.pair(self.required.children[virtual], [x for x in physical.children if x.virtual is None]):
            if pair is None:
                return None
            devices.update(pair[1])
        return devices

    def _alike(self, virtual: VirtualCell, physical: PhysicalCell) -> Iterator[tuple[VirtualCell, Device]]:
        """In an unused cell on one node, all children are interchangeable."""
        if isinstance(physical, Device):
            yield virtual, physical
            return
        for child, part in zip(self.required.children[virtual], physical.children, strict=False):
            yield from self._alike(child, part)

    def _allowed(self, device: Device) -> bool:
        return device.priority == FREE or self.victims is None or owner(device) in self.victims

    def pair(
        self, virtual: list[VirtualCell], physical: list[PhysicalCell]
    ) -> list[tuple[PhysicalCell, Devices] | None]:
        """The same for siblings, as many of them as possible, each with its physical cell."""
        physical.sort(key=lambda x: x.opportunistic)
        devices_by_pair: dict[tuple[VirtualCell, PhysicalCell], Devices] = {}

        def fits(left: VirtualCell, right: PhysicalCell) -> bool:
            devices = self.fit(left, right)
            if devices is not None:
                devices_by_pair[left, right] = devices
            return devices is not None

        chosen = match(virtual, physical, fits)
        return [
            (physical[i], devices_by_pair[x, physical[i]]) if i is not None else None
            for x, i in zip(virtual, chosen, strict=True)
        ]
