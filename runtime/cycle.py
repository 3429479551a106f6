"""The scheduling cycle: the only place where gangs begin, move and end.

1. check the request          requests.py    refuses, changes nothing
2. find places                placement/     reads
3. choose whom to displace    preemption/    reads
4. fire the machines          here           the ledger follows, by binding.py
5. answer                     answers.py

Asking in the filtering phase stops before 4. What was found is kept, and `allocate` acts on it if nothing has changed
since; otherwise it goes by what is written on the pod.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from generated.hived import AffinityGroupState
from runtime.answers import Answer, Bind, Demotion, Phase, Preempt, Wait
from runtime.binding import Bindings
from runtime.cells import CellLedger, Cluster, Device
from runtime.errors import UserError
from runtime.gangs import Gang, Places, Slot
from runtime.offers import Offers
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.choose import choose
from runtime.placement.proposal import NoPlace, Placement
from runtime.pods import BindInfo, Pod
from runtime.preemption.victims import displaced, reserver, victims
from runtime.requests import check, check_member, check_open
from runtime.restore import Restored, restore

PENDING, PREEMPTING = AffinityGroupState.PENDING, AffinityGroupState.PREEMPTING


class Cycle:
    """All gangs, and what becomes of them."""

    def __init__(self, cluster: Cluster, now: Callable[[], float]) -> None:
        self.cluster = cluster
        self.ledger = CellLedger(cluster)
        self.now = now
        self.gangs: dict[str, Gang] = {}
        self.homes: dict[str, Gang] = {}
        """By uid: the gang of each pod that is known."""
        self._offers = Offers()
        self._changes = 0
        """Counts what may make an earlier decision wrong."""
        self._decided: dict[str, tuple[int, Places, tuple[Gang, ...]]] = {}
        """By gang: the count of changes when places were found, the places, and the gangs to demote for them."""
        nothing = NoPlace("")
        self._chosen: tuple[Gang | None, int, frozenset[str] | None, Placement | NoPlace] = (None, 0, None, nothing)
        """The latest decision: the gang, the count of changes, the candidate nodes, and the result."""
        cluster.bind_actions(Bindings(self.ledger))

    @property
    def changes(self) -> int:
        """Counts what may make an earlier decision wrong: who waits need not ask again before it has risen."""
        return self._changes

    def set_health(self, node: str, *, healthy: bool) -> None:
        """A node turns good or bad. Pods on it stay."""
        if self.ledger.set_health(node, healthy=healthy):
            self._changes += 1

    # Scheduling

    def submit(self, pod: Pod) -> None:
        """A pod is there, and will ask."""
        self._check(pod)
        self.join(pod)

    def schedule(self, pod: Pod, suggested: Iterable[str] | None, phase: Phase) -> Answer:
        """Where a pod goes. Except in the filtering phase, this may begin a preemption, or call one off."""
        self._check(pod)
        gang = self.join(pod)
        self._specify(gang, pod)
        names = self._offers.note(pod.uid, None if gang.spec.ignore_suggested else suggested, phase)
        candidates = CandidateNodes(names)
        if gang.state is PREEMPTING:
            self._offers.keep(gang.name, pod.uid, names)
            offered = names if phase is Phase.PREEMPTING else None
            if phase is not Phase.FILTERING and not all(self._reachable(gang, x, offered) for x in gang.virtual):
                self.call_off(gang)
        match gang.state:
            case AffinityGroupState.PENDING:
                return self._place(gang, pod, candidates, phase)
            case AffinityGroupState.PREEMPTING:
                return _go_on(gang, pod)
            case AffinityGroupState.BEING_PREEMPTED if pod.uid not in gang.assigned:
                return Wait(f"gang {gang.name} is being preempted")
            case _:
                return _bind(gang, pod)

    def _specify(self, gang: Gang, pod: Pod) -> None:
        """A pending gang has decided nothing yet: what this pod says of it counts from now on."""
        if gang.state is PENDING and not gang.specified_by(pod):
            gang.respecify(pod.spec)
            self._changes += 1

    def _check(self, pod: Pod) -> None:
        """A gang that has its place keeps it, even if the configuration does not know its virtual cluster any more."""
        gang = self.gangs.get(pod.spec.gang.name)
        pod.spec.check()
        if gang is None or gang.state is PENDING:
            check(self.cluster, pod.spec)

    def join(self, pod: Pod, *, bound: bool = False) -> Gang:
        """The gang of a pod, to which it is added if it is new.

        Raises `UserError` where the pod does not fit. A bound pod always fits: it has its place, whatever it says.
        """
        home, gang = self.homes.get(pod.uid), self.gangs.get(pod.spec.gang.name)
        if home is not None and home is not gang:
            raise UserError(f"pod {pod.key} belongs to gang {home.name}, and cannot move to {pod.spec.gang.name}")
        if gang is not None:
            if not bound:
                check_member(gang, pod)
        else:
            gang = self.gangs[pod.spec.gang.name] = Gang(pod.spec, self.cluster.system)
        if home is None:
            self.homes[pod.uid] = gang
            gang.waiting[pod.uid] = pod
        return gang

    def _reachable(self, gang: Gang, device: Device, names: frozenset[str] | None) -> bool:
        """Whether a preempting gang can still have a leaf cell that it has reserved, or waits for.

        An outer scheduler that preempts offers only nodes with weaker pods: that a reserved node, which has none any
        more, is not among them, says nothing against it. One that leaves evictions to us offers nodes as they are: that
        a node with victims is not among them says nothing either, so that `names` is none then.
        """
        if not device.host.healthy:
            return False
        return names is None or device.machine.user is None or self._offers.has(gang.name, device.host.name)

    def _place(self, gang: Gang, pod: Pod, candidates: CandidateNodes, phase: Phase) -> Answer:
        choice = self._choose(gang, candidates)
        gang.never = choice.reason if isinstance(choice, NoPlace) and choice.permanent else ""
        if isinstance(choice, NoPlace):
            return Wait(choice.reason, choice.permanent)
        places = choice.places()
        left = displaced(places.virtual)
        if left:
            if phase is not Phase.FILTERING:
                self.take(gang, places, choice.demote)
                self._offers.keep(gang.name, pod.uid, candidates.names)
            return Preempt(victims(left))
        self._decided[gang.name] = (self._changes, places, choice.demote)
        slot = places.slots[pod.spec.leaf_cells][0]
        return Bind(slot.place.node, slot.place.leaf_cells, places.bind_info(slot))

    def _choose(self, gang: Gang, candidates: CandidateNodes) -> Placement | NoPlace:
        """Where a gang goes. An outer scheduler asks in one phase and then in the other: nothing is computed twice."""
        gang_then, changes, names, choice = self._chosen
        if gang_then is not gang or changes != self._changes or names != candidates.names:
            choice = choose(self.ledger, gang.spec, candidates)
            self._chosen = (gang, self._changes, candidates.names, choice)
        return choice

    # Firing the machines

    def allocate(self, pod: Pod, info: BindInfo) -> None:
        """A pod is bound, or about to be. The first one of a gang takes the leaf cells of all."""
        pod.spec.check()
        was_known = pod.uid in self.homes
        gang = self.join(pod, bound=True)
        self._specify(gang, pod)
        try:
            if gang.state is PENDING:
                self._allocate_first(gang, pod, info)
            elif gang.state is PREEMPTING:
                self._proceed(gang, pod, info)
            slot = _slot(gang.name, gang.places, pod, info)
            if gang.assigned.get(pod.uid, slot) is not slot:
                raise UserError(f"pod {pod.key} already has another place in gang {gang.name}")
            gang.assign(pod, slot)
        except UserError:
            if not was_known:
                self.delete(pod)
            raise

    def _allocate_first(self, gang: Gang, pod: Pod, info: BindInfo) -> None:
        decided = self._decided.pop(gang.name, None)
        if decided is not None:
            changes, places, demoted = decided
            if changes == self._changes and (places.chain, places.written) == (info.chain, info.gang):
                _slot(gang.name, places, pod, info)
                self.take(gang, places, demoted)
                return
        restored = restore(self.ledger, gang.spec, info)
        if restored.taken:
            raise UserError(f"gang {gang.name} cannot have these places: {'; '.join(restored.taken)}")
        if restored.lost and decided is not None:
            raise UserError(f"gang {gang.name} can no longer have these places: {restored.lost}")
        self.take_back(gang, pod, info, restored)

    def take_back(self, gang: Gang, pod: Pod, info: BindInfo, restored: Restored) -> None:
        """A gang that was placed by an earlier run of the scheduler has its leaf cells again."""
        _slot(gang.name, restored.places, pod, info)
        if restored.lost:
            gang.demote(Demotion("", self.now()))
        self.take(gang, restored.places, ())

    def _proceed(self, gang: Gang, pod: Pod, info: BindInfo) -> None:
        """The victims are gone."""
        if displaced(gang.virtual):
            raise UserError(f"gang {gang.name} still waits for the gangs that it displaces")
        _slot(gang.name, gang.places, pod, info)
        gang.machine.proceed()
        self._offers.forget(gang.name)
        self._changes += 1

    def take(self, gang: Gang, places: Places, demoted: Iterable[Gang]) -> None:
        """A pending gang takes leaf cells, or reserves them where some are in use."""
        for other in demoted:
            other.demote(Demotion(gang.name, self.now()))
        overthrown = [reserver(device) for device in places.virtual]
        gang.settle(places)
        gang.machine.schedule(frozenset(device.machine for device in places.virtual))
        for loser in overthrown:
            if loser is not None and loser.state is PENDING:
                self._offers.forget(loser.name)
                loser.unplace()
        self._changes += 1

    def call_off(self, gang: Gang) -> None:
        """Gives back what a preempting gang holds: some of it is of no use any more."""
        self._offers.forget(gang.name)
        gang.machine.call_off()
        gang.unplace()
        self._changes += 1

    def delete(self, pod: Pod) -> None:
        """A pod is gone; one that is not known means nothing.

        An allocated gang ends with the last pod that has a place: pods that still wait for theirs begin anew, and hold
        nothing. Any other gang ends with the last pod that is known.
        """
        gang = self.homes.pop(pod.uid, None)
        if gang is None:
            return
        self._offers.forget_pod(gang.name, pod.uid)
        gang.leave(pod)
        if gang.assigned or (gang.waiting and gang.is_waiting):
            return
        self._end(gang)
        if gang.waiting:
            gang.begin_anew()
        else:
            del self.gangs[gang.name]
            self._decided.pop(gang.name, None)

    def _end(self, gang: Gang) -> None:
        self._offers.forget(gang.name)
        gang.machine.pods_deleted()
        self.cluster.system.remove(gang.machine)
        self._changes += 1


def _bind(gang: Gang, pod: Pod) -> Bind:
    """The slot that a pod has, or the next free one of its size; raises `UserError` where there is none."""
    slot = gang.assigned.get(pod.uid) or gang.open_slot(pod.spec.leaf_cells)
    if slot is None:
        check_open(gang, pod)
    assert slot is not None, "a pod too many has been refused"
    return Bind(slot.place.node, slot.place.leaf_cells, gang.places.bind_info(slot))


def _go_on(gang: Gang, pod: Pod) -> Answer:
    """With a preemption that has begun: until all victims are gone, and as long as there is something to wait for."""
    bad = sorted({device.host.name for device in gang.virtual if not device.host.healthy})
    if bad:
        return Wait(f"gang {gang.name} has reserved leaf cells on {', '.join(bad)}, which is bad now")
    left = displaced(gang.virtual)
    return Preempt(victims(left)) if left else _bind(gang, pod)


def _slot(gang: str, places: Places, pod: Pod, info: BindInfo) -> Slot:
    """The slot that the bind info of a pod names."""
    same = places.slots.get(pod.spec.leaf_cells, ())
    slot = next((s for s in same if (s.place.node, s.place.leaf_cells) == (info.node, info.leaf_cells)), None)
    where = f"leaf cells {', '.join(map(str, info.leaf_cells))} of {info.node}"
    if slot is None:
        raise UserError(f"gang {gang} has no place on {where} for a pod of {pod.spec.leaf_cells}")
    if slot.pod not in (None, pod):
        raise UserError(f"{where} belong to another pod of gang {gang}")
    return slot
