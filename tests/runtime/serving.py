"""A server in a process of its own, a cluster that is a file of events, and a client like an outer scheduler."""

from __future__ import annotations

import json
import os
import signal
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx
import yaml
from invariants import check

from runtime import Pod
from runtime.annotations import ENABLE, ISOLATION, SPEC
from runtime.durable import DurableAllocator
from runtime.service.messages import COMPONENT

ROOT = Path(__file__).parents[2]


def annotation(pod: Pod) -> str:
    """What stands on a pod."""
    spec = pod.spec
    members = [{"podNumber": m.pods, "leafCellNumber": m.leaf_cells} for m in spec.gang.members]
    fields = {
        "virtualCluster": spec.virtual_cluster,
        "priority": spec.priority,
        "leafCellNumber": spec.leaf_cells,
        "affinityGroup": {"name": spec.gang.name, "members": members},
        "leafCellType": spec.leaf_type or None,
        "pinnedCellId": spec.pinned_cell or None,
        "lazyPreemptionEnable": spec.lazy_preemption,
        "ignoreK8sSuggestedNodes": spec.ignore_suggested,
    }
    return json.dumps({key: value for key, value in fields.items() if value is not None})


def written(pod: Pod, spec: str | None = None, **more: Any) -> dict[str, Any]:
    """A pod as Kubernetes writes it."""
    return {
        "kind": "Pod",
        "metadata": {
            "uid": pod.uid,
            "namespace": pod.namespace,
            "name": pod.name,
            "annotations": {SPEC: annotation(pod) if spec is None else spec},
        },
        "spec": {"containers": [{"resources": {"limits": {ENABLE: 1}}}], **more},
    }


def node(name: str, *, ready: bool = True, unschedulable: bool = False) -> dict[str, Any]:
    """A node as Kubernetes writes it."""
    return {
        "kind": "Node",
        "metadata": {"name": name},
        "spec": {"unschedulable": unschedulable},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }


def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Waits for what happens in its own time."""
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it does not happen"
        time.sleep(0.002)


def leaves(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The leaf cells of trees."""
    return [leaf for cell in cells for leaf in (leaves(cell.get("cellChildren", [])) or [cell])]


class Cluster:
    """A file of events, a configuration, a journal, and the server that is running now."""

    def __init__(self, folder: Path, configuration: dict[str, Any]) -> None:
        self.config, self.journal, self.events = folder / "config.yaml", folder / "journal", folder / "events"
        self.source: list[str | Path] = ["--events", self.events]
        """Where the cluster is, for the command line."""
        self.nodes: list[str] = []
        self.configure(configuration)
        self.events.touch()
        self.process: subprocess.Popen[str] | None = None
        self.client = httpx.Client(timeout=60)
        self.verify: ssl.SSLContext | bool = True
        """How the client trusts a server with TLS, and who it is."""

    def configure(self, configuration: dict[str, Any]) -> None:
        """From the next start on."""
        self.configuration = configuration
        self.config.write_text(yaml.safe_dump(configuration))

    # The process

    def start(self, *options: str, in_memory: bool = False) -> None:
        """Until it is ready."""
        self.begin(*options, in_memory=in_memory)
        assert self.process is not None
        while self.client.get("/readyz").status_code != 200:
            assert self.process.poll() is None, self.log()

    def begin(self, *options: str, in_memory: bool = False) -> None:
        """Until it listens."""
        command: list[str | Path] = [
            sys.executable,
            "-m",
            "runtime",
            "serve",
            "--config",
            self.config,
            "--journal",
            self.journal,
        ]
        command += ["--address", "127.0.0.1:0", *([] if in_memory else self.source), *options]
        with (self.events.parent / "log").open("a") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True)
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), (line, self.log())
        self.client = httpx.Client(base_url=line.split()[-1], timeout=60, verify=self.verify)

    def processor(self) -> float:
        """Seconds for which the processors have worked for it."""
        assert self.process is not None
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def log(self) -> str:
        return (self.events.parent / "log").read_text()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Ends the process, and answers its status."""
        assert self.process is not None
        self.client.close()
        self.process.send_signal(number)
        status = self.process.wait(60)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return status

    def restart(self, number: int = signal.SIGKILL) -> None:
        self.stop(number)
        self.start()

    def end(self) -> None:
        """Stops it, and looks whether all that must hold holds of what is in the journal."""
        if self.process is not None:
            assert self.stop() == 0
        assert "Traceback" not in self.log(), self.log()
        allocator = DurableAllocator.open(self.configuration, self.journal)
        assert allocator.opened.damage is None
        check(allocator)
        allocator.close()

    # What happens

    def tell(self, *events: tuple[str, dict[str, Any]]) -> None:
        lines = "".join(json.dumps({"type": kind, "object": thing}) + "\n" for kind, thing in events)
        file = os.open(self.events, os.O_WRONLY | os.O_APPEND)
        os.write(file, lines.encode())
        os.close(file)

    def add_nodes(self, names: Iterable[str]) -> None:
        self.nodes += names
        self.tell(*(("ADDED", node(name)) for name in self.nodes))

    def add(self, *pods: Pod) -> None:
        self.tell(*(("ADDED", written(pod)) for pod in pods))

    def delete(self, *pods: Pod) -> None:
        self.tell(*(("DELETED", written(pod)) for pod in pods))

    def bad(self, *names: str) -> None:
        self.tell(*(("MODIFIED", node(name, ready=False)) for name in names))

    def healthy(self, *names: str) -> None:
        self.tell(*(("MODIFIED", node(name)) for name in names))

    # What an outer scheduler asks

    def post(self, path: str, content: Any) -> Any:
        answer = self.client.post(f"/v1/extender/{path}", content=json.dumps(content))
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refusal(self, pod: Pod, spec: str | None = None) -> str:
        """Why `filter` does not place a pod; empty where it does. It is no error: a kube-scheduler would ask again."""
        asked = written(pod) if spec is None else written(pod, spec)
        answer = self.post("filter", {"Pod": asked, "NodeNames": self.nodes})
        assert not answer["Error"], answer
        if answer["NodeNames"]:
            return ""
        assert answer["FailedAndUnresolvableNodes"].keys() == set(self.nodes)
        return str(answer["FailedNodes"][COMPONENT])

    def filter(self, pod: Pod, nodes: list[str] | None = None) -> dict[str, Any]:
        """The answer, which must be no error."""
        names = self.nodes if nodes is None else nodes
        answer = self.post("filter", {"Pod": written(pod), "NodeNames": names})
        assert not answer["Error"], answer
        assert bool(answer["NodeNames"]) != bool(answer["FailedNodes"])
        return dict(answer)

    def preempt(self, pod: Pod, nodes: list[str] | None = None) -> dict[str, set[str]]:
        """Victims by node."""
        names = self.nodes if nodes is None else nodes
        offered = {name: {"Pods": [], "NumPDBViolations": 0} for name in names}
        answer = self.post("preempt", {"Pod": written(pod), "NodeNameToMetaVictims": offered})
        return {name: {x["UID"] for x in x["Pods"]} for name, x in answer["NodeNameToMetaVictims"].items()}

    def bind(self, pod: Pod, node: str) -> str:
        """The error, if there is one."""
        key = {"PodUID": pod.uid, "PodNamespace": pod.namespace, "PodName": pod.name}
        return str(self.post("bind", {**key, "Node": node})["Error"])

    def run(self, pods: list[Pod]) -> list[str]:
        """Adds and binds pods, which must be possible; answers their nodes."""
        self.add(*pods)
        found = []
        for pod in pods:
            answer = self.filter(pod)
            assert answer["NodeNames"], answer
            (name,) = answer["NodeNames"]
            assert not self.bind(pod, name)
            found.append(name)
        return found

    def waits(self, pod: Pod) -> str:
        """A pod that has to wait, and why."""
        answer = self.filter(pod)
        assert set(answer["FailedNodes"]) == {"hivedscheduler"}, answer
        return str(answer["FailedNodes"]["hivedscheduler"])

    # What there is

    def get(self, path: str) -> Any:
        answer = self.client.get(f"/v1/inspect/{path}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def group(self, name: str) -> dict[str, Any]:
        """A gang, with all fields."""
        answer = self.client.get(f"/v2/inspect/gangs/{name}")
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def gangs(self) -> list[dict[str, Any]]:
        """All gangs, with all fields."""
        return list(self.client.get("/v2/inspect/gangs/").json()["items"])

    def everything(self) -> Any:
        """All that can be seen."""
        return self.get("clusterstatus"), self.get("affinitygroups/")

    def bound(self) -> dict[str, tuple[str, str]]:
        """By uid: the node and the devices of pods that were bound and not deleted."""
        found: dict[str, tuple[str, str]] = {}
        gone = set()
        for line in self.events.read_text().splitlines():
            event = json.loads(line)
            thing = event["object"]
            if thing["kind"] == "Pod" and event["type"] == "DELETED":
                found.pop(thing["metadata"]["uid"], None)
                gone.add(thing["metadata"]["uid"])
            elif thing["kind"] == "Pod" and thing["spec"].get("nodeName") and thing["metadata"]["uid"] not in gone:
                place = thing["spec"]["nodeName"], thing["metadata"]["annotations"][ISOLATION]
                found[thing["metadata"]["uid"]] = place
        return found


SomeCluster = TypeVar("SomeCluster", bound=Cluster)


@contextmanager
def started(cluster: SomeCluster, nodes: Iterable[str], *options: str) -> Iterator[SomeCluster]:
    """A server, for as long as the test lasts; afterwards, all that must hold is checked."""
    cluster.add_nodes(nodes)
    try:
        cluster.start(*options)
        yield cluster
        cluster.end()
    finally:
        if cluster.process is not None:
            cluster.process.kill()
            cluster.process.wait()


def serving(
    folder: Path, configuration: dict[str, Any], nodes: Iterable[str], *options: str
) -> AbstractContextManager[Cluster]:
    """A server whose cluster is a file of events."""
    return started(Cluster(folder, configuration), nodes, *options)
