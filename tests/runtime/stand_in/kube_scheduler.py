"""The kube-scheduler of the stand-in: `python -m stand_in.kube_scheduler FOLDER --server URL --config FILE`.

One pod at a time is tried, as a kube-scheduler does; bindings go out beside it. `FOLDER/extender-calls.jsonl` has all
calls of the extender. `FOLDER/kube-scheduler.ready` has its pid, as soon as it knows the cluster.
"""

from __future__ import annotations

import argparse
import http.client
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

import yaml

from stand_in.client import STRATEGIC, AnswerError, Client, Informer, connect
from stand_in.extender import Extender, ExtenderError
from stand_in.node_filters import Failure, NodeInfo, Rejection, feasible, requests, victims, weaker
from stand_in.pods import stamp
from stand_in.scheduling_queue import Queued, SchedulingQueue
from stand_in.store import Thing

BINDERS = 16
MAX_EVENT_NOTE = 1024


class Cluster:
    """Nodes, and the pods on them. All methods take `lock`, which whoever reads several things holds, too."""

    def __init__(self, ignored: frozenset[str]) -> None:
        self.lock = threading.RLock()
        self.nodes: dict[str, NodeInfo] = {}
        self._places: dict[str, tuple[str, Thing]] = {}
        """By uid."""
        self.ignored = ignored

    def put_node(self, node: Thing) -> None:
        """It is there, or is different."""
        with self.lock:
            name = node["metadata"]["name"]
            if name in self.nodes:
                self.nodes[name].put(node)
                return
            info = self.nodes[name] = NodeInfo(node)
            for place, pod in self._places.values():
                if place == name:
                    info.add(pod, self.ignored)

    def drop_node(self, name: str) -> None:
        """It is gone. Pods on it are still known, for when it comes back."""
        with self.lock:
            self.nodes.pop(name, None)

    def put_pod(self, pod: Thing, node: str) -> None:
        """A pod is on a node, or is assumed to be."""
        with self.lock:
            uid = pod["metadata"]["uid"]
            if uid in self._places and self._places[uid][0] != node:
                self.drop_pod(uid)
            self._places[uid] = node, pod
            if node in self.nodes:
                self.nodes[node].add(pod, self.ignored)

    def drop_pod(self, uid: str) -> None:
        """It is on no node."""
        with self.lock:
            node, _ = self._places.pop(uid, ("", {}))
            if node in self.nodes:
                self.nodes[node].remove(uid, self.ignored)


class KubeScheduler:
    """With one extender, or none."""

    def __init__(
        self, client: Client, configuration: Thing, calls: Path, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.client = client
        self.names = {
            x["schedulerName"] for x in configuration.get("profiles") or [{"schedulerName": "default-scheduler"}]
        }
        self.extenders = [Extender(x, calls) for x in configuration.get("extenders") or ()]
        ignored = frozenset(name for x in self.extenders for name in x.ignored)
        self.cluster = Cluster(ignored)
        initial, longest = (configuration.get(f"pod{x}BackoffSeconds") for x in ("Initial", "Max"))
        self.queue = SchedulingQueue(now, float(initial or 1), float(longest or 10))
        self._binders = ThreadPoolExecutor(BINDERS)
        self._events: SimpleQueue[Thing] = SimpleQueue()
        self._said: dict[str, str] = {}

    # What happens in the cluster

    def node_changed(self, old: Thing | None, new: Thing | None) -> None:
        """Measured behind 1.36.2: "A pod rejected by a filter is tried again on any event of a node or a pod (not on
        heartbeats)"."""
        if new is None:
            assert old is not None
            self.cluster.drop_node(old["metadata"]["name"])
        else:
            self.cluster.put_node(new)
        if old is None or new is None or _without_times(old) != _without_times(new):
            self.queue.wake()

    def pod_changed(self, old: Thing | None, new: Thing | None) -> None:
        """Also what this kube-scheduler writes itself is such an event."""
        if new is None:
            assert old is not None
            uid = old["metadata"]["uid"]
            self.queue.drop(uid)
            self.cluster.drop_pod(uid)
            self._said.pop(uid, None)
        elif new["spec"].get("nodeName"):
            self.queue.drop(new["metadata"]["uid"])
            self.cluster.put_pod(new, new["spec"]["nodeName"])
        elif self._mine(new):
            self.queue.update(new)
        self.queue.wake()

    def _mine(self, pod: Thing) -> bool:
        """From its sources: a pod with gates is not tried; nor is one that has ended."""
        spec = pod["spec"]
        ended = pod["status"].get("phase") in ("Succeeded", "Failed")
        return spec["schedulerName"] in self.names and not spec.get("schedulingGates") and not ended

    # One pod

    def run(self) -> None:
        """For ever."""
        threading.Thread(target=self._write_events, daemon=True).start()
        while True:
            queued = self.queue.pop()
            try:
                self.attempt(queued)
            except Exception as error:
                print(f"{queued.pod['metadata']['name']}: {error!r}", file=sys.stderr, flush=True)
                self.queue.failed(queued)

    def attempt(self, queued: Queued) -> None:
        """Finds a node for a pod, and has it bound."""
        pod = queued.pod
        with self.cluster.lock:
            infos = dict(self.cluster.nodes)
            nodes, reasons = feasible(infos, pod, requests(pod, self.cluster.ignored))
        from_extender: set[str] = set()
        interested = [x for x in self.extenders if x.interested(pod)]
        for extender in interested:
            if not nodes or "filterVerb" not in extender.settings:
                break
            try:
                answer = extender.filter(pod, nodes)
            except ExtenderError as error:
                self._fail(queued, str(error))
                return
            unresolvable = {k: Rejection(Failure.UNRESOLVABLE, v) for k, v in answer.unresolvable.items()}
            resolvable = {
                k: Rejection(Failure.RESOLVABLE, v) for k, v in answer.failed.items() if k not in unresolvable
            }
            reasons |= unresolvable | resolvable
            from_extender |= resolvable.keys()
            nodes = answer.nodes
        if nodes:
            self._place(queued, min(nodes, key=lambda x: len(infos[x].pods)), interested)
            return
        self._find_victims(queued, infos, reasons, from_extender, interested)

    def _place(self, queued: Queued, node: str, interested: list[Extender]) -> None:
        pod = queued.pod
        self.cluster.put_pod(pod, node)
        binder = next((x for x in interested if "bindVerb" in x.settings), None)
        self._binders.submit(self._bind, queued, node, binder)

    def _bind(self, queued: Queued, node: str, binder: Extender | None) -> None:
        metadata = queued.pod["metadata"]
        try:
            if binder is not None:
                binder.bind(queued.pod, node)
            else:
                target = {"apiVersion": "v1", "kind": "Node", "name": node}
                about = {k: metadata[k] for k in ("name", "namespace", "uid")}
                body = {"apiVersion": "v1", "kind": "Binding", "metadata": about, "target": target}
                self.client.ask("POST", f"{_path(queued.pod)}/binding", body)
        except (ExtenderError, AnswerError, OSError, http.client.HTTPException) as error:
            if metadata["uid"] in self.queue:
                self.cluster.drop_pod(metadata["uid"])
            self._fail(queued, f"binding rejected: {error}")
            self.queue.wake()
            return
        name = f"{metadata['namespace']}/{metadata['name']}"
        self._tell(queued.pod, "Normal", "Scheduled", f"Successfully assigned {name} to {node}", "Binding")

    def _fail(self, queued: Queued, message: str) -> None:
        self._say(queued.pod, "SchedulerError", message, None)
        self.queue.failed(queued)

    # Nobody takes it

    def _find_victims(
        self,
        queued: Queued,
        infos: dict[str, NodeInfo],
        reasons: dict[str, Rejection],
        from_extender: set[str],
        interested: list[Extender],
    ) -> None:
        """Measured behind 1.36.2: "`preempt` is asked only about nodes where kube-scheduler's own filters need victims;
        never with an empty list (until 1.38)." And: "A pod that the extender rejects with `FailedNodes`, while lower
        pods run on the nodes and the pod may preempt, is tried again without pause [...], each with a patch of the
        status. `FailedAndUnresolvableNodes`, or a class with `preemptionPolicy: Never`: 2 calls, then quiet."

        From its sources: a node that an answer does not name counts as one where preemption does not help.
        """
        pod, total = queued.pod, len(infos)
        message = aggregate(reasons, total)
        if pod["spec"].get("preemptionPolicy") == "Never":
            policy = f"{message} preemption: not eligible due to preemptionPolicy=Never."
            self._wait(queued, policy)
            return
        with self.cluster.lock:
            nominated = infos.get(pod["status"].get("nominatedNodeName", ""))
            if nominated and any(x["metadata"].get("deletionTimestamp") for x in weaker(nominated, pod)):
                why = "not eligible due to a terminating pod on the nominated node."
                self._wait(queued, f"{message} preemption: {why}")
                return
            possible = [x for x, why in reasons.items() if x in infos and why.failure is Failure.RESOLVABLE]
            lower = {x for x in possible if weaker(infos[x], pod)}
            candidates = {
                x: found for x in lower - from_extender if (found := victims(infos[x], pod, self.cluster.ignored))
            }
            spins = sorted(lower & from_extender)
            known = {uid: x for info in infos.values() for uid, x in info.pods.items()}
        if candidates:
            self._preempt(queued, message, candidates, known, interested)
            return
        helpless = sum(why.failure is Failure.UNRESOLVABLE for x, why in reasons.items() if x in infos)
        counts = {"Preemption is not helpful for scheduling": helpless}
        counts["No preemption victims found for incoming pod"] = total - helpless
        message = f"{message} preemption: {_counted(counts, total)}"
        if spins:
            # Assumed: what changes in the status each time is the nomination.
            before = pod["status"].get("nominatedNodeName", "")
            self._say(pod, "Unschedulable", message, "" if before else spins[0])
            self.queue.spin(queued)
            return
        self._wait(queued, message)

    def _preempt(
        self,
        queued: Queued,
        message: str,
        candidates: dict[str, list[Thing]],
        known: dict[str, Thing],
        interested: list[Extender],
    ) -> None:
        """From its sources: victims on one node are deleted, which the pod is nominated for."""
        pod = queued.pod
        for extender in interested:
            if "preemptVerb" not in extender.settings:
                continue
            try:
                named = extender.preempt(pod, candidates)
            except ExtenderError as error:
                self._fail(queued, str(error))
                return
            candidates = {node: [known[x] for x in uids if x in known] for node, uids in named.items()}
            candidates = {node: found for node, found in candidates.items() if found}
        if not candidates:
            self._wait(queued, message)
            return

        def cost(node: str) -> tuple[int, int, int]:
            priorities = [x["spec"].get("priority", 0) for x in candidates[node]]
            return max(priorities), sum(priorities), len(priorities)

        node = min(sorted(candidates), key=cost)
        for victim in candidates[node]:
            uid = victim["metadata"]["uid"]
            try:
                self.client.ask("DELETE", _path(victim), {"preconditions": {"uid": uid}})
            except (AnswerError, OSError, http.client.HTTPException) as error:
                print(f"victim {_path(victim)}: {error}", file=sys.stderr, flush=True)
                continue
            self._tell(
                victim, "Normal", "Preempted", f"Preempted by {pod['metadata']['uid']} on node {node}", "Preempting"
            )
        self._say(pod, "Unschedulable", message, node)
        self.queue.unschedulable(queued)

    def _wait(self, queued: Queued, message: str) -> None:
        self._say(queued.pod, "Unschedulable", message, None)
        self.queue.unschedulable(queued)

    # What it writes

    def _say(self, pod: Thing, reason: str, message: str, nominated: str | None) -> None:
        """Patches the status of a pod where that changes it; `nominated` as None leaves the nomination as it is."""
        uid, status = pod["metadata"]["uid"], pod["status"]
        before: Thing = next((x for x in status.get("conditions") or () if x["type"] == "PodScheduled"), {})
        condition = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
        patch: Thing = {}
        if any(before.get(k) != v for k, v in condition.items()):
            if before.get("status") != "False":
                condition["lastTransitionTime"] = stamp()
            patch["conditions"] = [condition]
        if nominated is not None and nominated != status.get("nominatedNodeName", ""):
            patch["nominatedNodeName"] = nominated or None
        if self._said.get(uid) != message:
            self._said[uid] = message
            self._tell(pod, "Warning", "FailedScheduling", message, "Scheduling")
        if not patch:
            return
        try:
            self.client.ask("PATCH", f"{_path(pod)}/status", {"metadata": {"uid": uid}, "status": patch}, STRATEGIC)
        except (AnswerError, OSError, http.client.HTTPException) as error:
            print(f"status of {_path(pod)}: {error}", file=sys.stderr, flush=True)

    def _tell(self, pod: Thing, kind: str, reason: str, note: str, action: str) -> None:
        metadata = pod["metadata"]
        about = {"kind": "Pod", "apiVersion": "v1", **{k: metadata[k] for k in ("name", "namespace", "uid")}}
        event = {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {"generateName": f"{metadata['name']}.", "namespace": metadata["namespace"]},
            "eventTime": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "type": kind,
            "reason": reason,
            "note": note[:MAX_EVENT_NOTE],
            "action": action,
            "regarding": about,
            "reportingController": pod["spec"]["schedulerName"],
            "reportingInstance": "stand-in",
        }
        self._events.put(event)

    def _write_events(self) -> None:
        while True:
            event = self._events.get()
            namespace = event["metadata"]["namespace"]
            try:
                self.client.ask("POST", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events", event)
            except (AnswerError, OSError, http.client.HTTPException) as error:
                print(f"event: {error}", file=sys.stderr, flush=True)


def aggregate(reasons: dict[str, Rejection], total: int) -> str:
    """From its sources (`FitError`): how many nodes fail for which reason."""
    counts = Counter(x.reason for x in reasons.values())
    return f"{_counted(dict(counts), total)}"


def _counted(counts: dict[str, int], total: int) -> str:
    parts = sorted(f"{number} {reason}" for reason, number in counts.items() if number)
    return f"0/{total} nodes are available" + (f": {', '.join(parts)}." if parts else ".")


def _path(pod: Thing) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _without_times(node: Thing) -> Thing:
    """A node without what a heartbeat changes."""
    conditions = [(x["type"], x["status"]) for x in (node.get("status") or {}).get("conditions") or ()]
    metadata = {k: v for k, v in node["metadata"].items() if k not in ("resourceVersion", "managedFields")}
    allocatable = (node.get("status") or {}).get("allocatable")
    return {"metadata": metadata, "spec": node.get("spec"), "allocatable": allocatable, "conditions": conditions}


class NodeInformer(Informer):
    """Tells the kube-scheduler of nodes."""

    def __init__(self, client: Client, scheduler: KubeScheduler) -> None:
        super().__init__(client, "/api/v1/nodes")
        self.changed = scheduler.node_changed  # type: ignore[method-assign]


class PodInformer(Informer):
    """Tells it of pods."""

    def __init__(self, client: Client, scheduler: KubeScheduler) -> None:
        super().__init__(client, "/api/v1/pods")
        self.changed = scheduler.pod_changed  # type: ignore[method-assign]


def main() -> None:
    """Until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--server", required=True)
    parser.add_argument("--config", type=Path, required=True)
    options = parser.parse_args()
    client = connect(options.folder, options.server)
    configuration = yaml.safe_load(options.config.read_text())
    scheduler = KubeScheduler(client, configuration, options.folder / "extender-calls.jsonl")
    for informer in (NodeInformer(client, scheduler), PodInformer(client, scheduler)):
        informer.start()
        informer.synced.wait()
    (options.folder / "kube-scheduler.ready").write_text(str(os.getpid()))
    scheduler.run()


if __name__ == "__main__":
    main()
