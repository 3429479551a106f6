"""The allocator behind a control plane, gangs of real pods, and what must hold of them at any time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml
from control_plane import ROOT, Plane, document, until

PREFIX = "hivedscheduler.microsoft.com/"
SPEC, INFO = f"{PREFIX}pod-scheduling-spec", f"{PREFIX}pod-bind-info"
ISOLATION, ENABLE = f"{PREFIX}pod-leaf-cell-isolation", f"{PREFIX}pod-scheduling-enable"
PODS = "/api/v1/namespaces/default/pods"
NODES, DEVICES = 32, 8
GRACE = 5
"""Seconds that a victim takes to end."""

CLUSTER: dict[str, Any] = {
    "physicalCluster": {
        "cellTypes": {
            "GPU-NODE": {"childCellType": "GPU", "childCellNumber": DEVICES, "isNodeLevel": True},
            "GPU-RACK": {"childCellType": "GPU-NODE", "childCellNumber": 8},
        },
        "physicalCells": [
            {
                "cellType": "GPU-RACK",
                "cellChildren": [{"cellAddress": f"node-{8 * rack + n}"} for n in range(1, 9)],
            }
            for rack in range(NODES // 8)
        ],
    },
    "virtualClusters": {
        "research": {"virtualCells": [{"cellType": "GPU-RACK", "cellNumber": 2}]},
        "product": {
            "virtualCells": [
                {"cellType": "GPU-RACK", "cellNumber": 1},
                {"cellType": "GPU-RACK.GPU-NODE", "cellNumber": 8},
            ]
        },
    },
}
"""Four racks of eight nodes of eight devices; half for each virtual cluster."""


class Instance:
    """A process of the allocator, started as the manifest starts it, but for addresses, paths and TLS."""

    def __init__(self, plane: Plane, name: str = "allocator", port: int = 8) -> None:
        self.plane, self.name = plane, name
        self.address = f"127.0.0.1:{plane.port + port}"
        self.config = plane.folder / "cluster.yaml"
        self.journal = plane.folder / name / "journal"
        self.journal.parent.mkdir(exist_ok=True)
        self.process: subprocess.Popen[bytes] | None = None
        self.client = httpx.Client(base_url=f"http://{self.address}", timeout=60)

    def command(self) -> list[str]:
        """As in `deploy`."""
        (container,) = document("StatefulSet", "allocator")["spec"]["template"]["spec"]["containers"]
        here = {
            "--address": self.address,
            "--config": str(self.config),
            "--journal": str(self.journal),
            "--kubeconfig": str(self.plane.folder / "allocator.kubeconfig"),
        }
        replaced = {*here, "--tls-certificate", "--tls-key", "--client-ca", "--allow"}
        shipped = [x for x in container["args"] if x.partition("=")[0] not in replaced]
        assert container["command"][:1] == ["python"]
        return [sys.executable, *container["command"][1:], *shipped, *(f"{k}={v}" for k, v in here.items())]

    def start(self, *, ready: bool = True) -> None:
        """Until it takes requests, if that is waited for."""
        command: list[str | Path] = [*self.command()]
        self.process = self.plane.spawn(self.name, command, PYTHONPATH=str(ROOT))
        if ready:
            until(self.ready, f"{self.name} is ready: {self.log()[-500:]}")

    def runs(self) -> bool:
        """Whether the process is there."""
        return self.process is not None and self.process.poll() is None

    def ready(self) -> bool:
        """Whether it takes requests."""
        assert self.process is not None
        assert self.process.poll() is None, self.log()[-2000:]
        return self.readiness() == 200

    def readiness(self) -> int:
        """The status with which it says so; 0 where it does not answer."""
        try:
            return self.client.get("/readyz", timeout=5).status_code
        except httpx.TransportError:
            return 0

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its status."""
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(number)
        status = self.process.wait(60)
        self.process = None
        return status

    def restart(self, number: int = signal.SIGKILL) -> None:
        """Ended, and started again."""
        self.end(number)
        self.start()

    def log(self) -> str:
        """All that it has written."""
        return (self.plane.folder / f"{self.name}.log").read_text(errors="replace")

    def get(self, path: str) -> Any:
        """What it answers."""
        answer = self.client.get(path)
        assert answer.status_code == 200, answer.text
        return answer.json()


class Behind:
    """A control plane whose extender is the allocator."""

    def __init__(self, plane: Plane) -> None:
        self.plane = plane
        self.allocator = Instance(plane)
        self.excused: set[str] = set()
        """Gangs that a test keeps half alive on purpose."""
        self.configure(CLUSTER)

    def configure(self, configuration: dict[str, Any]) -> None:
        """From the next start on; in one move, as a volume of a ConfigMap changes."""
        path = self.plane.folder / "cluster.yaml"
        fresh = path.with_suffix(".new")
        fresh.write_text(yaml.safe_dump(configuration))
        os.replace(fresh, path)

    # Pods

    def pod(self, name: str, spec: dict[str, Any] | str, priority_class: str = "", **more: Any) -> dict[str, Any]:
        """Creates a pod. `spec` is its annotation; `more` is of the pod's own spec."""
        text = spec if isinstance(spec, str) else json.dumps(spec)
        container = {"name": "worker", "image": "none", "resources": {"limits": {ENABLE: "1"}}}
        body = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "annotations": {SPEC: text}},
            "spec": {
                "schedulerName": "gangs",
                "terminationGracePeriodSeconds": GRACE,
                "containers": [container],
                **({"priorityClassName": priority_class} if priority_class else {}),
                **more,
            },
        }
        return dict(self.plane.ask("POST", PODS, body))

    def gang(self, name: str, tenant: str, priority: int, *members: tuple[int, int], **more: Any) -> list[str]:
        """Creates all pods of a gang; answers their names. `members` are numbers of pods, and devices of each."""
        group = {
            "name": f"default/{name}",
            "members": [{"podNumber": pods, "leafCellNumber": devices} for pods, devices in members],
        }
        classes = "gangs-high" if priority >= 100 else "gangs-normal" if priority >= 0 else "gangs-opportunistic"
        names: list[str] = []
        for pods, devices in members:
            for _ in range(pods):
                names.append(f"{name}-{len(names)}")
                asked = {"virtualCluster": tenant, "priority": priority, "leafCellNumber": devices}
                self.pod(names[-1], {**asked, "affinityGroup": group, **more}, classes)
        return names

    def pods(self) -> dict[str, dict[str, Any]]:
        """All that there are, by name."""
        return {x["metadata"]["name"]: x for x in self.plane.ask("GET", PODS)["items"]}

    def delete(self, *names: str, force: bool = False) -> None:
        """Those that are there."""
        options = {"gracePeriodSeconds": 0} if force else {}
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        for name in names:
            self.plane.ask("DELETE", f"{PODS}/{name}", body, expect=(200, 202, 404))

    def annotate(self, name: str, text: str) -> None:
        """Changes what a pod asks for, in place."""
        self.plane.ask("PATCH", f"{PODS}/{name}", {"metadata": {"annotations": {SPEC: text}}})

    def bound(self, *names: str) -> bool:
        """Whether all of them are."""
        pods = self.pods()
        return all(name in pods and pods[name]["spec"].get("nodeName") for name in names)

    def await_bound(self, *names: str, seconds: float = 90.0, wake: bool = False) -> None:
        """Until all of them are bound. `wake`: after an outage, the kube-scheduler is made to try again."""
        ends = time.monotonic() + seconds
        while True:
            pods = self.pods()
            waiting = {
                x: reasons(pods[x]) if x in pods else "gone"
                for x in names
                if x not in pods or not pods[x]["spec"].get("nodeName")
            }
            if not waiting:
                return
            assert time.monotonic() < ends, f"not bound within {seconds:g} s: {waiting}"
            if wake:
                self.wake()
            time.sleep(0.2)

    def wake(self) -> None:
        """An event of the cluster, such as a changed label of a node, makes a kube-scheduler try all pods again that it
        could not place; otherwise it does so after one to five minutes."""
        label = {"metadata": {"labels": {"changed": str(time.time())}}}
        self.plane.ask("PATCH", "/api/v1/nodes/node-1", label)

    def places(self) -> dict[str, tuple[str, str]]:
        """By uid: node and devices of each bound pod."""
        return {
            pod["metadata"]["uid"]: (pod["spec"]["nodeName"], pod["metadata"]["annotations"].get(ISOLATION, ""))
            for pod in self.pods().values()
            if pod["spec"].get("nodeName")
        }

    def reasons(self, name: str) -> str:
        """What the kube-scheduler says of a waiting pod."""
        return reasons(self.pods()[name])

    def clear(self) -> None:
        """Nobody is left, in the cluster and in the allocator."""
        self.delete(*self.pods(), force=True)
        until(lambda: not self.pods(), "all pods are gone")
        until(lambda: not self.allocator.get("/v2/inspect/gangs/")["items"], "the allocator knows no gangs")

    # What must hold

    def settled(self, seconds: float = 60.0) -> None:
        """All that must hold does, as soon as the allocator has heard of everything. No device is ever held twice."""
        until(lambda: not self._problems() or None, f"nothing is wrong; now: {self._problems()}", seconds)

    def _problems(self) -> list[str]:
        pods = [x for x in self.pods().values() if x["status"].get("phase") not in ("Succeeded", "Failed")]
        twice = list(double(pods))
        assert not twice, twice
        return [*misplaced(pods), *torn(pods), *self._disagreements(pods)]

    def _disagreements(self, pods: list[dict[str, Any]]) -> Iterator[str]:
        """Between the cluster and the allocator."""
        groups = {
            x["metadata"]["name"]: x["status"] for x in self.allocator.get("/v1/inspect/affinitygroups/")["items"]
        }
        bound: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for pod in pods:
            if pod["spec"].get("nodeName") and (asked := read_spec(pod)):
                bound[gang_of(pod, asked)].append(pod)
        for name, members in bound.items():
            status = groups.get(name)
            if status is None or status["state"] not in ("Allocated", "BeingPreempted"):
                yield f"{name} has bound pods, and is {status and status['state']}"
                continue
            if set(status.get("allocatedPods", [])) != {x["metadata"]["uid"] for x in members}:
                yield f"{name}: other pods are allocated than bound"
            cells = {(node, n) for node, held in status["physicalPlacement"].items() for n in held}
            if not {place for pod in members for place in devices(pod)} <= cells:
                yield f"{name}: bound pods are not where the gang is"
        yield from (f"{name} holds cells, and has no bound pod" for name in groups.keys() - bound.keys())
        held = sum(len(x) for status in groups.values() for x in status["physicalPlacement"].values())
        used = sum(
            x["cellState"] != "Free" for x in leaves(self.allocator.get("/v1/inspect/clusterstatus/physicalcluster"))
        )
        if held != used:
            yield f"gangs hold {held} devices, {used} are used"


def reasons(pod: dict[str, Any]) -> str:
    """What the kube-scheduler says of a pod."""
    return " ".join(x.get("message", "") for x in pod["status"].get("conditions") or [])


def leaves(cells: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of trees of cells."""
    for cell in cells:
        if "cellChildren" in cell:
            yield from leaves(cell["cellChildren"])
        else:
            yield cell


def read_spec(pod: dict[str, Any]) -> dict[str, Any]:
    """What a pod asks for; nothing where that cannot be understood."""
    try:
        asked = json.loads(pod["metadata"]["annotations"][SPEC])
    except (ValueError, KeyError, RecursionError):
        return {}
    return dict(asked) if isinstance(asked, dict) else {}


def gang_of(pod: dict[str, Any], asked: dict[str, Any]) -> str:
    """The name of its gang."""
    return str((asked.get("affinityGroup") or {}).get("name") or f"default/{pod['metadata']['name']}")


def devices(pod: dict[str, Any]) -> list[tuple[str, int]]:
    """Of a bound pod: the devices that its container sees."""
    numbers = pod["metadata"]["annotations"].get(ISOLATION, "")
    return [(pod["spec"]["nodeName"], int(x)) for x in numbers.split(",") if x]


def double(pods: list[dict[str, Any]]) -> Iterator[str]:
    """Devices that two pods have."""
    holders: dict[tuple[str, int], str] = {}
    for pod in pods:
        for place in devices(pod) if pod["spec"].get("nodeName") else ():
            if place in holders:
                yield f"{place}: {holders[place]} and {pod['metadata']['name']}"
            holders[place] = pod["metadata"]["name"]


def misplaced(pods: list[dict[str, Any]]) -> Iterator[str]:
    """Pods that are not where they were told to be, or have other devices."""
    for pod in pods:
        notes, node, name = pod["metadata"]["annotations"], pod["spec"].get("nodeName"), pod["metadata"]["name"]
        asked = read_spec(pod)
        if not node or not asked:
            continue
        if INFO not in notes:
            yield f"{name} is bound without bind info"
            continue
        info = json.loads(notes[INFO])
        numbers = sorted(n for _, n in devices(pod))
        if info["node"] != node or sorted(info["leafCellIsolation"]) != numbers:
            yield f"{name} is on {node} with {numbers}, and was told {info['node']} with {info['leafCellIsolation']}"
        if len(numbers) != asked["leafCellNumber"]:
            yield f"{name} asks for {asked['leafCellNumber']} devices, and has {numbers}"


def torn(pods: list[dict[str, Any]]) -> Iterator[str]:
    """Gangs of which some pods are bound and others are not."""
    gangs: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for pod in pods:
        if asked := read_spec(pod):
            gangs[gang_of(pod, asked)].append(pod)
    for name, members in gangs.items():
        bound = sum(bool(x["spec"].get("nodeName")) for x in members)
        if 0 < bound < len(members):
            yield f"{name}: {bound} of {len(members)} pods are bound"
