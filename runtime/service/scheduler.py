"""The scheduler between a cluster and the allocator: what happens to pods and nodes, and what an extender is asked.

Belongs to the thread that runs cycles, which holds the partition.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from runtime.answers import Bind, Phase, Preempt, Wait
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.pods import BindInfo, Pod
from runtime.service.locks import Locks
from runtime.service.messages import (
    COMPONENT,
    BindRequest,
    FilterRequest,
    PreemptRequest,
    filter_answer,
    preempt_answer,
)
from runtime.service.objects import NodeObject, PodObject
from runtime.service.source import Change
from runtime.service.tracker import PodPhase, Tracked, Tracker

log = logging.getLogger(__name__)


class Scheduler:
    """Decides nothing by itself: it asks the allocator, and keeps what it was told of pods and nodes."""

    def __init__(self, allocator: DurableAllocator, locks: Locks, bind: Callable[[Tracked], object]) -> None:
        self.allocator = allocator
        self.tracker = Tracker()
        self._locks = locks
        self._bind = bind
        """Binds a pod without being asked to, and later."""
        self._settings = allocator.configuration.settings

    # What happens

    def observe(self, change: Change) -> None:
        """A node or a pod is there, is different, or is gone. What users did wrong is noted, and changes nothing."""
        try:
            match change.thing:
                case NodeObject():
                    self._node(change.thing, gone=change.gone)
                case PodObject():
                    self._pod(change.thing, gone=change.gone or change.thing.completed)
        except UserError as error:
            log.warning("%s", error)

    def _node(self, node: NodeObject, *, gone: bool) -> None:
        with self._locks.nodes.write():
            if gone:
                self.tracker.nodes.pop(node.name, None)
            else:
                self.tracker.nodes[node.name] = node
        report = self.allocator.node_healthy if node.healthy and not gone else self.allocator.node_bad
        report(node.name)

    def _pod(self, seen: PodObject, *, gone: bool) -> None:
        tracked = self.tracker.pod(seen.uid)
        namesake = self.tracker.named(seen.key)
        if namesake is not None and namesake is not tracked and not gone:
            self._remove(namesake)
        if gone:
            if tracked is not None:
                self._remove(tracked)
            return
        if tracked is None:
            if not seen.ours:
                return
            tracked = self._add(seen)
        elif seen.spec and not tracked.seen.spec:
            tracked.seen = seen
        elif seen.spec != tracked.seen.spec:
            log.warning("pod %s asks for something else than before; what it asked for first counts", seen.key)
        if seen.node:
            self._bound(tracked, seen)
        elif tracked.phase is PodPhase.WAITING and tracked.pod is not None:
            self.allocator.submit(tracked.pod)

    def _add(self, seen: PodObject) -> Tracked:
        tracked = Tracked(seen, None)
        try:
            tracked.pod = seen.read()
        except UserError as error:
            tracked.problem = str(error)
        with self._locks.applications.write():
            self.tracker.add(tracked)
        return tracked

    def _remove(self, tracked: Tracked) -> None:
        with self._locks.applications.write():
            self.tracker.remove(tracked)
        if tracked.pod is not None:
            self.allocator.delete(tracked.pod)

    def _bound(self, tracked: Tracked, seen: PodObject) -> None:
        """Somebody has bound it: where it is now counts, whatever we had in mind."""
        if tracked.phase is PodPhase.BOUND:
            return
        if tracked.pod is None:
            raise UserError(f"pod {seen.key} is bound to {seen.node}, but: {tracked.problem}")
        info = tracked.info
        if info is None or info.node != seen.node:
            written = seen.read_bind_info()
            if info is not None:
                self.allocator.delete(tracked.pod)
            self.allocator.allocate(tracked.pod, written)
            info = written
        self._move(tracked, PodPhase.BOUND, info)

    def _move(self, tracked: Tracked, phase: PodPhase, info: BindInfo | None = None) -> None:
        with self._locks.applications.write():
            tracked.phase = phase
            tracked.info = info if info is not None else tracked.info

    # Beginning

    def recover(self, changes: Iterable[Change], *, lists_all: bool) -> None:
        """With the first list, what was journaled is brought up to date. Nodes come first, then pods as recovery wants
        them, so that the order of the list does not matter."""
        nodes, pods = latest(changes)
        if any(self.allocator.pods()):
            self._track_journaled()
        else:
            self._take_back(nodes, pods)
        for node in nodes.values():
            self._node(node, gone=False)
        if lists_all:
            for name in {cell.node for cell in self.allocator.leaf_cells()} - nodes.keys():
                self.allocator.node_bad(name)
            for tracked in [x for x in self.tracker.pods() if x.seen.uid not in pods]:
                self._remove(tracked)
        for seen in sorted(pods.values(), key=_order):
            self.observe(Change(seen, gone=False))

    def _take_back(self, nodes: dict[str, NodeObject], pods: dict[str, PodObject]) -> None:
        """Where the journal knows no pods, bound ones are recovered from what they carry."""
        bound: list[tuple[Pod, BindInfo | None]] = []
        for seen in pods.values():
            try:
                if seen.ours and seen.node:
                    bound.append((seen.read(), seen.read_bind_info()))
            except UserError as error:
                log.warning("%s", error)
        if bound:
            found = self.allocator.recover(bound, {node.name: node.healthy for node in nodes.values()})
            for name, why in (*found.demoted.items(), *found.missing.items(), *found.refused.items()):
                log.warning("%s could not be recovered as it was: %s", name, why)
            self._track_journaled()

    def _track_journaled(self) -> None:
        """Whether a pod is bound is not journaled: the list says so."""
        for pod, info in self.allocator.bound():
            seen = PodObject(pod.uid, pod.namespace, pod.name, True, "", "", "", False)
            phase = PodPhase.WAITING if info is None else PodPhase.BINDING
            with self._locks.applications.write():
                self.tracker.add(Tracked(seen, pod, phase=phase, info=info))

    # What is asked

    def filter(self, request: FilterRequest) -> dict[str, Any]:
        """Where a pod goes. With a place, the pod is allocated from now on."""
        tracked, pod = self._known(request.pod)
        if tracked.phase is PodPhase.BINDING:
            return self._again(tracked, request.nodes)
        answer = self.allocator.schedule(pod, request.nodes, Phase.FILTERING)
        match answer:
            case Bind():
                self.allocator.allocate(pod, answer.info)
                self._move(tracked, PodPhase.BINDING, answer.info)
                return filter_answer(answer.node)
            case Preempt():
                return filter_answer(failed={node: _must_go(pods) for node, pods in answer.victims.items()})
            case Wait():
                self._wait(tracked)
                return filter_answer(failed={COMPONENT: answer.reason})

    def _again(self, tracked: Tracked, offered: tuple[str, ...]) -> dict[str, Any]:
        """It has its place already. When binding it takes too many attempts, it is bound from here."""
        assert tracked.info is not None, "it is binding"
        node = tracked.info.node
        with self._locks.applications.write():
            tracked.attempts += 1
        with self._locks.nodes.read():
            gone = node not in self.tracker.nodes
        if gone or node not in offered or tracked.attempts >= self._settings.force_bind_threshold:
            self._bind(tracked)
        return filter_answer(node)

    def preempt(self, request: PreemptRequest) -> dict[str, Any]:
        """Who has to go. What can be placed without is left to the next filtering."""
        tracked, pod = self._known(request.pod)
        if tracked.phase is PodPhase.BINDING:
            raise UserError(f"pod {tracked.seen.key} has its place, and is being bound")
        answer = self.allocator.schedule(pod, request.nodes, Phase.PREEMPTING)
        match answer:
            case Preempt():
                self._move(tracked, PodPhase.PREEMPTING)
                return preempt_answer(answer.victims)
            case Wait():
                self._wait(tracked)
        return preempt_answer({})

    def to_bind(self, request: BindRequest) -> Tracked:
        """Whether a pod may be bound to a node."""
        tracked = self.tracker.pod(request.uid)
        key = f"{request.namespace}/{request.name}"
        if tracked is None or tracked.seen.key != key:
            raise UserError(f"there is no pod {key} with uid {request.uid}")
        if tracked.phase is not PodPhase.BINDING or tracked.info is None:
            raise UserError(f"pod {key} is {tracked.phase.value}, and can be bound only while it is Binding")
        if tracked.info.node != request.node:
            raise UserError(f"pod {key} has its place on {tracked.info.node}, not on {request.node}")
        return tracked

    def _known(self, asked: PodObject) -> tuple[Tracked, Pod]:
        tracked = self.tracker.pod(asked.uid)
        if tracked is None or tracked.seen.key != asked.key:
            raise UserError(
                f"there is no pod {asked.key} with uid {asked.uid}: it is gone, or completed, or does not ask to be "
                "scheduled here, or nobody has told of it yet"
            )
        if tracked.phase is PodPhase.BOUND:
            raise UserError(f"pod {asked.key} is bound")
        if tracked.pod is None:
            raise UserError(tracked.problem)
        if tracked.seen.spec and asked.spec != tracked.seen.spec:
            raise UserError(f"pod {asked.key} asks for something else than when it was seen first")
        return tracked, tracked.pod

    def _wait(self, tracked: Tracked) -> None:
        """Whoever comes later waits with it, as long as the configuration says."""
        self._move(tracked, PodPhase.WAITING)
        if self._settings.waiting_block_milliseconds:
            time.sleep(self._settings.waiting_block_milliseconds / 1000)


def latest(changes: Iterable[Change]) -> tuple[dict[str, NodeObject], dict[str, PodObject]]:
    """What there is in the end: nodes by name, pods by uid. Of pods of one name, the last one."""
    nodes: dict[str, NodeObject] = {}
    pods: dict[str, PodObject] = {}
    uids: dict[str, str] = {}
    for change in changes:
        match change.thing:
            case NodeObject(name=name):
                nodes.pop(name, None)
                if not change.gone:
                    nodes[name] = change.thing
            case PodObject(uid=uid, key=key):
                before = pods.pop(uid, None)
                if uids.get(key, uid) != uid:
                    pods.pop(uids[key], None)
                if not change.gone and not change.thing.completed:
                    pods[uid], uids[key] = _first(before, change.thing), uid
    return nodes, pods


def _first(before: PodObject | None, now: PodObject) -> PodObject:
    return now if before is None else replace(now, spec=before.spec or now.spec, ours=before.ours or now.ours)


def _order(seen: PodObject) -> tuple[bool, int, str]:
    """Bound pods first, strong ones before weak ones: it is always the same ones that lose."""
    try:
        pod = seen.read()
    except UserError:
        return not seen.node, 0, seen.uid
    return not seen.node, -pod.spec.priority, seen.uid


def _must_go(pods: Iterable[Pod]) -> str:
    return f"these pods have to go first: {', '.join(sorted(pod.key for pod in pods))}"
