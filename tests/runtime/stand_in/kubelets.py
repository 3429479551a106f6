"""The kubelets of all nodes, and what a node controller would do: `python -m stand_in.kubelets FOLDER --server URL`.

Each node renews its Ready condition. Pods that are bound to it run at once, and are gone when their grace is over. The
annotation `played/ready` of a node says how it is: `yes`; `no`, with the taint that a controller would add; or
`silent`, where nothing happens on the node any more, until it counts as unreachable.
"""

from __future__ import annotations

import argparse
import heapq
import http.client
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from stand_in.client import MERGE, AnswerError, Client, Informer
from stand_in.pods import stamp
from stand_in.store import Thing

WISH = "played/ready"
NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"


def node(name: str, resources: dict[str, str]) -> Thing:
    """A node that is ready."""
    room = {"cpu": "96", "memory": "1Ti", "pods": "110", "ephemeral-storage": "1Ti", **resources}
    metadata = {"name": name, "labels": {"kubernetes.io/hostname": name}}
    status = {"capacity": room, "allocatable": room, "conditions": conditions("True")}
    return {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": {}, "status": status}


def conditions(status: str, before: Thing | None = None) -> list[Thing]:
    """As a kubelet writes them: the time of the last transition stays while nothing has changed."""
    now = stamp()
    known = ((before or {}).get("status") or {}).get("conditions") or []
    last = next((x for x in known if x["type"] == "Ready"), None)
    since = last["lastTransitionTime"] if last is not None and last["status"] == status else now
    reason = {"True": "KubeletReady", "False": "KubeletNotReady", "Unknown": "NodeStatusUnknown"}[status]
    times = {"lastHeartbeatTime": now, "lastTransitionTime": since}
    return [{"type": "Ready", "status": status, "reason": reason, "message": "played", **times}]


class Nodes(Informer):
    """How each node is to be."""

    def __init__(self, client: Client, patience: float) -> None:
        super().__init__(client, "/api/v1/nodes")
        self._patience = patience
        """Seconds after which a silent node counts as unreachable."""
        self._wishes: dict[str, str] = {}
        self._heard: dict[str, float] = {}

    def changed(self, old: Thing | None, new: Thing | None) -> None:
        if new is not None and wish(new) != self._wishes.get(new["metadata"]["name"], "yes"):
            self.beat(new)

    def silent(self, name: str) -> bool:
        """Whether nothing happens on a node."""
        return self._wishes.get(name) == "silent"

    def beat(self, thing: Thing) -> None:
        """The heartbeat of a node, and its taints."""
        name = thing["metadata"]["name"]
        how = self._wishes[name] = wish(thing)
        now = time.monotonic()
        if how != "silent":
            self._heard[name] = now
        lost = how == "silent" and now - self._heard.setdefault(name, now) > self._patience
        if how == "silent" and not lost:
            return
        status = "Unknown" if lost else "True" if how == "yes" else "False"
        attempt(lambda: self._report(thing, status))

    def _report(self, thing: Thing, status: str) -> None:
        """Assumed: as the node controller adds and removes taints; the ones of nobody else are kept."""
        path = f"/api/v1/nodes/{thing['metadata']['name']}"
        taints = (thing.get("spec") or {}).get("taints") or []
        key = {"False": NOT_READY, "Unknown": UNREACHABLE}.get(status)
        kept = [x for x in taints if x["key"] not in (NOT_READY, UNREACHABLE)]
        new = [*kept, *([{"key": key, "effect": "NoSchedule"}] if key else [])]
        if [(x["key"], x["effect"]) for x in new] != [(x["key"], x["effect"]) for x in taints]:
            self._client.ask("PATCH", path, {"spec": {"taints": new or None}}, MERGE)
        self._client.ask("PATCH", f"{path}/status", {"status": {"conditions": conditions(status, thing)}}, MERGE)


def wish(thing: Thing) -> str:
    """How a node is to be."""
    return str((thing["metadata"].get("annotations") or {}).get(WISH, "yes"))


def attempt(request: Callable[[], object]) -> None:
    """A request whose object may be gone meanwhile, or that has to be repeated by whoever finds that it was lost."""
    try:
        request()
    except AnswerError as error:
        if error.code not in (404, 409, 422):
            print(error, file=sys.stderr, flush=True)
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(repr(error), file=sys.stderr, flush=True)


class Pods(Informer):
    """What the kubelets do with pods. What was lost because the server was away, is done again after a second."""

    def __init__(self, client: Client, nodes: Nodes, threads: int) -> None:
        super().__init__(client, "/api/v1/pods")
        self._nodes = nodes
        self._pool = ThreadPoolExecutor(threads)
        self._due: list[tuple[float, str]] = []
        self._changed = threading.Condition()

    def changed(self, old: Thing | None, new: Thing | None) -> None:
        if new is None or not new["spec"].get("nodeName"):
            return
        metadata = new["metadata"]
        if not metadata.get("deletionTimestamp"):
            if new["status"].get("phase") == "Pending":
                self._later(0, metadata["uid"])
        elif old is None or old["metadata"].get("deletionGracePeriodSeconds") != metadata["deletionGracePeriodSeconds"]:
            grace = float(metadata["deletionGracePeriodSeconds"])
            notes = metadata.get("annotations") or {}
            stop = notes.get("played/stop", str(grace))
            if stop != "never":
                self._later(float(stop), metadata["uid"])

    def _later(self, seconds: float, uid: str) -> None:
        with self._changed:
            heapq.heappush(self._due, (time.monotonic() + seconds, uid))
            self._changed.notify()

    def play(self) -> None:
        """For ever."""
        while True:
            with self._changed:
                while not self._due or self._due[0][0] > time.monotonic():
                    self._changed.wait(self._due[0][0] - time.monotonic() if self._due else None)
                _, uid = heapq.heappop(self._due)
            pod = self.objects.get(uid)
            if pod is None:
                continue
            if self._nodes.silent(pod["spec"]["nodeName"]):
                self._later(1, uid)
            else:
                self._pool.submit(self._act, uid, pod)

    def _act(self, uid: str, pod: Thing) -> None:
        metadata = pod["metadata"]
        path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
        try:
            if metadata.get("deletionTimestamp"):
                options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
                self._client.ask("DELETE", path, options)
            elif pod["status"].get("phase") == "Pending":
                self._client.ask("PATCH", f"{path}/status", {"metadata": {"uid": uid}, "status": running(pod)}, MERGE)
        except AnswerError as error:
            if error.code not in (404, 409, 422):
                print(error, file=sys.stderr, flush=True)
        except (OSError, ValueError, http.client.HTTPException) as error:
            print(repr(error), file=sys.stderr, flush=True)
            self._later(1, uid)


def running(pod: Thing) -> Thing:
    """The status of a pod whose containers run."""
    now = stamp()
    kinds = ("Initialized", "Ready", "ContainersReady")
    others = [x for x in pod["status"].get("conditions") or [] if x["type"] not in kinds]
    found = [{"type": kind, "status": "True", "lastTransitionTime": now} for kind in kinds]
    return {"phase": "Running", "startTime": now, "podIP": "127.0.0.1", "conditions": [*others, *found]}


def main() -> None:
    """Until it is told to stop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--server", required=True)
    parser.add_argument("--heartbeat", type=float, default=10)
    parser.add_argument("--patience", type=float, default=40)
    parser.add_argument("--threads", type=int, default=4)
    options = parser.parse_args()
    client = Client(options.server, (options.folder / "token").read_text())
    nodes = Nodes(client, options.patience)
    pods = Pods(client, nodes, options.threads)
    nodes.start()
    nodes.synced.wait()
    pods.start()
    threading.Thread(target=pods.play, daemon=True).start()
    while True:
        time.sleep(options.heartbeat)
        for thing in list(nodes.objects.values()):
            nodes.beat(thing)


if __name__ == "__main__":
    main()
