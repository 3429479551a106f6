"""Two instances behind one API server: the holder of the Lease is killed or stopped, and the other one takes over.

python tests/runtime/takeover.py --rounds 5            # prints how long it took, from the fault to the first answer
python tests/runtime/takeover.py --rounds 5 --delay 1  # with an API server whose answers are late
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))

from clusters import config, gang, nodes
from kube import ApiServer, Running
from serving import Cluster, until, written

from runtime import Pod

LEASE = "kube-system/allocator"
NODES = [f"n{number}" for number in range(8)]
CONFIGURATION = config(nodes(*NODES), A={"NODE": 8})


class Instance(Cluster):
    """A process of the allocator that stands for election. Its token names it to the API server."""

    def __init__(self, folder: Path, running: Running) -> None:
        folder.mkdir()
        super().__init__(folder, CONFIGURATION)
        self.token = folder.name
        running.api.tokens.add(self.token)
        kubeconfig = folder / "kubeconfig"
        contents = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
            "clusters": [{"name": "k", "cluster": {"server": f"http://127.0.0.1:{running.port}"}}],
            "users": [{"name": "u", "user": {"token": self.token}}],
        }
        kubeconfig.write_text(yaml.safe_dump(contents))
        self.source = ["--kubernetes", "--kubeconfig", kubeconfig, "--leader-election", LEASE]

    def is_ready(self) -> bool:
        try:
            return self.client.get("/readyz", timeout=1).status_code == 200
        except httpx.TransportError:
            return False

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def exit_status(self) -> int | None:
        assert self.process is not None
        return self.process.poll()


@dataclass
class Two:
    """Both, and what a kube-scheduler asks of them."""

    api: ApiServer
    holder: Instance
    other: Instance

    def add(self, pods: list[Pod]) -> None:
        for pod in pods:
            self.api.put(written(pod))

    def place(self, instance: Instance, pod: Pod) -> str:
        """As soon as an instance knows the pod; the node."""
        answers: list[dict[str, Any]] = []

        def placed() -> bool:
            body = {"Pod": written(pod), "NodeNames": NODES}
            answer = instance.client.post("/v1/extender/filter", json=body)
            if answer.status_code == 200:
                answers.append(answer.json())
            return bool(answers and answers[-1]["NodeNames"])

        until(placed)
        return str(answers[-1]["NodeNames"][0])

    def bind(self, instance: Instance, pod: Pod, node: str) -> tuple[int, str]:
        """Status and error of the answer; 0 where there is none."""
        key = {"PodUID": pod.uid, "PodNamespace": pod.namespace, "PodName": pod.name, "Node": node}
        try:
            answer = instance.client.post("/v1/extender/bind", json=key, timeout=90)
        except httpx.TransportError as error:
            return 0, str(error)
        return answer.status_code, str(answer.json()["Error"]) if answer.status_code == 200 else answer.text

    def preempts(self, instance: Instance, pod: Pod) -> bool:
        """Whether an instance that is asked for a pod, as often as a kube-scheduler asks, evicts others for it."""
        answer = instance.client.post("/v1/extender/filter", json={"Pod": written(pod), "NodeNames": NODES})
        if answer.status_code != 200 or answer.json()["Error"]:
            return False
        return "waits until these gangs have left" in str(answer.json()["FailedNodes"])

    def changes(self, instance: Instance) -> list[str]:
        """What it has changed, but for Leases."""
        return [request for token, request, holder in self.api.changes if token == instance.token and not holder]

    def late_changes(self) -> list[str]:
        """What the holder has changed after the other one had the Lease."""
        taken = next(n for n, (token, _, holder) in enumerate(self.api.changes) if holder and token == self.other.token)
        return [request for token, request, _ in self.api.changes[taken:] if token == self.holder.token]

    def problems(self) -> list[str]:
        """Devices with two pods."""
        places: dict[tuple[str, str], list[str]] = {}
        for thing in self.api.things["pods"].values():
            if thing["spec"].get("nodeName"):
                isolation = thing["metadata"]["annotations"]["hivedscheduler.microsoft.com/pod-leaf-cell-isolation"]
                for device in isolation.split(","):
                    places.setdefault((thing["spec"]["nodeName"], device), []).append(thing["metadata"]["name"])
        return [f"{place}: {pods}" for place, pods in places.items() if len(pods) > 1]


@contextmanager
def two(folder: Path) -> Iterator[Two]:
    """The first one holds the Lease, and the second one stands by."""
    api = ApiServer()
    running = Running(api)
    pair = Two(api, Instance(folder / "first", running), Instance(folder / "second", running))
    try:
        for name in NODES:
            api.put({"kind": "Node", "metadata": {"name": name}, "status": {"conditions": [READY]}})
        pair.holder.start()
        pair.other.begin()
        until(lambda: "is held by" in pair.other.log())
        yield pair
    finally:
        for instance in (pair.holder, pair.other):
            if instance.process is not None:
                instance.send(signal.SIGCONT)
                instance.process.kill()
                instance.process.wait()
                assert instance.process.stdout is not None
                instance.process.stdout.close()
            instance.client.close()
        running.stop()


READY = {"type": "Ready", "status": "True"}


def fault(pair: Two, number: int, delay: float = 0.0) -> float:
    """The holder gets a signal while it binds pods, with others in its queue. Answers the seconds until the other one
    binds; it binds all pods."""
    pods = [gang(f"g{n}", "A", 1)[0] for n in range(24)]
    pair.add(pods)
    places = {pod: pair.place(pair.holder, pod) for pod in pods}
    pair.api.delay = max(delay, 0.2)  # so that a queue of them forms
    with ThreadPoolExecutor(len(pods)) as pool:
        bound = [pool.submit(pair.bind, pair.holder, pod, node) for pod, node in places.items()]
        until(lambda: pair.changes(pair.holder))
        pair.holder.send(number)
        begun = time.monotonic()
        pair.api.delay = delay
        until(pair.other.is_ready, 90)
        taken = time.monotonic() - begun
        pods.append(gang("late", "A", 1)[0])
        pair.add(pods[-1:])
        for pod in pods:
            if not pair.api.things["pods"][f"{pod.namespace}/{pod.name}"]["spec"].get("nodeName"):
                status, error = pair.bind(pair.other, pod, pair.place(pair.other, pod))
                assert (status, error) == (200, ""), error
        if number == signal.SIGSTOP:
            pair.holder.send(signal.SIGCONT)
        refused = [x.result() for x in bound]
    assert number == signal.SIGKILL or any(status == 503 for status, _ in refused), refused
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds by which the API server is late")
    options = parser.parse_args()
    for number in (signal.SIGKILL, signal.SIGSTOP):
        seconds = []
        for _ in range(options.rounds):
            with TemporaryDirectory() as folder, two(Path(folder)) as pair:
                time.sleep(time.time() % 2)  # anywhere between two renewals
                seconds.append(fault(pair, number, options.delay))
                assert pair.late_changes() == []
                assert pair.problems() == []
        print(f"{number.name}: median {median(seconds):.1f} s, at most {max(seconds):.1f} s: {sorted(seconds)}")


if __name__ == "__main__":
    main()
