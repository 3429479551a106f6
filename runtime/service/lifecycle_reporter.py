"""Reports events of pods and nodes, and decisions for pods, to the `ApplicationFollower`.

Changed pods are collected for at most `LAG` seconds, so that quick successions (a pod is created, placed, bound) are
reported as one change. `catch_up` reports all of them: before a pod leaves its gang, before a timer rings, and before
the state is read.

Life cycles never influence decisions. After a fault, they are rebuilt from what is known of all pods; after
`MAX_FAULTS` faults, they are switched off and the scheduler continues without them.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

from runtime.cells import Cluster
from runtime.durable import DurableAllocator
from runtime.gangs import Gang
from runtime.lifecycle.follower import ApplicationFollower
from runtime.lifecycle.reports import Ending, PodReport, Stage
from runtime.lifecycle.submission import HOUR
from runtime.service.objects import NodeObject
from runtime.service.tracker import PodPhase, Tracker

log = logging.getLogger(__name__)

MAX_FAULTS = 3
"""Maximum number of faults before life cycles are switched off."""
LAG = 0.2
"""Seconds for which changes of pods are collected."""
ENDINGS = {"Succeeded": Ending.FINISHED, "Failed": Ending.FAILED}


@dataclass(frozen=True, slots=True)
class Options:
    """How life cycles are followed."""

    on: bool = True
    """Whether they are: it costs the thread of cycles about a quarter of a millisecond for each pod."""
    delay: float = 4 * HOUR
    """For how many seconds a gang may have fewer running pods than must, before all of them have to be deleted."""
    terminate: bool = False
    """Whether they are then deleted through the source."""
    clock: Callable[[], float] = time.time
    """Seconds; the same clock after a restart."""


class LifecycleReporter:
    """Reports to the follower. Belongs to the thread that runs cycles; readers hold the partition lock."""

    def __init__(self, allocator: DurableAllocator, tracker: Tracker, options: Options) -> None:
        self.follower: ApplicationFollower | None = None
        """None before the beginning, or where life cycles are not followed."""
        self.faults = 0
        self.to_delete: list[str] = []
        """Uids of pods whose gang was found below its minimum for too long, since this list was last taken."""
        self._allocator = allocator
        self._tracker = tracker
        self._options = options
        self._cluster: Cluster | None = None
        self._changed: dict[str, dict[str, None]] = {}
        """By gang: uids of pods that have changed, and that are not reported to the follower yet."""
        self._since = 0.0
        """When the first of them changed."""

    def begin(self) -> None:
        """Reports all that is known, whatever the order in which it came to be known."""
        if self._options.on:
            self._do(lambda _: None)

    def pod(self, uid: str) -> None:
        """Something has happened to a pod, or was decided for it."""
        if self._cluster is None:
            return
        gang = self._allocator.homes.get(uid)
        if gang is None:
            if self.follower is not None and self.follower.knows(uid):
                self._do(lambda follower: self._tell(follower, (uid,)))
            return
        if not self._changed:
            self._since = self._options.clock()
        self._changed.setdefault(gang.name, {})[uid] = None

    def catch_up(self, gang: str | None = None) -> None:
        """Tells what has changed: of one gang, by its name, or of all."""
        for name in list(self._changed) if gang is None else [gang]:
            if uids := self._changed.pop(name, None):
                self._do(partial(self._tell, uids=uids))

    def pod_ended(self, uid: str, phase: str) -> None:
        """A pod is no more; the phase is the last that its node has told, if any."""
        if self._cluster is not None:
            ending = ENDINGS.get(phase, Ending.DELETED)
            self._do(lambda follower: follower.pod_ended(uid, ending, self._options.clock()))

    def node(self, node: NodeObject, *, deleted: bool) -> None:
        """A node is there, is different, or is gone."""
        if self._cluster is not None:
            self._do(lambda follower: self._tell_node(follower, node, deleted=deleted))

    def tick(self) -> None:
        """Time has passed."""
        if self._cluster is None:
            return
        now = self._options.clock()
        follower = self.follower
        if self._changed and (now - self._since >= LAG or (follower is not None and follower.due(now))):
            self.catch_up()
        self._do(lambda follower: follower.tick(now))

    def _tell(self, follower: ApplicationFollower, uids: Iterable[str]) -> None:
        """How pods are, as the allocator and the cluster have them."""
        now = self._options.clock()
        reports: list[PodReport] = []
        for uid in uids:
            gang = self._allocator.homes.get(uid)
            if gang is None:
                follower.pod_ended(uid, Ending.DELETED, now)
            else:
                reports.append(self._read(uid, gang))
        if reports:
            follower.pods_reported(reports, now)

    def _read(self, uid: str, gang: Gang) -> PodReport:
        tracked = self._tracker.pod(uid)
        slot = gang.assigned.get(uid)
        pod = gang.waiting.get(uid) if slot is None else slot.pod
        assert pod is not None, "it is one of the gang"
        stage = Stage.WAITING
        if tracked is not None and tracked.phase is PodPhase.BOUND:
            stage = Stage.RUNNING if tracked.running else Stage.BOUND
        info = gang.places.bind_info(slot) if slot is not None else None
        return PodReport(pod, info, stage, tracked is not None and tracked.leaving)

    def _tell_node(self, follower: ApplicationFollower, node: NodeObject, *, deleted: bool) -> None:
        now = self._options.clock()
        if deleted:
            follower.node_gone(node.name, now)
        else:
            follower.node(node.name, healthy=node.healthy, cordoned=node.cordoned, now=now)

    # What goes wrong

    def _do(self, call: Callable[[ApplicationFollower], object]) -> None:
        """After a fault of its own, the allocator is another one."""
        try:
            if self._cluster is not self._allocator.cluster:
                self._begin()
            elif self.follower is not None:
                call(self.follower)
        except Exception:
            self._fail()

    def _begin(self) -> None:
        self._cluster = self._allocator.cluster
        self._changed.clear()
        images = self._allocator.journal.images
        follower = ApplicationFollower(self._allocator, self._options.clock(), self._options.delay, images)
        follower.on_tear_down = lambda uids: self.to_delete.extend(uids)
        for node in self._tracker.nodes.values():
            self._tell_node(follower, node, deleted=False)
        for gang in list(self._allocator.gangs.values()):
            self._tell(follower, [pod.uid for pod in gang.pods])
        follower.caught_up(self._options.clock())
        self.follower = follower
        self._allocator.attached_changes = self._changes

    def _fail(self) -> None:
        self.faults += 1
        self.follower = None
        log.exception("tracking of gang life cycles has failed; scheduling decisions are not affected")
        if self.faults <= MAX_FAULTS:
            try:
                self._begin()
            except Exception:
                log.exception("tracking could not be restarted")
                self.follower = None

    def _changes(self) -> dict[str, str | None]:
        """What is journaled of them."""
        if self.follower is None:
            return {}
        try:
            return self.follower.changes()
        except Exception:
            self._fail()
            return {}
