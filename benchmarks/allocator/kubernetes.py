"""Behind a real kube-scheduler: time from creation to bound, and pods a second beside it without an extender.

    python benchmarks/allocator/kubernetes.py [--gangs 500] [--pods 8]

Starts the control plane of `tests/runtime/e2e` (see there) with enough fake nodes for all gangs, and runs, one
after the other: pods of the same kube-scheduler that differ from those of gangs in that it asks no extender for them;
gangs of one pod; gangs of several. Pods are created by four threads as fast as the API server takes them. Each phase is
run once with pods created while the kube-scheduler works, and the first two again with a backlog: pods are created
while no kube-scheduler runs, so that it alone limits the rate.

All of it is run twice: with the limit that a kube-scheduler has for its own requests as it is shipped and deployed (50
a second), and with one that is out of reach (400), where the processors limit all. What an extender binds does not
count for that limit. Writes `benchmarks/results/kubernetes.json` and prints the same.
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
from contextlib import suppress
from pathlib import Path
from statistics import median
from typing import Any

import click
import httpx

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
        """Until the API server ends."""
        path = f"{PODS}?watch=true&timeoutSeconds=3600&resourceVersion={version}"
        with suppress(httpx.HTTPError), self._plane.api.stream("GET", path, timeout=None) as answer:
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
    """A pod like that of a gang of one, for which no extender is asked."""
    group = {"name": f"default/{name}", "members": [{"podNumber": 1, "leafCellNumber": 1}]}
    spec = {"virtualCluster": "all", "priority": 5, "leafCellNumber": 1, "affinityGroup": group}
    behind.pod(name, spec, "gangs-normal", containers=[{"name": "worker", "image": "none"}])
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
    until(lambda: _cleared(behind), "all pods are gone", 300)
    until(lambda: not behind.allocator.get("/v2/inspect/gangs/")["items"], "the allocator knows no gangs", 300)
    return result


def _cleared(behind: Behind) -> bool:
    """Deletes all pods. On a busy computer an API server gives up in the middle, and is asked again."""
    behind.plane.ask("DELETE", f"{PODS}?gracePeriodSeconds=0", expect=(200, 500, 504))
    return not behind.plane.ask("GET", f"{PODS}?limit=1")["items"]


def measure(behind: Behind, gangs: int, pods: int) -> list[dict[str, Any]]:
    """All phases."""
    single = min(1000, gangs * pods)

    def of(name: str, count: int, size: int) -> list[Callable[[], list[str]]]:
        return [lambda n=n: behind.gang(f"{name}{n}", "all", 5, (size, 1)) for n in range(count)]

    phases = []
    for backlog in (False, True):
        without = [lambda n=n: plain(behind, f"plain-{n}") for n in range(single)]
        phases.append(phase(behind, "no extender", without, backlog=backlog))
        phases.append(phase(behind, "gangs of 1", of("one-", single, 1), backlog=backlog))
        behind.settled()
        phases[-1]["beside_no_extender"] = round(phases[-1]["pods_per_second"] / phases[-2]["pods_per_second"], 2)
    phases.append(phase(behind, f"{gangs} gangs of {pods}", of("many-", gangs, pods), backlog=False))
    behind.settled()
    return phases


def run(gangs: int, pods: int, requests: int | None) -> list[dict[str, Any]]:
    """All phases on a control plane of their own, with a rate of requests of the kube-scheduler."""
    plane = ControlPlane(Path(tempfile.mkdtemp(prefix="kubernetes-")), requests=requests)
    nodes = _nodes(gangs, pods)
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
    return phases


def _nodes(gangs: int, pods: int) -> int:
    return -(-gangs * pods // (DEVICES * 8)) * 8 + 8


@click.command()
@click.option("--gangs", default=500, show_default=True)
@click.option("--pods", default=8, show_default=True, help="Pods per gang, each with one device.")
def main(gangs: int, pods: int) -> None:
    """Measures, and writes the results."""
    if missing():
        raise click.ClickException(f"there is no control plane: {missing()}")
    results: dict[str, Any] = {"machine": {"processors": os.cpu_count(), "nodes": _nodes(gangs, pods)}}
    for title, requests in (("kube-scheduler as shipped", None), ("400 requests a second", 400)):
        results[title] = run(gangs, pods, requests)
    RESULTS.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
