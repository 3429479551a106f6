"""A kube-scheduler and its kubelets, as far as preemption with an extender goes: what versions 1.20 and 1.36 do, in
steps.

For each waiting pod, in turn: it asks `filter` with the nodes that the pod fits on, and has it bound where the answer
says. Otherwise it asks `preempt` with the nodes that hold pods of a lower Kubernetes priority, and deletes the victims
on one node of the answer; the pod is nominated there, and does not preempt again while a weaker pod is leaving that
node. A pod that is named and is not on its node fails the attempt. Pods that are deleted are gone when their grace is
over. What happens in a step is told to the allocator at its end, as a watch is late.

Version 1.36 asks `preempt` only of nodes where its own filters need victims and that the extender has not called
unresolvable, and tries a pod again only after an event of a pod, unless the extender has rejected a node as resolvable
that holds a weaker pod.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from serving import annotation

from runtime import Pod
from runtime.annotations import BIND_INFO, write_bind_info
from runtime.durable import DurableAllocator
from runtime.service.locks import Locks
from runtime.service.messages import FilterRequest, PreemptRequest
from runtime.service.objects import NodeObject, PodObject
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Change
from runtime.service.tracker import Tracked


@dataclass(slots=True)
class Running:
    """A pod that there is."""

    seen: PodObject
    priority: int
    """As Kubernetes has it."""
    grace: int
    """Steps from its deletion until it is gone."""
    nominated: str = ""
    gone_at: int | None = None


class KubeScheduler:
    """One queue, and all nodes that the allocator knows."""

    def __init__(
        self, allocator: DurableAllocator, *, evict: bool, whole: bool = False, is_current: bool = False
    ) -> None:
        self.is_current = is_current
        """Version 1.36 instead of 1.20."""
        self.events = 0
        """How many events of pods there were."""
        self.tried: dict[str, int] = {}
        """By uid of a pod that need not be tried again: the number of events at its last attempt."""
        self.filtered: Counter[str] = Counter()
        """By uid: how often `filter` was asked for it."""
        self.whole = whole
        """Each pod needs a whole node to Kubernetes, too; otherwise pods need nothing that it knows of."""
        self.late: list[PodObject] = []
        self.scheduler = PodScheduler(
            allocator, Locks(), lambda _: None, lambda _: None, delete=self._delete if evict else None, evict=evict
        )
        self.allocator = allocator
        self.nodes = sorted(allocator.cluster.nodes)
        self.pods: dict[str, Running] = {}
        self.time = 0
        self.left: dict[str, int] = {}
        """By uid: when a pod was told to go."""
        self.bound: dict[str, int] = {}
        """By uid: when a pod was bound."""
        for name in self.nodes:
            self._observe(Change(NodeObject(name, healthy=True), deleted=False))

    # The calls of the allocator

    def _observe(self, change: Change) -> None:
        self.events += 1
        self.scheduler.observe(change)

    def _filter(self, request: FilterRequest) -> dict[str, Any]:
        return self.scheduler.filter(request)

    def _preempt(self, request: PreemptRequest) -> dict[str, Any]:
        return self.scheduler.preempt(request)

    def _tick(self) -> None:
        self.scheduler.expire()
        self.scheduler.tear_down()

    # The cluster

    def create(self, pods: list[Pod], priority: int, grace: int = 5) -> None:
        for pod in pods:
            seen = PodObject(pod.uid, pod.namespace, pod.name, True, annotation(pod), "", "", False)
            self.pods[pod.uid] = Running(seen, priority, grace)
            self._observe(Change(seen, deleted=False))

    def step(self) -> None:
        """A unit of time: pods whose grace is over are gone, and each waiting pod is tried once."""
        self.time += 1
        for uid, pod in list(self.pods.items()):
            if pod.gone_at is not None and pod.gone_at <= self.time:
                del self.pods[uid]
                self._observe(Change(pod.seen, deleted=True))
        for pod in list(self.pods.values()):
            if not pod.seen.node and pod.gone_at is None and self.tried.get(pod.seen.uid) != self.events:
                self._attempt(pod)
        while self.late:
            self._observe(Change(self.late.pop(0), deleted=False))
        self._tick()

    def run(self, uids: list[str], limit: int = 200) -> int:
        """Steps until these pods are bound."""
        begun = self.time
        while not all(uid in self.bound for uid in uids):
            assert self.time - begun < limit, "they are never bound"
            self.step()
        return self.time - begun

    def _attempt(self, pod: Running) -> None:
        others = [x for x in self.pods.values() if x is not pod]
        full = {node for x in others for node in (x.seen.node, x.nominated) if self.whole}
        begun = self.events
        self.filtered[pod.seen.uid] += 1
        answer = self._filter(FilterRequest(pod.seen, tuple(x for x in self.nodes if x not in full)))
        assert not answer["Error"]
        if answer["NodeNames"]:
            self._bind(pod, answer["NodeNames"][0])
            return
        weaker = [x for x in self.pods.values() if x.seen.node and x.priority < pod.priority]
        if any(x.seen.node == pod.nominated and x.gone_at is not None for x in weaker):
            return
        siblings = {x.nominated for x in others if x.priority >= pod.priority and self.whole}
        siblings |= {x.seen.node for x in others if x not in weaker and self.whole}
        offered = sorted({x.seen.node for x in weaker} - siblings)
        if self.is_current:
            unresolvable = answer.get("FailedAndUnresolvableNodes") or {}
            if not any(x.seen.node in self.nodes and x.seen.node not in {*full, *unresolvable} for x in weaker):
                self.tried[pod.seen.uid] = begun
            offered = [node for node in offered if node in full and node not in unresolvable]
        named: dict[str, Any] = {}
        if offered:
            named = self._preempt(PreemptRequest(pod.seen, tuple(offered)))["NodeNameToMetaVictims"]
        pod.nominated = next(iter(named), "")
        for victim in named[pod.nominated]["Pods"] if named else ():
            assert self.pods[victim["UID"]].seen.node == pod.nominated, "it is not on that node"
            self.delete(victim["UID"])

    def _bind(self, pod: Running, node: str) -> None:
        tracked = self.scheduler.tracker.pod(pod.seen.uid)
        assert tracked is not None
        assert tracked.info is not None
        info = write_bind_info(tracked.info)[BIND_INFO]
        pod.nominated = ""
        pod.seen = replace(pod.seen, node=node, bind_info=info, phase="Running")
        self.bound[pod.seen.uid] = self.time
        self._observe(Change(pod.seen, deleted=False))

    def delete(self, uid: str) -> None:
        """A pod has its grace to end; somebody who deletes it again changes nothing."""
        pod = self.pods[uid]
        if pod.gone_at is None:
            pod.gone_at = self.time + pod.grace
            self.left[uid] = self.time
            pod.seen = replace(pod.seen, leaving=True)
            self.late.append(pod.seen)

    def _delete(self, tracked: Tracked) -> None:
        self.delete(tracked.seen.uid)
