"""What happens to nodes and pods of a cluster, and what is known of them when the service begins.

Belongs to the thread that runs cycles, which holds the partition.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from generated.hived import AffinityGroupState
from runtime.annotations import SPEC, read_isolation
from runtime.durable import DurableAllocator
from runtime.errors import Problem, UserError
from runtime.gangs import Gang
from runtime.pods import BindInfo, Pod
from runtime.requests import IDENTITY, PREFERENCES, disagreements
from runtime.service.history import History
from runtime.service.leases import LEASE, Leases
from runtime.service.lifecycle_reporter import LifecycleReporter, Options
from runtime.service.locks import Locks
from runtime.service.objects import NodeObject, PodObject
from runtime.service.pod_groups import PodGroupObject
from runtime.service.source import Change, latest
from runtime.service.tracker import PodPhase, Tracked, Tracker

log = logging.getLogger(__name__)


class Observer:
    """Passes on to the allocator what happens, and keeps what it does not: see `Tracker`."""

    def __init__(
        self,
        allocator: DurableAllocator,
        locks: Locks,
        lease: float = LEASE,
        now: Callable[[], float] = time.monotonic,
        lifecycle: Options = Options(),  # noqa: B008 - it is frozen
    ) -> None:
        self.allocator = allocator
        self.tracker = Tracker()
        self.lifecycle = LifecycleReporter(allocator, self.tracker, lifecycle)
        """Hears of all that happens, and is never asked."""
        self.history = History(tenants=allocator.cluster.tenants)
        self._locks = locks
        self._places = Leases(lease)
        """By uid: pods that are binding."""
        self._reservations = Leases(lease)
        """Gangs that preempt."""
        self._pod_groups: dict[str, PodGroupObject] = {}
        """By namespace and name."""
        self._pods_by_group: dict[str, dict[str, Tracked]] = {}
        """By namespace and name of a PodGroup, and then by uid: gated pods that name it."""
        self._now = now

    # What happens

    def observe(self, change: Change) -> None:
        """A node or a pod is there, is different, or is gone. What users did wrong is noted, and changes nothing."""
        try:
            match change.thing:
                case NodeObject():
                    self._node(change.thing, deleted=change.deleted)
                case PodObject():
                    self._pod(change.thing, deleted=change.deleted)
                case PodGroupObject():
                    self._pod_group(change.thing, deleted=change.deleted)
        except UserError as error:
            key = change.thing.key if isinstance(change.thing, PodObject) else ""
            log.warning("%s", error if key in str(error) else f"pod {key}: {error}")
        finally:
            if isinstance(change.thing, PodObject):
                self.lifecycle.pod(change.thing.uid)

    def _node(self, node: NodeObject, *, deleted: bool) -> None:
        before = self.tracker.nodes.get(node.name)
        with self._locks.nodes.write():
            if deleted:
                self.tracker.nodes.pop(node.name, None)
            else:
                self.tracker.nodes[node.name] = node
        report = self.allocator.node_healthy if node.healthy and not deleted else self.allocator.node_bad
        report(node.name)
        if node.name in self.allocator.cluster.nodes:
            self.history.node(before, None if deleted else node, node.name)
        self.lifecycle.node(node, deleted=deleted)

    def _pod_group(self, group: PodGroupObject, *, deleted: bool) -> None:
        """The pods that name it know now how many they are."""
        if deleted:
            self._pod_groups.pop(group.key, None)
        else:
            self._pod_groups[group.key] = group
        for tracked in list(self._pods_by_group.get(group.key, {}).values()):
            if tracked.info is None:
                self._reread(tracked)
            self._submit_gated(tracked)

    def _gated(self, tracked: Tracked) -> None:
        """A gated pod was seen."""

    def _gate_removed(self, tracked: Tracked) -> None:
        """A pod that was gated is so no more, by our patch or by somebody else."""

    def _pod(self, seen: PodObject, *, deleted: bool) -> None:
        tracked = self.tracker.pod(seen.uid)
        namesake = self.tracker.by_key(seen.key)
        if namesake is not None and namesake is not tracked and not (deleted or seen.completed):
            self._end(namesake)
        if deleted or seen.completed:
            if tracked is not None:
                leaves = tracked.leaving or seen.leaving
                end = self._end if deleted or leaves else self._remove
                end(tracked, "" if leaves else seen.phase)
            return
        if tracked is None:
            if not seen.ours:
                return
            tracked = self._add(seen)
        elif tracked.journaled:
            self._recognise(tracked, seen)
        elif tracked.by_gate:
            self._see_again(tracked, seen)
        elif seen.spec != tracked.seen.spec:
            self._respecify(tracked, seen)
        tracked.running |= seen.phase == "Running"
        leaves = seen.leaving and not tracked.leaving
        tracked.leaving |= seen.leaving
        if leaves:
            self._leave_with(tracked)
        if seen.node:
            self._bound(tracked, seen)
        elif seen.admitted_to:
            self._admitted(tracked, seen)
        elif tracked.phase is PodPhase.WAITING and tracked.pod is not None and not seen.gated:
            self.allocator.submit(tracked.pod)
        elif seen.gated:
            self._submit_gated(tracked)

    def _submit_gated(self, tracked: Tracked) -> None:
        """Whatever is wrong with it is reported at the pod, and at those that wait with it."""
        if (group := tracked.seen.group) is not None and group.native:
            self._pods_by_group.setdefault(group.native, {})[tracked.seen.uid] = tracked
        if tracked.phase is PodPhase.WAITING and tracked.pod is not None:
            try:
                self.allocator.submit(tracked.pod)
            except UserError as error:
                log.info("%s", error)
        self._gated(tracked)

    def _leave_pod_group(self, seen: PodObject) -> None:
        """A pod is gone, or no longer gated: its PodGroup means nothing to it."""
        if seen.group is not None and (pods := self._pods_by_group.get(seen.group.native)) is not None:
            pods.pop(seen.uid, None)
            if not pods:
                del self._pods_by_group[seen.group.native]

    def _see_again(self, tracked: Tracked, seen: PodObject) -> None:
        """A pod that is or was gated: what counts is how it is now. Our own patch is no other request."""
        before, tracked.seen = tracked.seen, seen
        if before.gated and not seen.gated:
            self._leave_pod_group(before)
            self._gate_removed(tracked)
        elif seen.gated and seen.request != before.request and tracked.info is None:
            self._reread(tracked)

    def _reread(self, tracked: Tracked) -> None:
        """What a pod without a place asks for now. Where it asks for the same, its gang keeps what it has reserved."""
        reported = self._note_problem(tracked)
        if tracked.pod is not None:
            if reported is not None and _same_request(tracked.seen, reported, tracked.pod):
                return
            self.allocator.delete(tracked.pod)
        tracked.pod = reported
        self._move(tracked, PodPhase.WAITING)

    def _admitted(self, tracked: Tracked, seen: PodObject) -> None:
        """Its gate is open, and its place is written on it: that counts, where we have forgotten the decision."""
        info = tracked.info if tracked.phase is PodPhase.BINDING else None
        if info is None or not _is_place(info, seen):
            info = self._book(tracked, seen)
        if tracked.phase is not PodPhase.BOUND:
            self._move(tracked, PodPhase.BINDING, info)
        self._places.drop(seen.uid)

    def _leave_with(self, tracked: Tracked) -> None:
        """A pod is leaving, or is gone: if its gang has to go, the others go with it."""
        gang = self.allocator.homes.get(tracked.seen.uid)
        if gang is not None and gang.state is AffinityGroupState.BEING_PREEMPTED:
            self._finish_eviction(gang)

    def _finish_eviction(self, victim: Gang) -> None:
        """A gang has begun to leave: what is left of it follows."""

    def _evict_for(self, preemptor: Gang) -> None:
        """The gangs that are in the way of another one have to go."""

    def _add(self, seen: PodObject) -> Tracked:
        tracked = Tracked(seen, None)
        tracked.pod = self._note_problem(tracked)
        with self._locks.applications.write():
            self.tracker.add(tracked)
        return tracked

    def _note_problem(self, tracked: Tracked) -> Pod | None:
        """What a pod asks for; none where that cannot be known, which is its problem from now on."""
        seen, notes = tracked.seen, list[Problem]()
        try:
            pod = seen.read(notes, self._pod_groups)
        except UserError as error:
            tracked.problem = str(error)
            return None
        tracked.problem = ""
        if notes:
            log.warning("pod %s: annotation %s: %s", seen.key, SPEC, "; ".join(map(str, notes)))
        return pod

    def _recognise(self, tracked: Tracked, seen: PodObject) -> None:
        """The cluster tells of a pod that is known from the journal."""
        tracked.seen, tracked.journaled = seen, False
        reported, journaled = self._note_problem(tracked), tracked.pod
        assert journaled is not None, "it was journaled"
        if seen.gated and tracked.info is not None:
            tracked.problem = ""  # the patch that admits it writes on it what was decided
        elif tracked.phase is PodPhase.WAITING and not seen.place:
            awaits_group = reported is None and seen.group is not None and bool(seen.group.native)
            if not awaits_group and (reported is None or not _same_request(seen, reported, journaled)):
                self.allocator.delete(journaled)
                tracked.pod = reported
        elif reported is not None and reported.spec.gang.name != journaled.spec.gang.name:
            tracked.problem = (
                f"it runs on devices of gang {journaled.spec.gang.name}, but says that it is of another one"
            )

    def _respecify(self, tracked: Tracked, seen: PodObject) -> None:
        """Its annotation has been put right, or changed: until it has a place, what it says now counts."""
        if tracked.phase is not PodPhase.WAITING or seen.node:
            log.warning("the request of pod %s has changed, but it keeps its place", seen.key)
            return
        if tracked.pod is not None:
            self.allocator.delete(tracked.pod)
        tracked.seen = replace(tracked.seen, spec=seen.spec)
        tracked.pod = self._note_problem(tracked)

    def _end(self, tracked: Tracked, phase: str = "") -> None:
        """Somebody has deleted it. Nobody may have reported that it was leaving."""
        tracked.leaving = True
        self._leave_with(tracked)
        self._remove(tracked, phase)

    def _remove(self, tracked: Tracked, phase: str = "") -> None:
        home = self.allocator.homes.get(tracked.seen.uid)
        if home is not None:
            self.lifecycle.catch_up(home.name)
        self._places.drop(tracked.seen.uid)
        self._leave_pod_group(tracked.seen)
        with self._locks.applications.write():
            self.tracker.remove(tracked)
        if tracked.pod is not None:
            self.allocator.delete(tracked.pod)
            self.lifecycle.pod_ended(tracked.pod.uid, phase)

    def _bound(self, tracked: Tracked, seen: PodObject) -> None:
        """It was bound by another scheduler: its actual node counts, not our decision."""
        if tracked.phase is PodPhase.BOUND:
            return
        info = tracked.info
        if info is None or info.node != seen.node:
            info = self._book(tracked, seen)
        self._places.drop(seen.uid)
        self._move(tracked, PodPhase.BOUND, info)

    def _book(self, tracked: Tracked, seen: PodObject) -> BindInfo:
        """The place that a bound pod has; what cannot be understood of it is booked as the devices that it holds.

        Raises `UserError` where nothing says which these are.
        """
        if tracked.info is None and tracked.by_gate:
            self._reread(tracked)  # the patch that admitted it has written its whole request
        try:
            if tracked.pod is None:
                raise UserError(tracked.problem)
            written = seen.read_bind_info()
            if tracked.info is not None:
                self.allocator.delete(tracked.pod)
            self.allocator.allocate(tracked.pod, written)
        except UserError as error:
            tracked.problem = str(error)
            claim = seen.claim()
            where = f"pod {seen.key} is {'bound' if seen.node else 'admitted'} to {seen.place}, but: {error}"
            if not claim.leaf_cells:
                raise UserError(f"{where}; its devices are unknown, so none are booked for it") from error
            try:
                tracked.pod, written = self.allocator.hold(claim)
            except UserError as none:
                raise UserError(f"{where}; none of its devices can be booked for it: {none}") from error
            devices = ", ".join(map(str, written.leaf_cells))
            log.warning("%s; it keeps devices %s in gang %s", where, devices, tracked.pod.spec.gang.name)
            return written
        for different in disagreements(self.allocator.homes[seen.uid], tracked.pod, {**IDENTITY, **PREFERENCES}):
            log.warning("pod %s and its gang disagree on %s; the gang's value is used", seen.key, different)
        return written

    def _move(self, tracked: Tracked, phase: PodPhase, info: BindInfo | None = None) -> None:
        with self._locks.applications.write():
            tracked.phase = phase
            tracked.info = info if info is not None else tracked.info

    # Beginning

    def recover(self, changes: Iterable[Change], *, lists_all: bool) -> None:
        """With the first list, what was journaled is brought up to date. Nodes come first, then pods as recovery wants
        them, so that the order of the list does not matter."""
        changes = list(changes)
        nodes, pods = latest(changes)
        self._pod_groups = {x.thing.key: x.thing for x in changes if isinstance(x.thing, PodGroupObject)}
        self._track_journaled()
        readable = {uid: self._read_pod(seen) for uid, seen in pods.items()}
        ended = {
            x.thing.uid for x in changes if isinstance(x.thing, PodObject) and x.thing.completed and not x.thing.leaving
        }
        begun = self._find_begun(pods, readable, ended, lists_all=lists_all)
        if not any(self.allocator.pods()):
            self._take_back(nodes, pods, readable)
        for node in nodes.values():
            self._node(node, deleted=False)
        if lists_all:
            for name in self.allocator.cluster.nodes.keys() - nodes.keys():
                self.allocator.node_bad(name)
            for tracked in [x for x in self.tracker.pods() if x.seen.uid not in pods]:
                self._remove(tracked)
        for seen in sorted(pods.values(), key=lambda seen: _order(seen, readable[seen.uid])):
            self.observe(Change(seen, deleted=False))
        self._resume_evictions(begun)
        self.lifecycle.begin()
        self.allocator.touched()
        self.history.begin(self.allocator)

    def _find_begun(
        self, pods: dict[str, PodObject], readable: dict[str, Pod | None], ended: set[str], *, lists_all: bool
    ) -> list[Gang]:
        """The gangs whose eviction had begun, as far as can be seen: what was asked of the cluster is not journaled.

        The journal says that they have to leave, and one of their pods is leaving, is gone, or is missing in a place of
        theirs. A pod that has ended by itself (`ended`) is no sign of an eviction, and neither is an empty place that a
        known pod waits for. This has to be found out before the list is taken in: where the preemptor is gone by now,
        the gang does not have to leave any more, but the rest of it is of no use.
        """
        waiting = Counter(
            pod.spec.gang.name
            for uid, pod in readable.items()
            if pod is not None and uid not in self.allocator.homes and not pods[uid].leaving
        )
        begun: list[Gang] = []
        for gang in self.allocator.gangs.values():
            if gang.state is not AffinityGroupState.BEING_PREEMPTED:
                continue
            candidates = waiting[gang.name] + sum(
                not pods[uid].leaving if uid in pods else not lists_all for uid in gang.waiting
            )
            if len(gang.open_slots) > candidates or any(
                pods[uid].leaving if uid in pods else lists_all and uid not in ended for uid in gang.assigned
            ):
                begun.append(gang)
        return begun

    def _resume_evictions(self, begun: list[Gang]) -> None:
        """The rest of a gang that has begun to leave follows, even if no gang waits for its devices any more. Other
        victims leave only for gangs that still wait."""
        gangs = self.allocator.gangs
        for gang in begun:
            if gangs.get(gang.name) is gang:
                self._finish_eviction(gang)
        for gang in list(gangs.values()):
            if gang.state is AffinityGroupState.PREEMPTING:
                self._evict_for(gang)

    def write_history(self) -> None:
        """At the end of a cycle: what it has changed."""
        self.history.record_changes(self.allocator, self.allocator.touched())
        self.history.sample(self.allocator)

    def _read_pod(self, seen: PodObject) -> Pod | None:
        """What a pod asks for, if that can be known; of those that were journaled, it is."""
        tracked = self.tracker.pod(seen.uid)
        if tracked is not None:
            return tracked.pod
        try:
            return seen.read(None, self._pod_groups)
        except UserError:
            return None

    def _take_back(
        self, nodes: dict[str, NodeObject], pods: dict[str, PodObject], readable: dict[str, Pod | None]
    ) -> None:
        """Where the journal knows no pods, bound ones are recovered from what they carry."""
        bound: list[tuple[Pod, BindInfo | None]] = []
        for uid, seen in pods.items():
            try:
                if seen.ours and seen.place:
                    bound.append((readable[uid] or seen.read(), seen.read_bind_info()))
            except UserError:
                continue  # it is booked as what it holds when it is observed, after those that can be understood
        if bound:
            recovered = self.allocator.recover(bound, {node.name: node.healthy for node in nodes.values()})
            for name, why in recovered.demoted.items():
                log.warning("gang %s has lost its guarantee: %s", name, why)
            for name, lost in recovered.missing.items():
                log.warning("gang %s has lost devices: %s", name, "; ".join(lost))
            self._track_journaled()

    def _track_journaled(self) -> None:
        """Whether a pod is bound is not journaled: the list says so."""
        for pod, info in self.allocator.bound():
            seen = PodObject(pod.uid, pod.namespace, pod.name, True, "", "", "", False)
            phase = PodPhase.WAITING if info is None else PodPhase.BINDING
            with self._locks.applications.write():
                self.tracker.add(Tracked(seen, pod, phase=phase, info=info, journaled=True))
            if info is not None:
                self._places.renew(pod.uid, self._now())
        for name, gang in self.allocator.gangs.items():
            if gang.state is AffinityGroupState.PREEMPTING:
                self._reservations.renew(name, self._now())


def _same_request(seen: PodObject, reported: Pod, current: Pod) -> bool:
    """Whether a waiting pod asks for what is known of it. The sizes of all pods of a group are known only when it is
    complete."""
    gang = current.spec.gang
    if seen.group is not None and reported.spec.gang.name == gang.name == seen.group.name:
        same_number = reported.spec.gang.pods == gang.pods
        return same_number and replace(reported.spec, gang=gang) == current.spec
    return reported.spec == current.spec


def _is_place(info: BindInfo, seen: PodObject) -> bool:
    """Whether an admitted pod says that it has this place. Another process may have admitted it, to other devices."""
    return info.node == seen.place and (not seen.isolation or read_isolation(seen.isolation) == info.leaf_cells)


def _order(seen: PodObject, pod: Pod | None) -> tuple[bool, int, str]:
    """Bound pods first, strong ones before weak ones: it is always the same ones that lose."""
    return not seen.place, -pod.spec.priority if pod is not None else 0, seen.uid
