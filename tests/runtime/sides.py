"""Both sides of a history: the allocator, and the state of HiveD as recorded; what tells one difference from another.

Each class of `Difference` has its exact condition here. What meets none is a fault of ours.
"""

from __future__ import annotations

from typing import TypeAlias

from differences import Difference, fit, left, spread
from hived import Record, bind_info
from invariants import check

from runtime import Allocator, Bind, BindInfo, Phase, Pod, Preempt, UserError, Wait
from runtime.cells import Device
from runtime.gangs import Gang
from runtime.images import all_of, node_key, write
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.choose import choose
from runtime.placement.proposal import Placement
from runtime.pods import OPPORTUNISTIC
from runtime.rebuild import read, rebuild

Answer: TypeAlias = Bind | Preempt | Wait
STATE, PREEMPTOR, HAS_VIRTUAL = range(3)
"""What is recorded of a gang of HiveD's."""
USER, RESERVER = 2, 3
"""What is recorded of a cell, behind its state and priority."""


class Sides:
    """The allocator and HiveD, after the same history."""

    allocator: Allocator
    event: Record
    bad: set[str]
    """Nodes that cannot be used, on both sides."""
    groups: dict[str, list[object]]
    """HiveD's gangs."""
    cells: dict[str, list[object]]
    """HiveD's leaf cells that are not Free."""
    bound: dict[str, BindInfo]
    """By uid."""
    weights: dict[str, tuple[int, int]]
    """Of each gang before the ask: the devices that it had with a guarantee, and all."""

    # Before an ask

    def weigh(self) -> None:
        """Before anything of this ask is done."""
        self.weights = {}
        for name, gang in self.allocator.gangs.items():
            size = len(gang.virtual)
            self.weights[name] = (size if gang.priority > OPPORTUNISTIC else 0, size)

    def weight(self, gangs: set[str]) -> tuple[int, int]:
        """Devices of some gangs: those with a guarantee, and all."""
        pairs = [self.weights[name] for name in gangs]
        return sum(guaranteed for guaranteed, _ in pairs), sum(size for _, size in pairs)

    def gangs_of(self, uids: set[str]) -> set[str]:
        """The gangs of some pods."""
        return {self.allocator.homes[uid].name for uid in uids if uid in self.allocator.homes}

    # Asks

    def copy(self) -> Allocator:
        """The allocator as it is, to try something out."""
        copy = Allocator(self.allocator.configuration, now=lambda: 1000.0)
        nodes = {node_key(name): write(cells[0].healthy) for name, cells in self.allocator.cluster.nodes.items()}
        rebuild(copy.core, read({**nodes, **dict(all_of(self.allocator.gangs.values()))}))
        return copy

    def sound(self, pod: Pod, offered: list[str], victims: set[str]) -> bool:
        """Whether a waiting gang has its places when some gangs have gone: devices that nobody uses on either side, on
        good nodes that are offered where that counts, and with them all promises are kept."""
        copy = self.copy()
        for name in sorted(victims):
            for other in copy.gangs[name].pods:
                copy.delete(other)
        answer = copy.schedule(pod, offered, Phase.FILTERING)
        if not isinstance(answer, Bind):
            return False
        chain, places = answer.info.chain, [place for same in answer.info.gang for place in same]
        nodes = {place.node for place in places}
        if nodes & self.bad or not (pod.spec.ignore_suggested or nodes <= set(offered)):
            return False
        wanted = [f"{chain}/{place.node}/{index}" for place in places for index in place.leaf_cells]
        users = {self.cells[cell][USER] for cell in wanted if cell in self.cells} - {""}
        if len(set(wanted)) < len(wanted) or not users <= victims:
            return False
        copy.allocate(pod, answer.info)
        check(copy)
        gang = copy.gangs[pod.spec.gang.name]
        return gang.demotion is None and {place.node for place in gang.places.placements} == nodes

    def may_displace(self, pod: Pod, victims: set[str]) -> bool:
        """Whether a gang is stronger than others: opportunistic ones, or weaker ones of its virtual cluster."""
        gangs = [self.allocator.gangs[name] for name in victims]
        return pod.spec.priority > OPPORTUNISTIC and all(
            gang.priority == OPPORTUNISTIC
            or (gang.spec.virtual_cluster == pod.spec.virtual_cluster and gang.priority < pod.spec.priority)
            for gang in gangs
        )

    def answered(self, pod: Pod, offered: list[str], ours: Answer | UserError, was: str) -> Difference:
        """Why an ask was answered in another way."""
        theirs = self.event["hived"]
        match ours, theirs["kind"]:
            case Wait(), _ if was == "BeingPreempted" and pod.uid not in self.allocator.homes[pod.uid].assigned:
                return Difference.BEING_PREEMPTED
            case UserError(), _:
                return Difference.OURS_REFUSES
            case _, "refuse":
                return Difference.OURS_SERVES
            case Bind(), kind:
                limit = Difference.NO_PLACE if kind == "wait" else Difference.DISPLACES
                return limit if self.sound(pod, offered, set()) else Difference.OURS_UNSOUND
            case Preempt(), "wait":
                victims = self.gangs_of({victim.uid for victim in ours.pods()})
                allowed = self.may_displace(pod, victims) and self.sound(pod, offered, victims)
                return Difference.NO_VICTIMS if allowed else Difference.OURS_UNSOUND
            case Preempt(), _:
                return self._displaces(pod, offered, ours)
            case _:
                return Difference.OURS_WAITS

    def _displaces(self, pod: Pod, offered: list[str], ours: Preempt) -> Difference:
        """HiveD has a place for which nobody has to go."""
        theirs = {"bind": self.event["hived"]["info"]}
        info = bind_info(theirs["bind"])
        if self.bad & nodes_of(info):
            return Difference.ON_BAD
        gangs = {self.allocator.homes[victim.uid] for victim in ours.pods()}
        if any(gang.priority > OPPORTUNISTIC for gang in gangs):
            return Difference.OURS_DISPLACES
        changed = self.event.get("groups", {})
        if any(group and group[PREEMPTOR] == pod.spec.gang.name != name for name, group in changed.items()):
            return Difference.LENDS
        ours_chain = self._placement(pod, offered).chain
        if not pod.spec.leaf_type and not pod.spec.pinned_cell and ours_chain != info.chain:
            return Difference.CHAIN
        return self.better(pod, offered, theirs) or Difference.OURS_DISPLACES

    def victims(self, pod: Pod, offered: list[str], ours: Preempt) -> tuple[int, Difference | None]:
        """Both displace somebody: whether ours weigh less (-1), as much (0), or more (1) than all that HiveD needs in
        the end; and what explains more."""
        mine = {victim.uid for victim in ours.pods()}
        chain = self.event.get("chain")
        gone = (
            set(chain["gone"]) if chain else {uid for uids in self.event["hived"]["victims"].values() for uid in uids}
        )
        a, b = self.weight(self.gangs_of(mine)), self.weight(self.gangs_of(gone))
        if a <= b:
            return (-1 if a < b else 0), None
        if chain and chain["end"] == "bind" and Phase(self.event["phase"]) is Phase.FILTERING:
            better = self.better(pod, offered, {"bind": chain["info"]}, (mine, gone))
            return 1, better or Difference.OURS_MORE
        return 1, Difference.OURS_MORE

    def _placement(self, pod: Pod, offered: list[str]) -> Placement:
        gang = self.allocator.gangs[pod.spec.gang.name]
        offer = CandidateNodes(None if gang.spec.ignore_suggested else frozenset(offered))
        ours = choose(self.allocator.core.ledger, gang.spec, offer)
        assert isinstance(ours, Placement)
        return ours

    def better(
        self, pod: Pod, offered: list[str], theirs: Record, victims: tuple[set[str], set[str]] = (set(), set())
    ) -> Difference | None:
        """What is better about our places than about HiveD's, if anything: the gang is closer; or what is left of the
        cells that its virtual cluster is promised, or of nodes where these are larger, does not fit into what HiveD
        leaves of them, when the victims of both are gone."""
        ours, info = self._placement(pod, offered), bind_info(theirs["bind"])
        if info.chain != ours.chain:
            return None
        mine = [list(assignment.devices) for assignment in ours.assignments]
        others = self.devices(info)
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

    def devices(self, info: BindInfo) -> list[list[Device]]:
        """Of the pods of a gang."""
        places = [place for same in info.gang for place in same]
        return [[self._device(info.chain, place.node, index) for index in place.leaf_cells] for place in places]

    def _device(self, chain: str, node: str, index: int) -> Device:
        """One of a node, by its number there."""
        devices = self.allocator.cluster.forests[chain].devices()
        return next(device for device in devices if (device.host.name, device.index) == (node, index))

    # States

    def demoted_by_hived(self, name: str, gang: Gang) -> Difference:
        """Why HiveD has demoted a gang, and ours has not."""
        preemptor, asked = self.groups[name][PREEMPTOR], self.event.get("pod", "").rpartition("-")[0]
        if preemptor == name and self.event.get("doomed") and not self.bad_for(gang):
            check(self.allocator)
            return Difference.DOOMED
        if not asked or preemptor != asked:
            return Difference.OURS_KEEPS_GUARANTEE
        if self.event["phase"] == "Filtering" and self.event["hived"]["kind"] != "bind":
            return Difference.DEMOTES
        others = {x.name for x in self.allocator.gangs.values() if x.demotion and x.demotion.preemptor == asked}
        theirs = {x for x, group in self.groups.items() if group[PREEMPTOR] == asked}
        led = self.event.get("lead", {}).get("kind") == "bind"
        if led and others and self.weight(others) >= self.weight(theirs):
            return Difference.OTHER_DEMOTED
        return Difference.OURS_KEEPS_GUARANTEE

    def bad_for(self, gang: Gang) -> bool:
        """Whether a gang has been placed on a bad node since this process began."""
        return self.event["op"] == "ask" and bool(self.bad & set(gang.places.nodes))

    def demotion(self, gang: Gang) -> Difference:
        """Why ours has demoted a gang, and HiveD has not: a changed pin, or nothing."""
        assert gang.demotion is not None
        pinned = self.allocator.cluster.pinned
        inside = {device: [cell for cell in pinned.values() if device in cell.devices()] for device in gang.virtual}
        own = pinned.get(gang.spec.pinned_cell)
        moved = any(cells != ([] if own is None else [own]) for cells in inside.values())
        lost = own is None and bool(gang.spec.pinned_cell)
        if self.event["op"] == "start" and not gang.demotion.preemptor and (moved or lost):
            return Difference.PINNED
        return Difference.OURS_DEMOTES

    def wanted(self, name: str) -> bool:
        """Whether a cell of a gang is reserved for another one, by HiveD's own books."""
        return any(cell[USER] == name and cell[RESERVER] for cell in self.cells.values())

    def reserved(self, name: str) -> tuple[set[str], set[str]]:
        """The cells that are reserved for a gang: ours, and HiveD's."""
        gang = self.allocator.gangs.get(name)
        ours = gang.virtual if gang is not None and gang.state.value == "Preempting" else {}
        theirs = {key for key, cell in self.cells.items() if cell[RESERVER] == name}
        return {key_of(device) for device in ours}, theirs

    def doubled(self, info: BindInfo) -> bool:
        """Whether another pod has a device of the place that HiveD has for a pod."""
        others = (other for uid, other in self.bound.items() if uid != self.event["pod"])
        return any(other.node == info.node and set(other.leaf_cells) & set(info.leaf_cells) for other in others)


def key_of(device: Device) -> str:
    """As in HiveD's state."""
    return f"{device.chain.name}/{device.host.name}/{device.index}"


def nodes_of(info: BindInfo) -> set[str]:
    """All nodes of a gang."""
    return {place.node for same in info.gang for place in same}
