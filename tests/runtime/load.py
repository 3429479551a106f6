"""Many outer schedulers at once, while nodes fail: `python tests/runtime/load.py --clients 64 --seconds 60`."""

from __future__ import annotations

import argparse
import asyncio
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import median, quantiles
from typing import Any

from clusters import config, gang, rack, row
from serving import Cluster, serving, written

from runtime import Pod

RACKS = 6
NODES = [f"{kind}{i}-{j}" for i in range(RACKS) for kind, size in (("rack", 2), ("row", 4)) for j in range(size)]
CONFIGURATION = config(
    [
        *(rack(*(f"rack{i}-{j}" for j in range(2))) for i in range(RACKS)),
        *(row(*(f"row{i}-{j}" for j in range(4))) for i in range(RACKS)),
    ],
    A={"RACK.NODE": RACKS, "ROW.RACK": RACKS},
    B={"RACK": RACKS // 2, "ROW.RACK.NODE": RACKS},
)

MISTAKES: list[tuple[str, bytes, int, str]] = [
    ("filter", b"{", 200, "is not JSON"),
    ("bind", b'{"PodName": "x"}', 200, "PodUID must be a non-empty string"),
    ("preempt", b"[]", 400, "must be a JSON object"),
    ("filter", json.dumps({"Pod": {"metadata": {"uid": "?", "name": "?"}}}).encode(), 200, "no pod default/?"),
]


@dataclass
class Load:
    """All clients together."""

    cluster: Cluster
    ends: float
    deleted: set[str] = field(default_factory=set)
    seconds: list[float] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    processor: float = 0.0
    """Seconds that the server has worked."""

    def delete(self, pods: list[Pod]) -> None:
        gone = [pod for pod in pods if pod.uid not in self.deleted]
        self.deleted.update(pod.uid for pod in gone)
        self.cluster.delete(*gone)

    @contextmanager
    def timed(self) -> Iterator[None]:
        begun = time.perf_counter()
        yield
        self.seconds.append(time.perf_counter() - begun)


class Connection:
    """As little of HTTP as will do: the machine that is measured runs this, too."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def post(self, path: str, body: bytes) -> tuple[int, Any]:
        """Status and content of the answer."""
        head = f"POST /v1/extender/{path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        self.writer.write(head.encode() + body)
        status, *fields = (await self.reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        (length,) = (int(x.split(":")[1]) for x in fields if x.startswith("content-length:"))
        return int(status.split()[1]), json.loads(await self.reader.readexactly(length))


class Client:
    """One outer scheduler, with the gangs that it looks after."""

    def __init__(self, load: Load, number: int) -> None:
        self.load, self.number = load, number
        self.random = Random(number)
        self.gangs: list[list[Pod]] = []
        self.pods: dict[str, Pod] = {}

    async def work(self) -> None:
        url = self.load.cluster.client.base_url
        self.http = Connection(*await asyncio.open_connection(url.host, url.port))
        made = 0
        while time.monotonic() < self.load.ends:
            if self.random.random() < 0.1:
                await self.mistake()
            if len(self.gangs) > 4 or (self.gangs and self.random.random() < 0.3):
                self.load.delete(self.gangs.pop(self.random.randrange(len(self.gangs))))
            made += 1
            sizes = [self.random.choice((1, 2, 4)) for _ in range(self.random.choice((1, 1, 2, 3)))]
            more = {"lazy_preemption": self.random.random() < 0.3, "priority": self.random.choice((-1, 0, 5, 9))}
            pods = gang(f"c{self.number}-{made}", self.random.choice("AB"), *sizes, **more)
            self.load.cluster.add(*pods)
            self.gangs.append(pods)
            for pod in pods:
                await self.place(pod)

    async def place(self, pod: Pod) -> None:
        """As an outer scheduler does: filters, and binds, or has somebody displaced and filters again."""
        for _ in range(3):
            answer = await self.post("filter", pod, {"Pod": written(pod), "NodeNames": NODES})
            if answer is None:
                return
            if answer["NodeNames"]:
                (node,) = answer["NodeNames"]
                key = {"PodUID": pod.uid, "PodNamespace": "default", "PodName": pod.name, "Node": node}
                await self.post("bind", pod, key)
                self.load.seen["bound"] += 1
                return
            offered: dict[str, dict[str, list[Any]]] = {node: {"Pods": []} for node in answer["FailedNodes"]}
            if "hivedscheduler" in offered:
                self.load.seen["waits"] += 1
                return
            answer = await self.post("preempt", pod, {"Pod": written(pod), "NodeNameToMetaVictims": offered})
            if answer is None:
                return
            self.load.seen["preempted"] += bool(answer["NodeNameToMetaVictims"])
            for victims in answer["NodeNameToMetaVictims"].values():
                for victim in victims["Pods"]:
                    gone = Pod(victim["UID"], victim["UID"], pod.spec)
                    self.load.delete([gone])

    async def post(self, path: str, pod: Pod, content: Any) -> dict[str, Any] | None:
        """The answer; none when somebody has deleted the pod in the meantime, which is the only excuse for an error."""
        with self.load.timed():
            status, answer = await self.http.post(path, json.dumps(content).encode())
        error = answer if status == 400 else answer.get("Error")
        if error:
            assert "no pod " in error, error
            assert pod.uid in self.load.deleted, error
            self.load.seen["deleted meanwhile"] += 1
            return None
        assert status == 200, answer
        return dict(answer)

    async def mistake(self) -> None:
        path, body, status, why = self.random.choice(MISTAKES)
        found, answer = await self.http.post(path, body)
        assert found == status
        assert why in str(answer)
        self.load.seen["mistakes"] += 1


async def fail_nodes(load: Load) -> None:
    """Nodes turn bad, and good again."""
    random, bad = Random(0), set[str]()
    while time.monotonic() < load.ends:
        await asyncio.sleep(0.05)
        name = random.choice(NODES)
        if name in bad:
            bad.discard(name)
            load.cluster.healthy(name)
        elif len(bad) < len(NODES) // 4:
            bad.add(name)
            load.cluster.bad(name)
        load.seen["nodes"] += 1


async def run(cluster: Cluster, clients: int, seconds: float) -> Load:
    """So many clients for so long."""
    load = Load(cluster, time.monotonic() + seconds)
    await asyncio.gather(fail_nodes(load), *(Client(load, number).work() for number in range(clients)))
    return load


def consistent(cluster: Cluster) -> None:
    """What was bound is what is allocated, and no device is held twice."""
    bound = cluster.bound()
    devices = [(node, index) for node, indices in bound.values() for index in indices.split(",")]
    assert len(set(devices)) == len(devices)
    groups = cluster.get("affinitygroups/")["items"]
    allocated = {uid for group in groups for uid in group["status"].get("allocatedPods", {})}
    assert bound.keys() == allocated


def loaded(folder: Path, clients: int, seconds: float, *options: str) -> Load:
    """A server under load; what must hold of it is checked afterwards."""
    with serving(folder, CONFIGURATION, NODES, *options) as cluster:
        begun = cluster.processor()
        load = asyncio.run(run(cluster, clients, seconds))
        load.processor = cluster.processor() - begun
        consistent(cluster)
        before = cluster.get("clusterstatus")
        cluster.restart()
        assert cluster.get("clusterstatus") == before
    return load


def cost_of_lives(clients: int, seconds: float, runs: int) -> None:
    """Requests a second, and processor time of the server for each: without lives and with them, by turns."""
    figures: dict[str, list[tuple[float, float]]] = {"--no-lives": [], "--lives": []}
    for option in runs * list(figures):
        with tempfile.TemporaryDirectory() as folder:
            load = loaded(Path(folder), clients, seconds, option)
        requests = len(load.seconds)
        figures[option].append((requests / seconds, 1000 * load.processor / requests))
        print(f"{option}: %.0f requests/s, %.2f ms of processor each" % figures[option][-1], flush=True)
    without, followed = ([median(values) for values in zip(*runs, strict=True)] for runs in figures.values())
    print(f"median: {without[0]:.0f} requests/s, with lives {followed[0]:.0f} ({followed[0] / without[0] - 1:+.1%})")
    print(f"processor: {without[1]:.2f} ms, with lives {followed[1]:.2f} ms ({followed[1] / without[1] - 1:+.1%})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--no-lives", action="store_true", help="gang life cycles are not tracked")
    parser.add_argument("--cost-of-lives", type=int, metavar="RUNS", help="compare so many runs without lives and with")
    arguments = parser.parse_args()
    if arguments.cost_of_lives:
        cost_of_lives(arguments.clients, arguments.seconds, arguments.cost_of_lives)
        return
    options = ["--no-lives"] if arguments.no_lives else []
    with tempfile.TemporaryDirectory() as folder:
        load = loaded(Path(folder), arguments.clients, arguments.seconds, *options)
    cuts = quantiles(load.seconds, n=100)
    rate = len(load.seconds) / arguments.seconds
    print(
        f"{len(load.seconds)} requests, {rate:.0f}/s; median {cuts[49] * 1000:.1f} ms, 99 % in {cuts[98] * 1000:.1f} ms"
    )
    print(", ".join(f"{what}: {n}" for what, n in load.seen.items()))


if __name__ == "__main__":
    main()
