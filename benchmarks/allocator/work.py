"""Clusters and gangs to measure with, and the work: one gang ends, another one is placed and allocated.

Usage: python work.py WHAT DEVICES, in a process of its own; prints JSON.
"""

from __future__ import annotations

import gc
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from statistics import median, quantiles
from time import perf_counter, thread_time
from typing import Any, TypeAlias

import baseline

from runtime import Allocator, Bind, BindInfo, GangSpec, Member, Phase, Pod, PodSpec, Preempt
from runtime.annotations import BIND_INFO, read_bind_info, write_bind_info
from runtime.config import read_configuration
from runtime.durable import DurableAllocator, collector_paused
from runtime.journal import Journal

AnyAllocator: TypeAlias = Allocator | DurableAllocator

TYPES = {
    "SOCKET": {"childCellType": "GPU", "childCellNumber": 4},
    "NODE": {"childCellType": "SOCKET", "childCellNumber": 2, "isNodeLevel": True},
    "RACK": {"childCellType": "NODE", "childCellNumber": 16},
}
RACK = 128
"""Devices."""
ROUNDS = 2000
"""Decisions that are measured."""
Figures: TypeAlias = dict[str, Any]


def configuration(devices: int) -> dict[str, Any]:
    """Racks of 16 nodes of 8 devices; two virtual clusters have half of it each, as racks and as nodes."""
    racks = devices // RACK
    quota = [{"cellType": "RACK", "cellNumber": racks // 4}, {"cellType": "RACK.NODE", "cellNumber": racks // 4 * 16}]
    return {
        "physicalCluster": {"cellTypes": TYPES, "physicalCells": [{"cellType": "RACK"}] * racks},
        "virtualClusters": {name: {"virtualCells": quota} for name in "AB"},
    }


def cluster(devices: int) -> Allocator:
    """All nodes are healthy."""
    allocator = Allocator.from_config(configuration(devices))
    for name in allocator.cluster.nodes:
        allocator.node_healthy(name)
    return allocator


def gang(number: int, *sizes: int, priority: int = 5) -> list[Pod]:
    """Pods of these sizes, of one virtual cluster or the other."""
    members = tuple(Member(sizes.count(size), size) for size in sorted(set(sizes)))
    spec = GangSpec(f"g{number}", members)
    uids = [f"g{number}-{i}" for i in range(len(sizes))]
    tenant = "AB"[number % 2]
    return [Pod(uid, uid, PodSpec(tenant, priority, size, spec)) for uid, size in zip(uids, sizes, strict=True)]


def place(allocator: AnyAllocator, pods: list[Pod]) -> list[BindInfo] | None:
    """Places and allocates a whole gang; none where there is no room."""
    infos = []
    for pod in pods:
        answer = allocator.schedule(pod)
        if not isinstance(answer, Bind):
            return None
        allocator.allocate(pod, answer.info)
        infos.append(answer.info)
    return infos


MIX = ((8,), (4,), (8, 8), (1, 1, 1, 1), (2, 2), (8,) * 8)
"""Pods of gangs, as in a cluster for deep learning."""
WHOLE = ((8,), (8, 8), (8,) * 8)
"""The same without small ones, which leave no whole node free in a cluster that is nearly full."""


class Running:
    """Gangs in a cluster, of which some part of the devices is kept in use; each virtual cluster has its half."""

    def __init__(
        self, allocator: AnyAllocator, devices: int, part: float, priority: int = 5, *, whole: bool = False
    ) -> None:
        self.allocator = allocator
        self.random = Random(0)
        self.mix = WHOLE if whole else MIX
        self.most = int(part * devices / 2)
        self.priority = priority
        self.gangs: dict[str, list[list[Pod]]] = {"A": [], "B": []}
        self.used = {"A": 0, "B": 0}
        self.gang_count = 0
        while any(n + 64 <= self.most for n in self.used.values()):
            self.add_some()
        for _ in range(32):
            self.add(self.new(8))

    def new(self, *sizes: int, priority: int | None = None) -> list[Pod]:
        """A gang without a place yet, of the one virtual cluster or the other in turns."""
        self.gang_count += 1
        return gang(self.gang_count, *sizes, priority=self.priority if priority is None else priority)

    def add(self, pods: list[Pod]) -> bool:
        """Places a gang, if there is room, and it does not make more devices busy than wanted."""
        tenant, size = _demand(pods)
        if self.used[tenant] + size > self.most or place(self.allocator, pods) is None:
            self.end(pods)
            return False
        self.keep(pods)
        return True

    def keep(self, pods: list[Pod]) -> None:
        """It has been placed."""
        tenant, size = _demand(pods)
        self.gangs[tenant].append(pods)
        self.used[tenant] += size

    def add_some(self) -> None:
        """A gang of the mix."""
        self.add(self.new(*self.random.choice(self.mix)))

    def end(self, pods: list[Pod]) -> None:
        """A gang is over, or was never placed."""
        for pod in pods:
            self.allocator.delete(pod)

    def make_room(self, tenant: str, devices: int) -> None:
        """Ends some gangs, until enough devices are free."""
        own = self.gangs[tenant]
        while self.used[tenant] + devices > self.most:
            at = self.random.randrange(len(own))
            own[at], own[-1] = own[-1], own[at]
            pods = own.pop()
            self.end(pods)
            self.used[tenant] -= _demand(pods)[1]


def _demand(pods: list[Pod]) -> tuple[str, int]:
    return pods[0].spec.virtual_cluster, sum(pod.spec.leaf_cells for pod in pods)


class Stopwatch:
    """Of each decision: how long it took, and how long the processor worked on it.

    On a computer that does other things as well, the two differ whenever something else has its turn; a wait for the
    disk is in the first alone.
    """

    def __init__(self) -> None:
        self.wall: list[float] = []
        self.cpu: list[float] = []
        self.so_far = (0.0, 0.0)
        self.refused = 0

    @contextmanager
    def running(self) -> Iterator[None]:
        """What is done meanwhile counts."""
        begun = perf_counter(), thread_time()
        yield
        wall, cpu = self.so_far
        self.so_far = wall + perf_counter() - begun[0], cpu + thread_time() - begun[1]

    def lap(self, decisions: int = 1, *, counts: bool = True) -> None:
        """Counts decisions; to have to wait is quick, and would make others look better."""
        self.refused += not counts
        if counts:
            self.wall.append(self.so_far[0] / decisions * 1000)
            self.cpu.append(self.so_far[1] / decisions * 1000)
        self.so_far = (0.0, 0.0)

    def figures(self) -> Figures:
        """Milliseconds."""
        milliseconds: Figures = {}
        for clock, times in (("", self.wall), ("cpu ", self.cpu)):
            milliseconds |= {
                f"{clock}median": round(median(times), 4),
                f"{clock}p99": round(quantiles(times, n=100)[98], 4),
            }
        return {**milliseconds, "decisions": len(self.wall), "refused": self.refused}


def measured(work: Callable[[Stopwatch], None], rounds: int = ROUNDS) -> Figures:
    """After a warm-up; the garbage collector does not look at the cluster again, as in the service."""
    for _ in range(50):
        work(Stopwatch())
    gc.collect()
    gc.freeze()
    watch = Stopwatch()
    while len(watch.wall) < rounds:
        work(watch)
    return watch.figures()


def decisions(devices: int, part: float, *sizes: int, whole: bool = False) -> Figures:
    """Gangs end, others come, of all kinds; those of these sizes that can be placed are timed."""
    running = Running(cluster(devices), devices, part, whole=whole)

    def work(watch: Stopwatch) -> None:
        running.add_some()
        pods = running.new(*sizes)
        running.make_room(*_demand(pods))
        with watch.running():
            infos = place(running.allocator, pods)
        watch.lap(counts=infos is not None)
        if infos is None:
            running.end(pods)
        else:
            running.keep(pods)

    return measured(work)


def preemptions(devices: int) -> Figures:
    """A full cluster of weak gangs; a stronger one displaces some of them. What is timed: all that it asks."""
    running = Running(cluster(devices), devices, 1.0, priority=1)
    by_uid = {pod.uid: pods for own in running.gangs.values() for pods in own for pod in pods}

    def work(watch: Stopwatch) -> None:
        strong = running.new(8, priority=7)
        with watch.running():
            answer = running.allocator.schedule(strong[0])
            answer = running.allocator.schedule(strong[0], phase=Phase.PREEMPTING)
        assert isinstance(answer, Preempt), answer
        victims = {pod.uid for pods in answer.victims.values() for pod in pods}
        displaced = list({id(by_uid[uid]): by_uid[uid] for uid in victims}.values())
        for pods in displaced:
            running.end(pods)
        with watch.running():
            infos = place(running.allocator, strong)
        watch.lap()
        assert infos is not None
        running.end(strong)
        for pods in displaced:
            assert place(running.allocator, pods) is not None

    return measured(work, 500)


def displacing(devices: int, *sizes: int) -> Figures:
    """A cluster full of opportunistic gangs, which come and go; a guaranteed one asks. What is timed: its answer.

    How many devices it displaces on average is counted, too.
    """
    allocator, random = cluster(devices), Random(0)
    running: list[list[Pod]] = []
    displaced: list[int] = []
    gang_count = 0

    def new(*pods: int, priority: int) -> list[Pod]:
        nonlocal gang_count
        gang_count += 1
        return gang(gang_count, *pods, priority=priority)

    def fill(tries: int) -> None:
        for _ in range(tries):
            pods = new(*random.choice(MIX), priority=-1)
            if place(allocator, pods) is None:
                for pod in pods:
                    allocator.delete(pod)
            else:
                running.append(pods)

    def work(watch: Stopwatch) -> None:
        strong = new(*sizes, priority=5)
        with watch.running():
            answer = allocator.schedule(strong[0])
        watch.lap()
        displaced.append(sum(pod.spec.leaf_cells for pod in answer.pods()) if isinstance(answer, Preempt) else 0)
        for pod in (*strong, *running.pop(random.randrange(len(running)))):
            allocator.delete(pod)
        fill(3)

    fill(devices // 6)
    return measured(work, 200) | {"devices displaced": round(sum(displaced) / len(displaced), 1)}


def journaled(devices: int, together: int) -> Figures:
    """The same as half full, with a journal that is synchronised; `together` gangs in one commit."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        config = read_configuration(configuration(devices))
        allocator = DurableAllocator(config, Journal(Path(folder) / "journal"))
        with allocator.cycle():
            for name in allocator.cluster.nodes:
                allocator.node_healthy(name)
            running = Running(allocator, devices, 0.5)

        def work(watch: Stopwatch) -> None:
            gangs = [running.new(8) for _ in range(together)]
            with allocator.cycle():
                for tenant in "AB":
                    running.make_room(tenant, 8 * sum(_demand(pods)[0] == tenant for pods in gangs))
            with watch.running(), allocator.cycle():
                done = [place(allocator, pods) for pods in gangs]
            watch.lap(together)
            assert all(done)
            for pods in gangs:
                running.keep(pods)

        figures = measured(work, 400)
        allocator.close()
        return figures


def recovery(gangs: int) -> Figures:
    """Recovery of gangs of eight devices, each on a node: from the journal, and from what bound pods carry. Seconds."""
    devices = -(-gangs * 8 // (4 * RACK)) * 4 * RACK
    config = read_configuration(configuration(devices))
    figures: Figures = {}

    @contextmanager
    def timed(what: str) -> Iterator[None]:
        gc.collect()
        begun = perf_counter(), thread_time()
        yield
        figures[what] = round(perf_counter() - begun[0], 3)
        figures[f"{what}, cpu"] = round(thread_time() - begun[1], 3)

    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        allocator = DurableAllocator(config, Journal(Path(folder) / "journal"))
        carried = []
        with allocator.cycle():
            for name in allocator.cluster.nodes:
                allocator.node_healthy(name)
            for number in range(gangs):
                (pod,) = gang(number, 8)
                infos = place(allocator, [pod])
                assert infos is not None
                carried.append((pod, write_bind_info(infos[0])[BIND_INFO]))
        allocator.close()
        health = dict.fromkeys(allocator.cluster.nodes, True)
        del allocator
        with timed("from the journal"):
            again = DurableAllocator(config, Journal(Path(folder) / "journal"))
        assert again.opened.pods == gangs
        again.close()
        del again
    with timed("from bound pods"), collector_paused():
        bound = [(pod, read_bind_info(text)) for pod, text in carried]
        result = Allocator(config).recover(bound, health)
    assert not any((result.demoted, result.missing, result.refused))
    return figures


def first_fit(devices: int, part: float) -> Figures:
    """The plain baseline, at the same work."""
    plain = baseline.FirstFit(devices // 8, 8)
    random = Random(0)
    placements: list[list[tuple[int, list[int]]]] = []
    while len(placements) * 8 < part * devices:
        placements.append(plain.place([8]))

    def work(watch: Stopwatch) -> None:
        plain.give(placements.pop(random.randrange(len(placements))))
        with watch.running():
            placement = plain.place([8])
        watch.lap()
        placements.append(placement)

    return measured(work)


def machines(life: Callable[[], object]) -> Figures:
    """The life cycles of a gang of eight devices alone: allocated, ended."""

    def work(watch: Stopwatch) -> None:
        with watch.running():
            life()
        watch.lap()

    return measured(work)


WORK: dict[str, Callable[[int], Figures]] = {
    "half full, 1 pod of 8": lambda n: decisions(n, 0.5, 8),
    "half full, 2 pods of 4": lambda n: decisions(n, 0.5, 4, 4),
    "half full, 8 pods of 1": lambda n: decisions(n, 0.5, *[1] * 8),
    "nearly full of whole nodes, 1 pod of 8": lambda n: decisions(n, 0.97, 8, whole=True),
    "nearly full, 8 pods of 1": lambda n: decisions(n, 0.97, *[1] * 8),
    "full, displacing weaker gangs": preemptions,
    "full of opportunistic gangs, 1 pod of 8": lambda n: displacing(n, 8),
    "full of opportunistic gangs, 8 pods of 8": lambda n: displacing(n, *[8] * 8),
    "first fit over all nodes, half full": lambda n: first_fit(n, 0.5),
    "first fit over all nodes, nearly full": lambda n: first_fit(n, 0.97),
    "journaled, a commit each": lambda n: journaled(n, 1),
    "journaled, 32 in a commit": lambda n: journaled(n, 32),
    "recovery": recovery,
    "machines, generated": lambda n: machines(baseline.generated_machines(8)),
    "machines, transitions": lambda n: machines(baseline.transitions_machines(8)),
}

if __name__ == "__main__":
    print(json.dumps(WORK[sys.argv[1]](int(sys.argv[2]))))
