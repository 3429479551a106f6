"""Devices for virtual leaf cells that displace as few devices of opportunistic gangs as possible.

If no gang has to leave, none does: that is one attempt. Otherwise a first way is found that avoids cells with many
opportunistic pods, and then improved: its victims are spared one by one, and smaller sets of victims are tried, from
small to large. Each attempt is one search for devices, and the number of attempts for a decision is bounded: the first
way is always found, and the smallest set of victims where few gangs come into question.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterator, Sequence
from itertools import count, islice

from runtime.cells import Device, Forest, VirtualCell
from runtime.cells.bits import each
from runtime.gangs import Gang
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.disruption_cost import weight
from runtime.placement.fitting import NOBODY, Victims
from runtime.placement.mapping import map_cells
from runtime.placement.misfit import Misfit
from runtime.placement.requirements import Devices, requirements
from runtime.pods import OPPORTUNISTIC
from runtime.preemption.victims import owner

MAX_ATTEMPTS = 32
"""Maximum number of attempts for one decision, beyond the first placements."""

MAX_SPARED = 8
"""Maximum number of victims of the first placement that are tried to be spared."""

MAX_NODES = 8
"""Maximum number of nodes that are searched for gangs that might be displaced instead."""

MAX_GANGS = 12
"""Maximum number of these gangs that are considered, the smallest ones."""


class Budget:
    """The attempts that are left for one decision."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MAX_ATTEMPTS

    def spend(self) -> bool:
        """Whether another attempt may be made."""
        self.left -= 1
        return self.left >= 0


class Fewest:
    """The search for one set of virtual leaf cells. `freed` is as in `map_cells`."""

    def __init__(
        self, forest: Forest, leaves: Sequence[VirtualCell], candidates: CandidateNodes, freed: Collection[VirtualCell]
    ) -> None:
        self.forest = forest
        self.required = requirements(leaves)
        self.candidates = candidates
        self.freed = freed

    def peaceful(self) -> Devices | Misfit:
        """Devices that no opportunistic gang uses."""
        return self._attempt(NOBODY)

    def any(self) -> Devices | Misfit:
        """Devices wherever there are some."""
        return self._attempt(None)

    def first(self) -> Devices | Misfit:
        """Devices that no opportunistic gang uses; else, wherever there are some."""
        devices = self.peaceful()
        return self.any() if isinstance(devices, Misfit) else devices

    def best(self, budget: Budget) -> Devices | Misfit:
        """Those with the fewest devices displaced that are found within a budget."""
        devices = self.any()
        if isinstance(devices, Misfit):
            return devices
        best = self._spare(devices, budget)
        most = weight(_victims(best))
        if most > self._least():
            for gangs in _subsets(self._rivals(), most):
                if not budget.spend():
                    break
                devices = self._attempt(frozenset(gangs))
                if not isinstance(devices, Misfit):
                    return devices
        return best

    def _least(self) -> int:
        """Lower bound of displaced devices, by numbers alone: as if all were on one node, the best one."""
        chain = self.forest.chain
        usable = self.candidates.nodes(self.forest)
        used = min((n for n, nodes in self.forest.by_opportunistic[chain.node].items() if nodes & usable), default=0)
        return used - (chain.leaves[chain.node] - self.required.least())

    def _attempt(self, victims: Victims) -> Devices | Misfit:
        return map_cells(self.forest, self.required, self.candidates, victims, self.freed)

    def _spare(self, devices: Devices, budget: Budget) -> Devices:
        """Without those victims that need not go, large ones first."""
        best, victims = devices, _victims(devices)
        for gang in sorted(victims, key=lambda x: len(x.virtual), reverse=True)[:MAX_SPARED]:
            if gang not in victims or not budget.spend():
                continue
            fewer = self._attempt(victims.keys() - {gang})
            if not isinstance(fewer, Misfit):
                best, victims = fewer, _victims(fewer)
        return best

    def _rivals(self) -> list[Gang]:
        """Opportunistic gangs on those usable nodes that have the fewest of their pods; the smallest gangs first."""
        level, usable = self.forest.chain.node, self.candidates.nodes(self.forest)
        sets = self.forest.by_opportunistic[level]
        busy = (position for used in sorted(sets) if used for position in each(sets[used] & usable))
        nodes = (self.forest.levels[level][position] for position in islice(busy, MAX_NODES))
        gangs = {owner(device): None for node in nodes for device in node.devices() if device.priority == OPPORTUNISTIC}
        return sorted((x for x in gangs if x is not None), key=lambda x: len(x.virtual))[:MAX_GANGS]


def _victims(devices: Devices) -> dict[Gang, None]:
    """In the order of their devices: which of them is spared must not depend on where objects are in memory."""
    return {gang: None for device in devices.values() if (gang := _guest(device)) is not None}


def _guest(device: Device) -> Gang | None:
    return owner(device) if device.priority == OPPORTUNISTIC else None


def _subsets(gangs: Sequence[Gang], most: int) -> Iterator[tuple[Gang, ...]]:
    """Sets of gangs with fewer devices than `most`, small sets first; gangs rise by size."""
    sizes = [len(gang.virtual) for gang in gangs]
    number = count()
    heap: list[tuple[int, int, tuple[int, ...]]] = [(0, next(number), ())]
    while heap:
        size, _, chosen = heapq.heappop(heap)
        if chosen:
            yield tuple(gangs[i] for i in chosen)
        for i in range(chosen[-1] + 1 if chosen else 0, len(gangs)):
            if size + sizes[i] >= most:
                break
            heapq.heappush(heap, (size + sizes[i], next(number), (*chosen, i)))
