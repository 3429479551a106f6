"""Both sides of a history, as they are when they differ: what tells one difference from another."""

from __future__ import annotations

from typing import Any

from differences import Difference, fit, left, spread
from hived import HiveD, bind_info

from runtime import Allocator, BindInfo, Pod
from runtime.cells import Device, PhysicalCell
from runtime.gangs import Gang
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.choose import choose
from runtime.placement.disruption_cost import DisruptionCost, disruption_cost
from runtime.placement.proposal import Placement


class Sides:
    """The allocator and HiveD, after the same history."""

    allocator: Allocator
    hived: HiveD
    bad: set[str]
    """Nodes that cannot be used, on both sides."""

    def demotion(self, gang: Gang) -> Difference:
        """Why ours has demoted a gang, and HiveD has not."""
        if self._repinned(gang):
            return Difference.PINNED
        tenant = self.allocator.cluster.tenants.get(gang.spec.virtual_cluster)
        view = tenant.views.get(gang.places.chain) if tenant is not None else None
        promised = {view.chain.types[top.level] for top in view.tops} if view is not None else set()
        places = [slot.place for same in gang.places.slots.values() for slot in same]
        lost = any(kind not in promised for place in places for kind in place.preassigned_types)
        return Difference.RESTORES if lost and self.bad else Difference.OURS_DEMOTES

    def _repinned(self, gang: Gang) -> bool:
        """Whether a gang runs in pinned cells that it has not asked for, or outside of the one that it has."""
        pinned = self.allocator.cluster.pinned
        inside = {device: [cell for cell in pinned.values() if device in cell.devices()] for device in gang.virtual}
        own = pinned.get(gang.spec.pinned_cell)
        return any(cells != ([] if own is None else [own]) for cells in inside.values()) or (
            own is None and bool(gang.spec.pinned_cell)
        )

    def frees(self) -> bool:
        """Whether a cell is free in HiveD's books, and has devices of a guaranteed gang in it."""
        found = self.hived.ask("dump", what=["groups", "books"])
        free = found["books"]["free_list"]
        for group in found["groups"]:
            for chain, node, index, *_ in group["cells"] if group["virtual"] else ():
                cell: PhysicalCell | None = self._device(chain, node, index)
                while cell is not None:
                    if cell.address in free[chain][str(cell.level)]:
                        return True
                    cell = cell.parent
        return False

    def demoted_for(self, pod: Pod) -> bool:
        """Whether a gang lost its guarantee in HiveD for that of a pod: HiveD demotes while it decides."""
        lost = (group["status"].get("lazyPreemptionStatus") for group in self.hived.groups())
        return any(status["preemptor"] == pod.spec.gang.name for status in lost if status)

    def better(
        self, pod: Pod, offered: list[str], theirs: dict[str, Any], victims: tuple[set[str], set[str]] = (set(), set())
    ) -> Difference | None:
        """What is better about our places than about HiveD's, if anything: the gang is closer; or what is left of the
        cells that its virtual cluster is promised, or of nodes where these are larger, does not fit into what HiveD
        leaves of them, when the victims of both are gone."""
        gang = self.allocator.gangs[pod.spec.gang.name]
        offer = CandidateNodes(None if gang.spec.ignore_suggested else offered)
        ours = choose(self.allocator.core.ledger, gang.spec, offer)
        assert isinstance(ours, Placement)
        info = bind_info(theirs["bind"])
        if info.chain != ours.chain:
            return None
        mine = [list(assignment.devices) for assignment in ours.assignments]
        others = [
            [self._device(info.chain, place.node, index) for index in place.leaf_cells]
            for same in info.gang
            for place in same
        ]
        chain = self.allocator.cluster.forests[ours.chain].chain
        promised = [leaf.top.level for assignment in ours.assignments for leaf in assignment.virtual]
        level = min([chain.node, *promised])
        if spread(mine) < spread(others):
            return Difference.CLOSER
        gone, theirs_gone = (
            {device for uid in uids for device in self.allocator.homes[uid].virtual} for uids in victims
        )
        whole = fit(left(mine, others, level, gone), left(others, mine, level, theirs_gone))
        return None if whole else Difference.TORN

    def _device(self, chain: str, node: str, index: int) -> Device:
        """One of a node, by its number there."""
        devices = self.allocator.cluster.forests[chain].devices()
        return next(device for device in devices if (device.host.name, device.index) == (node, index))

    def devices(self, uids: set[str]) -> DisruptionCost:
        """Of all gangs of some pods: what they hold, as they count now, with a guarantee or without."""
        return disruption_cost({self.allocator.homes[uid] for uid in uids}, ())

    def strongest(self, uids: set[str]) -> int:
        """The highest priority of the gangs of some pods."""
        return max(self.allocator.homes[uid].priority for uid in uids)


def nodes_of(info: BindInfo) -> set[str]:
    """All nodes of a gang."""
    return {place.node for same in info.gang for place in same}
