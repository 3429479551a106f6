"""How long an operator's instruments take: /metrics, and the largest gangs that fit.

Usage: python benchmarks/allocator/instruments.py [DEVICES]. Prints milliseconds. Half of the promises are in use with a
guarantee, a part of the rest opportunistically, and gangs wait.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import work

from runtime.config import read_configuration
from runtime.durable import DurableAllocator
from runtime.journal import Journal
from runtime.room import fits, kinds, most, search
from runtime.service.lifecycle_reporter import Options
from runtime.service.locks import Locks
from runtime.service.metrics import Metrics
from runtime.service.objects import NodeObject
from runtime.service.scheduler import PodScheduler
from runtime.service.source import Change, MemorySource

WAITING = 1000
"""Gangs."""


def milliseconds(work: Callable[[], Any]) -> float:
    """The least of three."""
    times = []
    for _ in range(3):
        begun = perf_counter()
        work()
        times.append(perf_counter() - begun)
    return round(1000 * min(times), 1)


def busy(folder: Path, devices: int) -> PodScheduler:
    """A cluster in use."""
    allocator = DurableAllocator(read_configuration(work.configuration(devices)), Journal(folder / "journal"))
    scheduler = PodScheduler(allocator, Locks(), lambda _: None, lambda _: None, lifecycle=Options(on=True))
    nodes = [Change(NodeObject(name, healthy=True), deleted=False) for name in allocator.cluster.nodes]
    with allocator.cycle(sync=False):
        for name in allocator.cluster.nodes:
            allocator.node_healthy(name)
        work.Running(allocator, devices, 0.5)
        for number in range(devices // 40):
            work.place(allocator, work.gang(10**6 + number, *work.MIX[number % len(work.MIX)], priority=-1))
        for number in range(WAITING):
            allocator.submit(work.gang(10**7 + number, 8)[0])
        scheduler.recover(nodes, lists_all=False)
    return scheduler


def longest_search(scheduler: PodScheduler) -> dict[str, Any]:
    """For each size of pods of a virtual cluster: all trials, and the longest one."""
    cluster, figures = scheduler.allocator.cluster, {}
    for kind in kinds(cluster, "A"):
        times: list[float] = []
        trials = search(most(cluster, kind))
        try:
            pods = next(trials)
            while True:
                begun = perf_counter()
                fit = fits(cluster, kind, pods)
                times.append(perf_counter() - begun)
                pods = trials.send(fit)
        except StopIteration as end:
            total, longest = round(1000 * sum(times), 1), round(1000 * max(times, default=0), 1)
            figures[str(kind.size)] = {"pods": end.value[0], "trials": len(times), "all": total, "longest": longest}
    return figures


def main() -> None:
    """Prints JSON."""
    devices = int(sys.argv[1]) if len(sys.argv) > 1 else 65_536
    with tempfile.TemporaryDirectory() as folder:
        scheduler = busy(Path(folder), devices)
        metrics = Metrics()
        metrics.observe(scheduler, MemorySource(), Locks())
        gangs = len(scheduler.allocator.gangs)
        figures = {
            "devices": devices,
            "gangs": gangs,
            "pods": sum(1 for _ in scheduler.tracker.pods()),
            "metrics": milliseconds(metrics.text),
        }
        print(json.dumps({**figures, "fits": longest_search(scheduler)}, indent=1))
        scheduler.allocator.close()


main()
