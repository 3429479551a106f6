"""The scheduler between a cluster and the allocator: calls of an extender, and the expiry of places.

Belongs to the thread that runs cycles, which holds the partition.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from generated.hived import AffinityGroupState
from runtime.answers import Bind, Phase, Preempt, Wait
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.gangs import Gang
from runtime.pods import Pod
from runtime.preemption.victims import displaced, preemptors
from runtime.service.admission import HELD_BACK, PATCH_TIMEOUT, Admission
from runtime.service.evictions import Evictions
from runtime.service.leases import LEASE, Leases
from runtime.service.lifecycle_reporter import Options
from runtime.service.locks import Locks
from runtime.service.messages import (
    COMPONENT,
    BindRequest,
    FilterRequest,
    PreemptRequest,
    filter_answer,
    preempt_answer,
)
from runtime.service.objects import PodObject
from runtime.service.observer import Observer
from runtime.service.source import Change
from runtime.service.tracker import PodPhase, Tracked

log = logging.getLogger(__name__)

DELETE_RETRY_INTERVAL = 3.0
"""Seconds after which a pod is deleted again that does not leave: the cluster may have been away."""
EVICTION_RETRY_INTERVAL = 10.0
"""Seconds after which an eviction is tried again that has failed, or that a disruption budget has forbidden."""
MIN_EVICTION_RETRY_INTERVAL, MAX_EVICTION_RETRY_INTERVAL = 1.0, 60.0
"""The same, at least and at most, where the cluster says how long it wants to be left alone."""

HELD_BACK_KEY = "admission/held back"
"""In the journal while nothing may be decided, because one before it was lost."""

MAX_NAMED = 8
"""Maximum number of gangs that are named in the reason for waiting."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why the victims of a gang are not evicted, and when that is tried again."""

    why: str
    until: float


class NotYetError(UserError):
    """A pod is not known yet, or nothing is decided yet: it should be asked for again soon."""


class PodScheduler(Observer):
    """Decides nothing by itself: it asks the allocator, and keeps what was reported of pods and nodes."""

    def __init__(
        self,
        allocator: DurableAllocator,
        locks: Locks,
        bind: Callable[[Tracked], object],
        refresh: Callable[[Tracked], object],
        lease: float = LEASE,
        now: Callable[[], float] = time.monotonic,
        lifecycle: Options = Options(),  # noqa: B008 - it is frozen
        delete: Callable[[Tracked], object] | None = None,
        *,
        evict: bool = False,
        evict_gangs: Callable[[Gang, Mapping[Gang, tuple[Tracked, ...]]], object] | None = None,
        admit: Callable[[Tracked], object] = lambda tracked: None,
        tell: Callable[[Tracked, str], object] = lambda tracked, reason: None,
    ) -> None:
        """`evict`: whether gangs that are in the way are evicted from here. Otherwise it is the outer scheduler that
        deletes their pods. `evict_gangs`: evicts the victims of a gang together, later, if their disruption budgets
        permit, and tells `eviction_failed` where it does not come to that; without it, the pods are deleted."""
        super().__init__(allocator, locks, lease, now, lifecycle)
        self.given_back: Counter[str] = Counter({"place": 0, "reservation": 0})
        """How many places and reservations expired, by kind."""
        self._bind = bind
        """Binds a pod without being asked to, and later."""
        self._refresh = refresh
        """Finds out what has become of a pod, and tells `settle`, later."""
        self._delete = delete
        """Has a pod deleted, later; none where that is not permitted."""
        self._deleted = Leases(DELETE_RETRY_INTERVAL)
        """By uid: pods that we have had deleted, and that are still there."""
        self._evict = evict
        self._evict_gangs = evict_gangs
        self._evicted: set[str] = set()
        """Of those deleted, the uids of victims."""
        self._begun: set[Gang] = set()
        """Gangs that have to go, and of which some pod has begun to leave: the others follow in any case."""
        self._refusals: dict[Gang, Refusal] = {}
        """By gang that preempts. One whose time is over counts until it is known what has become of the next try."""
        self._undeletable: dict[str, str] = {}
        """By uid: why a pod could not be deleted, when that was last tried."""
        self._evictions = Evictions()
        self._unoffered: list[Tracked] = []
        """Pods that have just got a place that was not offered: the outer scheduler cannot bind them."""
        self._terminate = lifecycle.terminate
        self._settings = allocator.configuration.settings
        self.admission = Admission(
            allocator,
            self.tracker,
            now,
            move=self._move,
            admit=admit,
            evict_for=self._evict_gated if evict and delete is not None else None,
            tell=tell,
            lost=self._lost,
        )

    # Gates

    def _gated(self, tracked: Tracked) -> None:
        """One that has its place from before is still to be admitted; others wait."""
        self._places.drop(tracked.seen.uid)
        if tracked.leaving:
            self.admission.drop(tracked.seen.uid)
        elif tracked.phase is not PodPhase.BINDING:
            self.admission.wait(tracked)
        elif tracked.seen.uid not in self._evicted:
            self.admission.admit(tracked)

    def _gate_removed(self, tracked: Tracked) -> None:
        """One that is not where it was to be admitted is a pod of the extender: its place has a lease from now on."""
        self.admission.drop(tracked.seen.uid)
        if tracked.phase is PodPhase.BINDING and not tracked.by_gate:
            self._places.renew(tracked.seen.uid, self._now())

    def _remove(self, tracked: Tracked, phase: str = "") -> None:
        super()._remove(tracked, phase)
        self.admission.drop(tracked.seen.uid)
        if tracked.pod is not None:
            self.admission.note(tracked.pod.spec.gang.name)

    def _evict_gated(self, preemptor: Gang) -> str:
        self._reservations.renew(preemptor.name, self._now())
        self._evict_for(preemptor)
        return self._obstacle(preemptor)

    def recover(self, changes: Iterable[Change], *, lists_all: bool) -> None:
        """As `Observer.recover`. Where the journal or its end was lost, a patch of the former process may be under way:
        nothing is decided until it has arrived or failed. The journal remembers that, because this process may end
        before."""
        changes = list(changes)
        opened, journal = self.allocator.opened, self.allocator.journal
        forgotten = opened.damage is not None or HELD_BACK_KEY in journal.images or not any(self.allocator.pods())
        if forgotten and any(isinstance(x.thing, PodObject) and x.thing.gated for x in changes):
            self.admission.hold_back(PATCH_TIMEOUT)
            journal.write("hold back", {HELD_BACK_KEY: "true"})
        super().recover(changes, lists_all=lists_all)

    def admit(self) -> None:
        """Decides about gated gangs, as far as something has changed for them."""
        if HELD_BACK_KEY in self.allocator.journal.images and not self.admission.is_held_back:
            self.allocator.journal.write("decide", {HELD_BACK_KEY: None})
        self.admission.retry()
        self.admission.decide()

    # Expiry

    def expire(self) -> None:
        """Pods that have a place, and gangs that have reserved some, but were not asked for in time."""
        unoffered, self._unoffered = self._unoffered, []
        for placed in unoffered:
            if placed.phase is PodPhase.BINDING and placed.info is not None and not self._lost(placed.info.node):
                self._bind(placed)
        for uid in self._places.over(self._now()):
            tracked = self.tracker.pod(uid)
            if tracked is not None and tracked.phase is PodPhase.BINDING and not tracked.by_gate:
                self._refresh(tracked)
        for name in self._reservations.over(self._now()):
            gang = self.allocator.gangs.get(name)
            if gang is not None and gang.state is AffinityGroupState.PREEMPTING:
                if self.admission.keeps(name):
                    self._reservations.renew(name, self._now())
                    continue
                self._give_back("reservation", self._not_asked_for(name), gang.pods)

    def tear_down(self) -> None:
        """Gangs that have been below their minimum for too long: their pods have to be deleted, by us if we may."""
        self.lifecycle.tick()
        doomed, self.lifecycle.to_delete = self.lifecycle.to_delete, []
        if doomed:
            how = "they are deleted" if self._terminate else "somebody has to delete them"
            log.warning(
                "pods of gangs that have had too few running pods for too long; %s: %s", how, ", ".join(sorted(doomed))
            )
        if self._delete is None:
            return
        self._forget_ended()
        again: dict[Gang, None] = {}
        late = self._deleted.over(self._now())
        for uid in [*(doomed if self._terminate else ()), *late]:
            tracked = self.tracker.pod(uid)
            if tracked is None or (tracked.leaving and uid in late):
                self._evicted.discard(uid)
            elif uid not in self._evicted:
                self._deleted.renew(uid, self._now())
                self._delete(tracked)
            else:
                self._evicted.discard(uid)
                again[self.allocator.homes[uid]] = None
        waiting = {gang: None for gang, refusal in self._refusals.items() if refusal.until <= self._now()}
        for gang in again:
            if gang in self._begun:
                self._have_deleted(gang.allocated)
            waiting.update(dict.fromkeys(preemptors(gang)))
        for gang in waiting:
            self._evict_for(gang)

    # Victims

    def _forget_ended(self) -> None:
        """Another gang may take the name of one that is gone."""
        gangs = self.allocator.gangs
        self._begun = {x for x in self._begun if gangs.get(x.name) is x and x.assigned}
        self._refusals = {x: refusal for x, refusal in self._refusals.items() if self._preempts(x)}
        self._undeletable = {
            uid: why
            for uid, why in self._undeletable.items()
            if (x := self.tracker.pod(uid)) is not None and not x.leaving
        }

    def _preempts(self, gang: Gang) -> bool:
        return self.allocator.gangs.get(gang.name) is gang and gang.state is AffinityGroupState.PREEMPTING

    def _evict_for(self, preemptor: Gang) -> None:
        """The gangs in the way leave together. While one of them cannot leave as a whole, none does, because the others
        would lose their work for nothing. What has begun to leave follows in any case."""
        if not self._evict:
            return
        staying: dict[Gang, tuple[Tracked, ...]] = {}
        for victim in displaced(preemptor.virtual):
            pods = tuple(x for pod in victim.allocated if (x := self.tracker.pod(pod.uid)) is not None)
            if self._evict_gangs is None or victim in self._begun or any(x.leaving for x in pods):
                self._have_deleted(victim.allocated)
            else:
                staying[victim] = pods
        if not staying:
            self._refusals.pop(preemptor, None)
        refusal = self._refusals.get(preemptor)
        if self._evict_gangs is None or (refusal is not None and refusal.until > self._now()):
            return
        if any(x.seen.uid not in self._deleted for pods in staying.values() for x in pods):
            for pods in staying.values():
                for x in pods:
                    self._note_deleted(x)
            self._evict_gangs(preemptor, staying)

    def eviction_failed(
        self,
        preemptor: Gang,
        victims: Iterable[Gang],
        accepted: Collection[str],
        why: str,
        seconds: float = EVICTION_RETRY_INTERVAL,
    ) -> None:
        """The victims of a gang were not evicted. `accepted`: uids of pods that leave nevertheless, because they were
        evicted before the failure. `seconds`: the time until the next attempt."""
        victims = list(victims)
        for pod in (pod for victim in victims for pod in victim.allocated if pod.uid not in accepted):
            self._evicted.discard(pod.uid)
            self._deleted.drop(pod.uid)
        for victim in victims:
            if any(pod.uid in accepted for pod in victim.allocated):
                self._begun.add(victim)
                self._have_deleted(victim.allocated)
        if self._preempts(preemptor) and not self._begun.issuperset(victims):
            seconds = min(max(seconds, MIN_EVICTION_RETRY_INTERVAL), MAX_EVICTION_RETRY_INTERVAL)
            self._refusals[preemptor] = Refusal(why, self._now() + seconds)
        self.admission.note(preemptor.name)
        for other in dict.fromkeys(x for victim in victims for x in preemptors(victim)):
            self._evict_for(other)

    def deletion_failed(self, uid: str, why: str) -> None:
        """A pod could not be deleted. It is tried again, like a deletion that nothing has come of."""
        tracked = self.tracker.pod(uid)
        if tracked is None or self._undeletable.get(uid) == why:
            return
        self._undeletable[uid] = why
        log.warning("pod %s could not be deleted: %s", tracked.seen.key, why)
        victim = self.allocator.homes.get(uid)
        if victim is None:
            return
        for preemptor in preemptors(victim):
            if preemptor not in self._refusals:
                self.history.eviction_refused(preemptor.name, [victim.name], self._obstacle(preemptor), by_budget=False)
                self.admission.note(preemptor.name)

    def _obstacle(self, preemptor: Gang) -> str:
        """Why victims of a gang do not begin to leave; empty where they do, as far as is known."""
        refusal = self._refusals.get(preemptor)
        if refusal is not None:
            return refusal.why
        failures = (
            f"pod {pod.key} of gang {victim.name} cannot be deleted: {self._undeletable[pod.uid]}"
            for victim in displaced(preemptor.virtual)
            for pod in victim.allocated
            if pod.uid in self._undeletable
        )
        return min(failures, default="") if self._undeletable else ""

    def _finish_eviction(self, victim: Gang) -> None:
        if not self._evict:
            return
        is_new = victim not in self._begun
        self._begun.add(victim)
        self._have_deleted(victim.allocated)
        for preemptor in preemptors(victim) if is_new else ():
            if self._refusals.pop(preemptor, None) is not None:
                self._evict_for(preemptor)
                self.admission.note(preemptor.name)

    def _have_deleted(self, pods: Iterable[Pod]) -> None:
        for pod in pods:
            victim = self.tracker.pod(pod.uid)
            if self._delete is None or victim is None or victim.leaving or pod.uid in self._deleted:
                continue
            self._note_deleted(victim)
            self._delete(victim)

    def _note_deleted(self, victim: Tracked) -> None:
        self._evicted.add(victim.seen.uid)
        self._deleted.renew(victim.seen.uid, self._now())

    def _waits_for(self, gang: Gang) -> str:
        """What a gang with a reservation waits for, in words."""
        victims = displaced(gang.virtual)
        leaving = ", ".join(f"{x.name} ({len(x.assigned)} pods)" for x in victims[:MAX_NAMED])
        more = f" and {len(victims) - MAX_NAMED} more" if len(victims) > MAX_NAMED else ""
        obstacle = self._obstacle(gang)
        because = f"; {obstacle}" if obstacle else ""
        return f"gang {gang.name} waits until these gangs have left: {leaving}{more}{because}"

    def _share(self, pod: Pod, answer: Preempt) -> dict[str, tuple[Pod, ...]]:
        """The part of the victims in the answer for this pod, and that its outer scheduler deletes."""
        leaving = {x.seen.uid for p in answer.pods() if (x := self.tracker.pod(p.uid)) is not None and x.leaving}
        gang = self.allocator.homes[pod.uid]
        own = [place.node for place in gang.places.placements]
        return self._evictions.share(gang.name, pod.uid, answer.victims, leaving.__contains__, own)

    def settle(self, uid: str, now: PodObject | None) -> None:
        """What the cluster says of a pod that has a place, and was not asked for in time."""
        tracked = self.tracker.pod(uid)
        if tracked is None or tracked.phase is not PodPhase.BINDING or uid in self._places or tracked.by_gate:
            return
        if now is None:
            self._end(tracked)
        elif now.completed:
            self._remove(tracked, now.phase)
        elif now.node:
            self.observe(Change(now, deleted=False))
        elif tracked.pod is not None and tracked.info is not None:
            lost = self._lost(tracked.info.node)
            why = f"{tracked.seen.key} has its place on {lost}" if lost else self._not_asked_for(tracked.seen.key)
            self._give_back("place", why, [tracked.pod])

    def _not_asked_for(self, name: str) -> str:
        return f"nobody has asked for {name} in {self._places.seconds:g} s"

    def renew(self, uid: str) -> None:
        """The cluster did not say: it is looked at again later."""
        tracked = self.tracker.pod(uid)
        if tracked is not None and tracked.phase is PodPhase.BINDING:
            self._places.renew(uid, self._now())

    def _give_back(self, what: str, why: str, pods: Iterable[Pod]) -> None:
        """To the allocator, pods are gone and have come again: a gang with no place left begins anew."""
        pods = list(pods)
        log.warning("%s: it gives its %s back", why, what)
        self.given_back[what] += 1
        for pod in pods:
            self.allocator.delete(pod)
        for pod in pods:
            tracked = self.tracker.pod(pod.uid)
            if tracked is not None:
                with self._locks.applications.write():
                    tracked.phase, tracked.info, tracked.attempts = PodPhase.WAITING, None, 0
                try:
                    self.allocator.submit(pod)
                except UserError as error:
                    log.warning("%s", error)
                if tracked.seen.gated:
                    self.admission.wait(tracked)
            self.lifecycle.pod(pod.uid)

    def _heard_of(self, pod: Pod) -> None:
        """It was asked for: its gang keeps what it has reserved."""
        gang = self.allocator.gangs.get(pod.spec.gang.name)
        if gang is not None and gang.state is AffinityGroupState.PREEMPTING:
            self._reservations.renew(gang.name, self._now())

    # What is asked

    def filter(self, request: FilterRequest) -> dict[str, Any]:
        """Where a pod goes. With a place, the pod is allocated from now on."""
        try:
            return self._filter(request)
        finally:
            self.lifecycle.pod(request.pod.uid)

    def _filter(self, request: FilterRequest) -> dict[str, Any]:
        tracked, pod = self._tracked_pod(request.pod)
        if tracked.phase is PodPhase.BINDING:
            return self._again(tracked, pod, request.nodes)
        self._check_is_deciding()
        answer = self.allocator.schedule(pod, request.nodes, Phase.EVICTING if self._evict else Phase.FILTERING)
        self._heard_of(pod)
        match answer:
            case Bind() if lost := self._lost(answer.node):
                self._wait(tracked)
                return self._waiting(request.nodes, f"gang {pod.spec.gang.name} has a place for it on {lost}")
            case Bind():
                self.allocator.allocate(pod, answer.info)
                self._evictions.forget(pod.spec.gang.name)
                self._places.renew(pod.uid, self._now())
                self._move(tracked, PodPhase.BINDING, answer.info)
                if answer.node not in request.nodes:
                    self._unoffered.append(tracked)
                return filter_answer(answer.node)
            case Preempt() if self._evict:
                self._move(tracked, PodPhase.PREEMPTING)
                gang = self.allocator.homes[pod.uid]
                self._evict_for(gang)
                return self._waiting(request.nodes, self._waits_for(gang))
            case Preempt():
                return filter_answer(failed={node: _must_go(pods) for node, pods in answer.victims.items()})
            case Wait():
                self._wait(tracked)
                return self._waiting(request.nodes, answer.reason, permanent=answer.permanent)

    def _waiting(self, offered: Iterable[str], reason: str, *, permanent: bool = False) -> dict[str, Any]:
        """A pod waits. Where victims are evicted from here, a preemption by the outer scheduler would not help."""
        return filter_answer(failed={COMPONENT: reason}, hopeless=offered if permanent or self._evict else ())

    def _again(self, tracked: Tracked, pod: Pod, offered: tuple[str, ...]) -> dict[str, Any]:
        """It has its place already. When binding it takes too many attempts, it is bound from here.

        A place on a node that is no more is given back, unless the cluster knows that the pod is bound there.
        """
        assert tracked.info is not None, "it is binding"
        node = tracked.info.node
        if lost := self._lost(node):
            self._places.drop(tracked.seen.uid)
            self._refresh(tracked)
            return self._waiting(offered, f"gang {pod.spec.gang.name} gives a place back: it is on {lost}")
        self._places.renew(tracked.seen.uid, self._now())
        with self._locks.applications.write():
            tracked.attempts += 1
        if node not in offered or tracked.attempts >= self._settings.force_bind_threshold:
            self._bind(tracked)
        return filter_answer(node)

    def _lost(self, node: str) -> str:
        with self._locks.nodes.read():
            return self.tracker.lost(node, self.allocator.cluster)

    def preempt(self, request: PreemptRequest) -> dict[str, Any]:
        """Who has to go. What can be placed without is left to the next filtering."""
        try:
            return self._preempt(request)
        finally:
            self.lifecycle.pod(request.pod.uid)

    def _preempt(self, request: PreemptRequest) -> dict[str, Any]:
        tracked, pod = self._tracked_pod(request.pod)
        if tracked.phase is PodPhase.BINDING:
            raise UserError(f"pod {tracked.seen.key} has its place, and is being bound")
        self._check_is_deciding()
        answer = self.allocator.schedule(pod, request.nodes, Phase.PREEMPTING)
        self._heard_of(pod)
        match answer:
            case Preempt():
                self._move(tracked, PodPhase.PREEMPTING)
                if not self._evict:
                    return preempt_answer(self._share(pod, answer))
                self._evict_for(self.allocator.homes[pod.uid])
            case Wait():
                self._move(tracked, PodPhase.WAITING)
        return preempt_answer({})

    def to_bind(self, request: BindRequest) -> Tracked:
        """Whether a pod may be bound to a node."""
        tracked = self.tracker.pod(request.uid)
        key = f"{request.namespace}/{request.name}"
        if tracked is None or tracked.seen.key != key:
            raise UserError(f"there is no pod {key} with uid {request.uid}")
        if tracked.phase is not PodPhase.BINDING or tracked.info is None:
            raise UserError(f"pod {key} is {tracked.phase.value}, but can be bound only while it is Binding")
        if tracked.info.node != request.node:
            raise UserError(f"pod {key} has its place on {tracked.info.node}, not on {request.node}")
        if lost := self._lost(request.node):
            raise UserError(f"pod {key} has its place on {lost}")
        self._places.renew(request.uid, self._now())
        return tracked

    def _check_is_deciding(self) -> None:
        """Raises `NotYetError` where devices may be those of a gated pod that the previous process has admitted.

        After an error, an outer scheduler asks again soon; after a refusal, only when something has happened.
        """
        if self.admission.is_held_back:
            raise NotYetError(HELD_BACK)

    def _tracked_pod(self, requested: PodObject) -> tuple[Tracked, Pod]:
        tracked = self.tracker.pod(requested.uid)
        if tracked is None or tracked.seen.key != requested.key:
            raise NotYetError(
                f"no pod {requested.key} with uid {requested.uid}: it was deleted, has completed, uses another "
                "scheduler, or has not been observed yet"
            )
        if tracked.phase is PodPhase.BOUND:
            raise UserError(f"pod {requested.key} is bound")
        if not tracked.journaled and requested.spec != tracked.seen.spec:
            self._respecify(tracked, requested)
        if tracked.pod is None:
            raise UserError(tracked.problem)
        return tracked, tracked.pod

    def _wait(self, tracked: Tracked) -> None:
        """Later requests wait as well, as long as the configuration says."""
        self._move(tracked, PodPhase.WAITING)
        if self._settings.waiting_block_milliseconds:
            time.sleep(self._settings.waiting_block_milliseconds / 1000)


def _must_go(pods: Iterable[Pod]) -> str:
    return f"these pods have to go first: {', '.join(sorted(pod.key for pod in pods))}"
