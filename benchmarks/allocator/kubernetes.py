"""Behind a real kube-scheduler: time from creation to bound, and pods a second beside it without an extender.

    python benchmarks/allocator/kubernetes.py [--gangs 500] [--pods 8]

Starts the control plane of `tests/runtime/e2e` (see there) with so many fake nodes that all gangs fit, and runs, one
after the other: plain pods of the same kube-scheduler, for which it asks no extender; gangs of one pod; gangs of
several. Pods are created by four threads as fast as the API server takes them. Each phase is run once with pods created
while the kube-scheduler works, and the first two again with a backlog: pods are created while no kube-scheduler runs,
so that it alone limits the rate. Writes `benchmarks/results/kubernetes.json` and prints the same.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median
from typing import Any

import click

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "runtime" / "e2e")]

from behind import PODS, Behind  # noqa: E402
from control_plane import ControlPlane, documents, missing, until  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "kubernetes.json"
THREADS = 4
DEVICES = 8


class Watch:
    """When each pod was bound, by name, as the API server reports it."""

    def __init__(self, plane: ControlPlane) -> None:
        self.bound: dict[str, float] = {}
        self._plane = plane
        version = plane.ask("GET", f"{PODS}?limit=1")["metadata"]["resourceVersion"]
        threading.Thread(target=self._run, args=(version,), daemon=True).start()

    def _run(self, version: str) -> None:
        path = f"{PODS}?watch=true&timeoutSeconds=3600&resourceVersion={version}"
        with self._plane.api.stream("GET", path, timeout=None) as answer:
            for line in answer.iter_lines():
                pod = json.loads(line)["object"]
                if pod.get("spec", {}).get("nodeName"):
                    self.bound.setdefault(pod["metadata"]["name"], time.monotonic())


def configuration(nodes: int) -> dict[str, Any]:
    """One virtual cluster that is promised everything, in racks of eight nodes."""
    racks = nodes // 8
    return {
        "physicalCluster": {
            "cellTypes": {
                "NODE": {"childCellType": "GPU", "childCellNumber": DEVICES, "isNodeLevel": True},
                "RACK": {"childCellType": "NODE", "childCellNumber": 8},
            },
            "physicalCells": [
                {"cellType": "RACK", "cellChildren": [{"cellAddress": f"node-{8 * r + n}"} for n in range(1, 9)]}
                for r in range(racks)
            ],
        },
        "virtualClusters": {"all": {"virtualCells": [{"cellType": "RACK", "cellNumber": racks}]}},
    }


def plain(behind: Behind, name: str) -> list[str]:
    """A pod for which no extender is asked."""
    container = {"name": "worker", "image": "none"}
    spec = {"schedulerName": "gangs", "terminationGracePeriodSeconds": 0, "containers": [container]}
    behind.plane.ask("POST", PODS, {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    return [name]


def phase(behind: Behind, title: str, jobs: list[Callable[[], list[str]]], *, backlog: bool) -> dict[str, Any]:
    """Runs the jobs, each of which creates pods; waits until all are bound."""
    watch, begun = Watch(behind.plane), time.monotonic()
    created: dict[str, float] = {}

    def create(job: Callable[[], list[str]]) -> None:
        names = job()
        created.update(dict.fromkeys(names, time.monotonic()))

    if backlog:
        behind.plane.kill("kube-scheduler")
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(create, jobs))
    done_creating = time.monotonic()
    if backlog:
        behind.plane.revive("kube-scheduler")
    until(lambda: created.keys() <= watch.bound.keys(), f"{title}: all pods are bound", 900)
    times = sorted(watch.bound[name] for name in created)
    span = times[-1] - (times[0] if backlog else begun)
    waits = sorted(max(0.0, watch.bound[name] - created[name]) for name in created)
    result = {
        "phase": title + (", backlog" if backlog else ""),
        "pods": len(created),
        "seconds": round(span, 1),
        "pods_per_second": round(len(created) / span, 1),
        "seconds_of_creation": round(done_creating - begun, 1),
        "load": round(os.getloadavg()[0], 1),
    }
    if not backlog:
        percentile = waits[int(len(waits) * 0.99)]
        result |= {"bound_after_median": round(median(waits), 2), "bound_after_p99": round(percentile, 2)}
    print(json.dumps(result), flush=True)
    behind.plane.ask("DELETE", f"{PODS}?gracePeriodSeconds=0")
    until(lambda: not behind.plane.ask("GET", f"{PODS}?limit=1")["items"], "all pods are gone", 300)
    until(lambda: not behind.allocator.get("/v2/inspect/gangs/")["items"], "the allocator knows no gangs", 300)
    return result


def measure(behind: Behind, gangs: int, pods: int) -> list[dict[str, Any]]:
    """All phases."""
    single = min(1000, gangs * pods)

    def of(name: str, count: int, size: int) -> list[Callable[[], list[str]]]:
        return [lambda n=n: behind.gang(f"{name}{n}", "all", 5, (size, 1)) for n in range(count)]

    found = []
    for backlog in (False, True):
        without = [lambda n=n: plain(behind, f"plain-{n}") for n in range(single)]
        found.append(phase(behind, "no extender", without, backlog=backlog))
        found.append(phase(behind, "gangs of 1", of("one-", single, 1), backlog=backlog))
        behind.settled()
    found.append(phase(behind, f"{gangs} gangs of {pods}", of("many-", gangs, pods), backlog=False))
    behind.settled()
    return found


@click.command()
@click.option("--gangs", default=500, show_default=True)
@click.option("--pods", default=8, show_default=True, help="Of a gang, each with one device.")
def main(gangs: int, pods: int) -> None:
    """Measures, and writes the results."""
    if missing():
        raise click.ClickException(f"there is no control plane: {missing()}")
    nodes = -(-gangs * pods // (DEVICES * 8)) * 8 + 8
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="kubernetes-")))
    try:
        plane.start(nodes)
        for thing in documents("rbac.yaml", "priorities.yaml"):
            plane.apply(thing)
        behind = Behind(plane)
        behind.configure(configuration(nodes))
        behind.allocator.start()
        phases = measure(behind, gangs, pods)
        behind.allocator.end()
    finally:
        plane.stop()
    machine = {"processors": os.cpu_count(), "nodes": nodes}
    RESULTS.write_text(json.dumps({"machine": machine, "phases": phases}, indent=2) + "\n")


if __name__ == "__main__":
    main()
