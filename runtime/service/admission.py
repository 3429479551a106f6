"""Gated gangs: each is decided as a whole, as soon as all its pods are there; then its pods are admitted one by one.

Belongs to the thread that runs cycles, which holds the partition. A decision is journaled with its cycle; no pod is
admitted before that is on the disk. From then on nothing is decided anew: what is left to admit follows the decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from generated.hived import AffinityGroupState
from runtime.answers import Bind, Phase, Preempt, Wait
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.pods import BindInfo, GangSpec, Member, Pod, PodSpec
from runtime.preemption.victims import displaced
from runtime.requests import IDENTITY, PREFERENCES, disagreements
from runtime.service.tracker import PodPhase, Tracked, Tracker

MAX_DECISIONS = 64
"""Maximum number of gangs for which places are sought in one cycle, so that requests do not wait too long."""
PATCH_TIMEOUT = 15.0
"""Seconds after which a patch of which nothing was heard is sent again. Longer than a request may take."""
MIN_PAUSE, MAX_PAUSE = 1.0, 30.0
"""Seconds until a patch is sent again that has failed; each failure doubles them."""
NOTE_DELAY, NOTE_INTERVAL = 1.0, 30.0
"""Seconds for which a reason has to hold before an Event of the pod reports it, and between two of them."""
UNDECIDED = -1
"""A count of changes that there never is: nothing was decided yet."""
HELD_BACK = (
    f"nothing is decided in the first {PATCH_TIMEOUT:g} s after a start without the whole journal, because a patch of "
    "the previous process that admits a gated pod may be under way"
)
MAX_NOTES = 2
"""Maximum number of pods for which Events are created in one cycle."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a complete gang has not got its places."""

    reason: str
    is_general: bool = False
    """Whether it holds for every gang that asks for the same, so that the reason names none."""


class Admission:
    """The queue of gated gangs, and the pods that have a place and still have their gate."""

    def __init__(
        self,
        allocator: DurableAllocator,
        tracker: Tracker,
        now: Callable[[], float],
        *,
        move: Callable[[Tracked, PodPhase, BindInfo | None], object],
        admit: Callable[[Tracked], object],
        evict_for: Callable[[Gang], str] | None,
        tell: Callable[[Tracked, str], object],
        lost: Callable[[str], str],
    ) -> None:
        """`move` notes the phase and the place of a pod; `admit` opens the gate of one that has its place, later;
        `evict_for` has the victims of a gang evicted and returns what prevents that; it is None if evictions are not
        permitted. `tell` tells a pod why it waits; `lost` says why no pod can be bound to a node."""
        self._allocator = allocator
        self._tracker = tracker
        self._now = now
        self._move = move
        self._admit = admit
        self._evict_for = evict_for
        self._tell = tell
        self._lost = lost
        self._waiting: dict[str, dict[str, Tracked]] = {}
        """By gang, and then by uid: gated pods without a place, in the order in which they came."""
        self._gangs: dict[str, str] = {}
        """By uid, the gang that a pod waits with."""
        self._noted: set[str] = set()
        """Gangs to which something has happened since they were looked at."""
        self._looked: dict[str, int] = {}
        """Complete gangs that wait, and the count of changes when they were looked at."""
        self._seen_changes = UNDECIDED
        self._preempting: set[str] = set()
        """Gangs that hold a reservation, and have all their pods."""
        self._unconfirmed: dict[str, int] = {}
        """By uid: pods whose gate is to be opened, and how often that has failed."""
        self._due: dict[str, float] = {}
        """By uid: when the patch of a pod is sent again."""
        self._retries: list[tuple[float, str]] = []
        """A heap of what is due, and of what was and has been put off."""
        self._reasons: dict[str, str] = {}
        """By uid: why a pod waits."""
        self._untold: dict[str, float] = {}
        """By uid: since when there is a reason that no Event has reported."""
        self._told: dict[str, float] = {}
        """By uid: when a pod was last told."""
        self._not_before = 0.0

    # What happens

    def wait(self, tracked: Tracked) -> None:
        """A gated pod without a place is there, or asks for something else."""
        uid = tracked.seen.uid
        if tracked.pod is not None and self._gangs.get(uid) == tracked.pod.spec.gang.name:
            self._noted.add(self._gangs[uid])
            return
        self._forget_waiting(uid)
        if tracked.pod is None:
            self._explain(tracked, tracked.problem)
            return
        name = tracked.pod.spec.gang.name
        self._waiting.setdefault(name, {})[uid] = tracked
        self._gangs[uid] = name
        self._noted.add(name)

    def drop(self, uid: str) -> None:
        """A pod is gone, or has a place and no gate any more."""
        self._forget_waiting(uid)
        tracked = self._tracker.pod(uid)
        if tracked is not None:
            tracked.reason = ""
        self._unconfirmed.pop(uid, None)
        self._due.pop(uid, None)
        for by_uid in (self._reasons, self._untold, self._told):
            by_uid.pop(uid, None)

    def note(self, gang: str) -> None:
        """Something has happened to a gang: if it waits, it is looked at again."""
        if gang in self._waiting:
            self._noted.add(gang)

    def _forget_waiting(self, uid: str) -> None:
        name = self._gangs.pop(uid, None)
        if name is None:
            return
        del self._waiting[name][uid]
        self._noted.add(name)
        if not self._waiting[name]:
            del self._waiting[name]
            self._noted.discard(name)
            self._looked.pop(name, None)
            self._preempting.discard(name)

    def hold_back(self, seconds: float) -> None:
        """Nothing is decided for so long: requests of a forgotten process may be under way."""
        self._not_before = self._now() + seconds

    @property
    def is_held_back(self) -> bool:
        """Whether nothing is decided yet."""
        return self._now() < self._not_before

    def keeps(self, gang: str) -> bool:
        """Whether a gang has a reservation, and all its pods to use it."""
        return gang in self._preempting

    def reason(self, uid: str) -> str:
        """Why a gated pod waits; empty where it does not, or nothing is known."""
        return self._reasons.get(uid, "")

    def counts(self) -> dict[str, int]:
        """Gated pods by what their gates wait for: the rest of their gang (or that its pods agree), places for it, or
        the patch that removes them."""
        counts = {"incomplete": 0, "waiting": 0, "placed": len(self._unconfirmed)}
        for name, pods in self._waiting.items():
            counts["waiting" if name in self._looked else "incomplete"] += len(pods)
        return counts

    # Decisions

    def decide(self) -> None:
        """Looks at the gangs to which something has happened, and at those that wait if something else has.

        Strong gangs come first, then those whose first pod came first. One that has to wait blocks nobody.
        """
        if self.is_held_back:
            self._hold()
        elif self._noted or self._allocator.changes != self._seen_changes:
            refused: dict[PodSpec, tuple[int, str]] = {}
            decisions = 0
            due = sorted(self._due_gangs(), key=self._order)
            self._seen_changes = self._allocator.changes
            for name in due:
                if decisions == MAX_DECISIONS:
                    self._seen_changes = UNDECIDED
                    break
                self._noted.discard(name)
                decisions += self._decide(name, refused)
        self._tell_reasons()

    def _due_gangs(self) -> list[str]:
        """The gangs to look at. One that can never have places is looked at only if something happens to itself."""
        changes = self._allocator.changes
        if changes == self._seen_changes:
            return list(self._noted)
        return [
            name
            for name in self._waiting
            if name in self._noted or (self._looked.get(name, changes) != changes and not self._is_hopeless(name))
        ]

    def _is_hopeless(self, name: str) -> bool:
        gang = self._allocator.gangs.get(name)
        return gang is not None and bool(gang.never)

    def _hold(self) -> None:
        """Tells pods of complete gangs that nothing is decided yet."""
        noted, self._noted = self._noted, set()
        for name in noted:
            self._looked.pop(name, None)
            pods = list(self._waiting[name].values())
            gang = self._allocator.gangs.get(name)
            try:
                if gang is None or gang.is_waiting:
                    self._choose(name, pods)
            except UserError as error:
                self._explain_all(pods, str(error))
                self._return_to_waiting(name, pods)
            else:
                self._looked[name] = UNDECIDED
                self._explain_all(pods, HELD_BACK)

    def _order(self, name: str) -> tuple[int, tuple[str, float], str]:
        """Kubernetes knows when a pod came to the second, also after a restart."""
        pods = list(self._waiting[name].values())
        strength = max(x.pod.spec.priority for x in pods if x.pod is not None)
        return -strength, min((x.seen.created, x.since) for x in pods), name

    def _decide(self, name: str, refused: dict[PodSpec, tuple[int, str]]) -> bool:
        """Whether places had to be sought. `refused`: what was sought in this cycle in vain, after so many changes."""
        self._looked.pop(name, None)
        self._preempting.discard(name)
        pods = list(self._waiting[name].values())
        gang = self._allocator.gangs.get(name)
        if gang is not None and not gang.is_waiting:
            for tracked in sorted(pods, key=_rank):
                self._join(tracked, gang)
            sought = False
        else:
            try:
                chosen = self._choose(name, pods)
            except UserError as error:
                self._explain_all(pods, str(error))
                self._return_to_waiting(name, pods)
                return False
            sought = self._seek(name, chosen, refused)
            self._return_to_waiting(name, pods)
        if name in self._waiting:
            self._looked[name] = self._allocator.changes
        return sought

    def _seek(self, name: str, chosen: list[tuple[Tracked, Pod]], refused: dict[PodSpec, tuple[int, str]]) -> bool:
        """Places for a complete gang. Answers whether they had to be sought."""
        shape = replace(chosen[0][1].spec, gang=GangSpec("", _members(chosen[0][1].spec.gang.sizes)))
        changes, reason = refused.get(shape, (UNDECIDED, ""))
        if changes == self._allocator.changes and self._is_pending(name):
            self._explain_all((x for x, _ in chosen), reason)
            return False
        refusal = self._place_all(name, chosen)
        if refusal is not None:
            self._explain_all((x for x, _ in chosen), refusal.reason)
            if refusal.is_general:
                refused[shape] = self._allocator.changes, refusal.reason
        return True

    def _return_to_waiting(self, name: str, pods: Iterable[Tracked]) -> None:
        """Pods of a gang without a reservation. One that contradicted the reservation that there was is known again."""
        if not self._is_pending(name):
            return
        for tracked in pods:
            if tracked.phase is PodPhase.PREEMPTING:
                self._move(tracked, PodPhase.WAITING, None)
            if tracked.pod is not None and tracked.pod.uid not in self._allocator.homes:
                with suppress(UserError):
                    self._allocator.submit(tracked.pod)

    def _is_pending(self, name: str) -> bool:
        gang = self._allocator.gangs.get(name)
        return gang is None or gang.state is AffinityGroupState.PENDING

    def _choose(self, name: str, pods: list[Tracked]) -> list[tuple[Tracked, Pod]]:
        """The pods that make up the gang, in the order in which they take its places, with what each asks for.

        Raises `UserError` where they are not complete, or contradict each other. Pods that are too many get that as
        their reason.
        """
        candidates = [(tracked, tracked.pod) for tracked in pods if tracked.pod is not None]
        _check_agreement(name, [pod for _, pod in candidates])
        by_group = _is_grouped(candidates[0][0])
        spec = candidates[0][1].spec
        if by_group:
            same = all(_is_grouped(tracked) for tracked, _ in candidates)
        else:
            same = all(not _is_grouped(x) and pod.spec.gang.sizes == spec.gang.sizes for x, pod in candidates)
        if not same:
            raise UserError(f"pods of gang {name} disagree on the members of the gang")
        if by_group:
            total = spec.gang.pods
            chosen = candidates[:total]
            sizes = Counter(pod.spec.leaf_cells for _, pod in chosen)
            members = _members(sizes)
        else:
            free = Counter(spec.gang.sizes)
            total = spec.gang.pods
            chosen = []
            for tracked, pod in candidates:
                if free[pod.spec.leaf_cells] > 0:
                    free[pod.spec.leaf_cells] -= 1
                    chosen.append((tracked, pod))
            members = spec.gang.members
        if len(chosen) < total:
            raise UserError(f"gang {name} waits for its pods: {len(chosen)} of {total} are there")
        among = {tracked.seen.uid for tracked, _ in chosen}
        extra = [tracked for tracked, _ in candidates if tracked.seen.uid not in among]
        self._explain_all(extra, f"gang {name} already has all its {total} pods: this one is too many")
        gang = GangSpec(name, members)
        complete = [(tracked, replace(pod, spec=replace(pod.spec, gang=gang))) for tracked, pod in chosen]
        return sorted(complete, key=lambda one: _rank(one[0]))

    def _place_all(self, name: str, chosen: list[tuple[Tracked, Pod]]) -> Refusal | None:
        """All pods get a place, or none does. Answers why not; none where they have."""
        allocator = self._allocator
        placed: list[tuple[Tracked, BindInfo]] = []
        try:
            self._call_off_outdated(name, chosen[0][1])
            for tracked, pod in chosen:
                self._respecify(tracked, pod)
            first = chosen[0][1]
            preempting = not self._is_pending(name)
            answer = allocator.schedule(first, None, Phase.PREEMPTING if preempting else Phase.FILTERING)
            if isinstance(answer, Preempt):
                return self._preempt(name, chosen, preempting)
            for tracked, pod in chosen:
                if placed:
                    answer = allocator.schedule(pod, None, Phase.FILTERING)
                match answer:
                    case Wait(reason=reason, permanent=permanent):
                        self._take_back(placed)
                        if permanent:
                            return Refusal(f"{reason} (this can never change while the configuration stays)")
                        return Refusal(reason, is_general=True)
                    case Preempt():
                        self._take_back(placed)
                        return Refusal(f"gang {name} waits for others to leave")
                    case Bind(info=info):
                        places = {place.node for same in info.gang for place in same}
                        if lost := next(filter(None, map(self._lost, sorted(places))), ""):
                            self._take_back(placed)
                            return Refusal(f"gang {name} has a place on {lost}")
                        allocator.allocate(pod, info)
                        placed.append((tracked, info))
        except UserError as error:
            self._take_back(placed)
            return Refusal(str(error))
        for tracked, info in placed:
            self._place(tracked, info)
        return None

    def _call_off_outdated(self, name: str, pod: Pod) -> None:
        """A gang has reserved places, and now asks for others: it gives them back, and begins anew."""
        gang = self._allocator.gangs.get(name)
        if gang is None or self._is_pending(name):
            return
        if gang.spec.gang.sizes != pod.spec.gang.sizes or disagreements(gang, pod, IDENTITY):
            for member in gang.pods:
                self._allocator.delete(member)

    def _preempt(self, name: str, chosen: list[tuple[Tracked, Pod]], preempting: bool) -> Refusal:
        """It waits until its victims have left. Who may evict, reserves its places first."""
        if self._evict_for is None:
            return Refusal(
                "it has to displace other gangs, but the allocator evicts nobody (--no-evict)", is_general=True
            )
        if not preempting:
            self._allocator.schedule(chosen[0][1], None, Phase.PREEMPTING)
        gang = self._allocator.gangs[name]
        self._preempting.add(name)
        obstacle = self._evict_for(gang)
        for tracked, _ in chosen:
            self._move(tracked, PodPhase.PREEMPTING, None)
        victims = displaced(gang.virtual)
        names = ", ".join(sorted(x.name for x in victims)[:8])
        because = f"; {obstacle}" if obstacle else ""
        return Refusal(
            f"gang {name} has reserved its places, and waits until {names} ({len(victims)} gangs) have left{because}"
        )

    def _join(self, tracked: Tracked, gang: Gang) -> None:
        """A pod of a gang that has its places already: another one has left, or the decision was made before."""
        assert tracked.pod is not None, "it waits with its gang"
        pod = tracked.pod
        if _is_grouped(tracked):
            pod = replace(pod, spec=replace(pod.spec, gang=gang.spec.gang))
        try:
            self._respecify(tracked, pod)
            answer = self._allocator.schedule(pod, None, Phase.FILTERING)
            match answer:
                case Bind(node=node, info=info):
                    if lost := self._lost(node):
                        self._explain(tracked, f"gang {gang.name} has a place for it on {lost}")
                        return
                    self._allocator.allocate(pod, info)
                    self._place(tracked, info)
                case Wait(reason=reason):
                    self._explain(tracked, reason)
                case Preempt():
                    self._explain(tracked, f"gang {gang.name} waits for others to leave")
        except UserError as error:
            self._explain(tracked, str(error))

    def _respecify(self, tracked: Tracked, pod: Pod) -> None:
        """What a pod asks for is known only now that its gang is complete."""
        before = tracked.pod
        if before is not None and before.spec == pod.spec and pod.uid in self._allocator.homes:
            return
        if before is not None:
            self._allocator.delete(before)
        tracked.pod = pod
        self._allocator.submit(pod)

    def _take_back(self, placed: list[tuple[Tracked, BindInfo]]) -> None:
        """Some of a gang have got places, and others cannot: none keeps its own."""
        for tracked, _ in placed:
            assert tracked.pod is not None, "it has got a place"
            self._allocator.delete(tracked.pod)
        for tracked, _ in placed:
            assert tracked.pod is not None, "it has got a place"
            self._allocator.submit(tracked.pod)

    def _place(self, tracked: Tracked, info: BindInfo) -> None:
        self.drop(tracked.seen.uid)
        self._move(tracked, PodPhase.BINDING, info)
        self.admit(tracked)

    # Opening the gates

    def admit(self, tracked: Tracked) -> None:
        """The gate of a pod with a place is opened, and that is tried until it is seen to be open."""
        uid = tracked.seen.uid
        if uid not in self._unconfirmed:
            self._unconfirmed[uid] = 0
            self._send(tracked)

    def _send(self, tracked: Tracked) -> None:
        """A pod whose node is gone stays gated: Kubernetes could not bind it."""
        assert tracked.info is not None, "it has a place"
        if lost := self._lost(tracked.info.node):
            self._explain(tracked, f"it has its place on {lost}, and is admitted when the node is back")
        else:
            self._admit(tracked)
        self._put_off(tracked.seen.uid, PATCH_TIMEOUT)

    def _put_off(self, uid: str, seconds: float) -> None:
        self._due[uid] = self._now() + seconds
        heappush(self._retries, (self._due[uid], uid))

    def failed(self, uid: str, why: str) -> None:
        """A patch has come to nothing: it is sent again, later."""
        tracked = self._tracker.pod(uid)
        if uid not in self._unconfirmed or tracked is None:
            return
        self._unconfirmed[uid] += 1
        pause = min(MIN_PAUSE * 2 ** min(self._unconfirmed[uid] - 1, 10), MAX_PAUSE)
        self._put_off(uid, pause)
        self._explain(tracked, f"it has its place, but cannot be admitted: {why}")

    def retry(self) -> None:
        """Patches that have failed, or of which nothing was heard."""
        due: list[str] = []
        while self._retries and self._retries[0][0] <= self._now():
            when, uid = heappop(self._retries)
            if self._due.get(uid) == when:
                del self._due[uid]
                due.append(uid)
        for uid in due:
            tracked = self._tracker.pod(uid)
            if uid not in self._unconfirmed or tracked is None or not tracked.seen.gated:
                self._unconfirmed.pop(uid, None)
            elif tracked.phase is PodPhase.BINDING:
                self._send(tracked)

    # Reasons

    def _explain_all(self, pods: Iterable[Tracked], reason: str) -> None:
        for tracked in pods:
            self._explain(tracked, reason)

    def _explain(self, tracked: Tracked, reason: str) -> None:
        uid = tracked.seen.uid
        if self._reasons.get(uid) != reason:
            self._reasons[uid] = tracked.reason = reason
            self._untold.setdefault(uid, self._now())

    def _tell_reasons(self) -> None:
        """A reason that has held for a while, and not too often."""
        if not self._untold:
            return
        now = self._now()
        due: list[str] = []
        for uid, since in self._untold.items():
            if now - since < NOTE_DELAY:
                break  # those that come after it are younger
            if now - self._told.get(uid, -NOTE_INTERVAL) >= NOTE_INTERVAL:
                due.append(uid)
                if len(due) == MAX_NOTES:
                    break
        for uid in due:
            del self._untold[uid]
            tracked, reason = self._tracker.pod(uid), self._reasons.get(uid, "")
            if tracked is not None and reason:
                self._told[uid] = now
                self._tell(tracked, reason)


def _is_grouped(tracked: Tracked) -> bool:
    """Whether its gang is named by its group, and not by its annotation."""
    group = tracked.seen.group
    return group is not None and tracked.pod is not None and tracked.pod.spec.gang.name == group.name


def _check_agreement(name: str, pods: list[Pod]) -> None:
    """Pods of a gang have to say the same of it; raises `UserError` where they do not."""
    first = pods[0]
    for other in pods[1:]:
        for key, what in {**IDENTITY, **PREFERENCES}.items():
            one, two = getattr(first.spec, key), getattr(other.spec, key)
            if one != two:
                raise UserError(
                    f"pods of gang {name} disagree on {what}: {first.key} says {one!r}, but {other.key} says {two!r}"
                )
        one, two = first.spec.gang.pods, other.spec.gang.pods
        if one != two:
            raise UserError(
                f"pods of gang {name} disagree on the number of its pods: {first.key} says {one}, but {other.key} says "
                f"{two}"
            )


def _members(sizes: dict[int, int] | Counter[int]) -> tuple[Member, ...]:
    return tuple(Member(pods, size) for size, pods in sorted(sizes.items()))


def _rank(tracked: Tracked) -> tuple[str, int, str]:
    """The pods of a Job or a StatefulSet in the order of their numbers: neighbours get neighbouring places."""
    name = tracked.seen.name
    return tracked.seen.namespace, len(name), name
