"""What happens to pods and nodes, and what was decided for them, as it is reported to the lives of their gangs.

Pods that change are collected for `LAG` seconds at most, so that what happens to one in quick succession (it comes,
gets a place, is bound) is followed as one change. Before a pod leaves its gang, before a timer rings, and before
somebody looks, `catch_up` follows all of them.

Lives only follow. Nothing that goes wrong here reaches whoever asks the scheduler: after a fault, the lives are begun
anew from what is known of all pods; after too many, they are not followed any longer, and everything else goes on.
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
from runtime.lifecycle.following import Following
from runtime.lifecycle.news import Ending, Stage, Told
from runtime.lifecycle.submission import HOUR
from runtime.service.objects import NodeObject
from runtime.service.tracker import PodPhase, Tracker

log = logging.getLogger(__name__)

MAX_FAULTS = 3
"""Faults, before the lives are given up."""
LAG = 0.2
"""Seconds for which changes of pods are collected."""
ENDINGS = {"Succeeded": Ending.FINISHED, "Failed": Ending.FAILED}


@dataclass(frozen=True, slots=True)
class Options:
    """How lives are followed."""

    on: bool = True
    """Whether they are: it costs the thread of cycles about a quarter of a millisecond for each pod."""
    delay: float = 4 * HOUR
    """For how many seconds a gang may have fewer running pods than must, before all of them have to be deleted."""
    terminate: bool = False
    """Whether they are then deleted through the source."""
    clock: Callable[[], float] = time.time
    """Seconds; the same clock after a restart."""


class Follower:
    """Tells lives. Belongs to the thread that runs cycles; whoever looks holds the partition."""

    def __init__(self, allocator: DurableAllocator, tracker: Tracker, options: Options) -> None:
        self.following: Following | None = None
        """None before the beginning, or where lives are not followed."""
        self.faults = 0
        self.to_delete: list[str] = []
        """Uids of pods whose gang was found below its minimum for too long, since somebody took this list."""
        self._allocator = allocator
        self._tracker = tracker
        self._options = options
        self._cluster: Cluster | None = None
        self._changed: dict[str, dict[str, None]] = {}
        """By gang: uids of pods that have changed, and that are not reported to the lives yet."""
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
            if self.following is not None and self.following.knows(uid):
                self._do(lambda following: self._tell(following, (uid,)))
            return
        if not self._changed:
            self._since = self._options.clock()
        self._changed.setdefault(gang.name, {})[uid] = None

    def catch_up(self, gang: str | None = None) -> None:
        """Tells what has changed: of one gang, by its name, or of all."""
        for name in list(self._changed) if gang is None else [gang]:
            if uids := self._changed.pop(name, None):
                self._do(partial(self._tell, uids=uids))

    def gone(self, uid: str, phase: str) -> None:
        """A pod is no more; the phase is the last that its node has told, if any."""
        if self._cluster is not None:
            ending = ENDINGS.get(phase, Ending.DELETED)
            self._do(lambda following: following.gone(uid, ending, self._options.clock()))

    def node(self, node: NodeObject, *, deleted: bool) -> None:
        """A node is there, is different, or is gone."""
        if self._cluster is not None:
            self._do(lambda following: self._tell_node(following, node, deleted=deleted))

    def tick(self) -> None:
        """Time has passed."""
        if self._cluster is None:
            return
        now = self._options.clock()
        following = self.following
        if self._changed and (now - self._since >= LAG or (following is not None and following.due(now))):
            self.catch_up()
        self._do(lambda following: following.tick(now))

    def _tell(self, following: Following, uids: Iterable[str]) -> None:
        """How pods are, as the allocator and the cluster have them."""
        now = self._options.clock()
        news: list[Told] = []
        for uid in uids:
            gang = self._allocator.homes.get(uid)
            if gang is None:
                following.gone(uid, Ending.DELETED, now)
            else:
                news.append(self._read(uid, gang))
        if news:
            following.told(news, now)

    def _read(self, uid: str, gang: Gang) -> Told:
        tracked = self._tracker.pod(uid)
        slot = gang.seated.get(uid)
        pod = gang.waiting.get(uid) if slot is None else slot.pod
        assert pod is not None, "it is one of the gang"
        stage = Stage.WAITING
        if tracked is not None and tracked.phase is PodPhase.BOUND:
            stage = Stage.RUNNING if tracked.running else Stage.BOUND
        info = gang.places.bind_info(slot) if slot is not None else None
        return Told(pod, info, stage, tracked is not None and tracked.leaving)

    def _tell_node(self, following: Following, node: NodeObject, *, deleted: bool) -> None:
        now = self._options.clock()
        if deleted:
            following.node_gone(node.name, now)
        else:
            following.node(node.name, healthy=node.healthy, cordoned=node.cordoned, now=now)

    # What goes wrong

    def _do(self, call: Callable[[Following], object]) -> None:
        """After a fault of its own, the allocator is another one."""
        try:
            if self._cluster is not self._allocator.cluster:
                self._begin()
            elif self.following is not None:
                call(self.following)
        except Exception:
            self._fail()

    def _begin(self) -> None:
        self._cluster = self._allocator.cluster
        self._changed.clear()
        images = self._allocator.journal.images
        following = Following(self._allocator, self._options.clock(), self._options.delay, images)
        following.on_tear_down = lambda uids: self.to_delete.extend(uids)
        for node in self._tracker.nodes.values():
            self._tell_node(following, node, deleted=False)
        for gang in list(self._allocator.gangs.values()):
            self._tell(following, [pod.uid for pod in gang.pods])
        following.caught_up(self._options.clock())
        self.following = following
        self._allocator.companion = self._changes

    def _fail(self) -> None:
        self.faults += 1
        self.following = None
        log.exception("the lives of gangs cannot be followed; decisions are not touched by that")
        if self.faults <= MAX_FAULTS:
            try:
                self._begin()
            except Exception:
                log.exception("nor can they be begun anew")
                self.following = None

    def _changes(self) -> dict[str, str | None]:
        """What is journaled of them."""
        if self.following is None:
            return {}
        try:
            return self.following.changes()
        except Exception:
            self._fail()
            return {}
