"""How long a month of gangs takes: 10,240 devices, 100,000 gangs, failing nodes; by the allocator, and by counting.

Usage: python benchmarks/simulator/run.py [--gangs N]. Writes benchmarks/results/simulator.json, and exits with 1 if a
promise is not kept. Both are driven by the same engine on the same workload, one after the other.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import sys
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from baseline import Counting  # noqa: E402

from runtime import Allocator  # noqa: E402
from runtime.config import read_configuration  # noqa: E402
from runtime.simulate.engine import Clock, Simulation  # noqa: E402
from runtime.simulate.figures import summary  # noqa: E402
from runtime.simulate.generate import generate, read_recipe  # noqa: E402
from runtime.simulate.outages import Outage, make_outages  # noqa: E402
from runtime.simulate.rooms import Rooms  # noqa: E402
from runtime.simulate.scheduler import Ending, GangScheduler, Outcome, PodByPod  # noqa: E402
from runtime.simulate.workload import Request  # noqa: E402

RESULTS = ROOT / "benchmarks/results/simulator.json"
PROMISE = 180.0
"""Seconds of a processor for 100,000 gangs; on a machine that does nothing else, these are seconds."""
NODES = {"V100": 512, "A100": 512, "H100": 256}
SHARES = {"research": 8, "vision": 4, "speech": 2, "platform": 2}
RACK = 16


def cluster() -> dict[str, object]:
    """1,280 nodes of 8 devices in three chains of racks, all of it promised to four virtual clusters."""
    types: dict[str, object] = {}
    cells: list[object] = []
    for kind, nodes in NODES.items():
        types[f"{kind}-SWITCH"] = {"childCellType": kind, "childCellNumber": 4}
        types[f"{kind}-NODE"] = {"childCellType": f"{kind}-SWITCH", "childCellNumber": 2, "isNodeLevel": True}
        types[f"{kind}-RACK"] = {"childCellType": f"{kind}-NODE", "childCellNumber": RACK}
        for rack in range(nodes // RACK):
            names = [{"cellAddress": f"{kind.lower()}-{rack}-{node}"} for node in range(RACK)]
            cells.append({"cellType": f"{kind}-RACK", "cellChildren": names})
    clusters = {
        name: {
            "virtualCells": [
                {"cellType": f"{kind}-RACK.{kind}-NODE", "cellNumber": nodes * share // 16}
                for kind, nodes in NODES.items()
            ]
        }
        for name, share in SHARES.items()
    }
    return {"physicalCluster": {"cellTypes": types, "physicalCells": cells}, "virtualClusters": clusters}


class Timed:
    """A scheduler, and how long it takes."""

    def __init__(self, inner: GangScheduler) -> None:
        self.inner = inner
        self.seconds = 0.0
        self.isolated = inner.isolated
        for name in ("set_health", "claims", "hopeless", "instant"):
            setattr(self, name, getattr(inner, name))

    @property
    def face(self) -> Any:
        """That of the scheduler."""
        return self.inner.face

    def ask(self, request: Request) -> Outcome:
        """Timed."""
        begun = perf_counter()
        try:
            return self.inner.ask(request)
        finally:
            self.seconds += perf_counter() - begun

    def end(self, request: Request, ending: Ending) -> None:
        """Timed."""
        begun = perf_counter()
        self.inner.end(request, ending)
        self.seconds += perf_counter() - begun


def measured(name: str, requests: list[Request], outages: list[Outage]) -> dict[str, Any]:
    """One scheduler on the workload."""
    configuration, clock = read_configuration(cluster()), Clock()
    inner: Any = Counting(configuration) if name == "counting" else PodByPod(Allocator(configuration, clock))
    scheduler: Any = Timed(inner)
    simulation = Simulation(configuration, scheduler, clock, requests, outages)
    begun, used = perf_counter(), process_time()
    simulation.run()
    wall, processor = perf_counter() - begun, process_time() - used
    figures = summary(simulation)
    runs = sum(job.runs for job in simulation.jobs)
    return {
        "seconds": round(wall, 1),
        "processor_seconds": round(processor, 1),
        "share_of_scheduler": round(scheduler.seconds / wall, 3),
        "placements": runs,
        "asked": simulation.queries,
        "ms_a_gang": round(processor / len(requests) * 1000, 3),
        "utilisation_while_gangs_came": figures["submitting"]["utilisation"],
        "delay_mean": figures["delay"]["mean"],
        "delay_p90": figures["delay"]["p90"],
        "preempted": figures["preemptions"]["guaranteed"] + figures["preemptions"]["opportunistic"],
        "stranded_share": figures["fragmentation"]["stranded_share"],
    }


def main() -> int:
    """Measure, write, judge."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--gangs", type=int, default=100_000)
    gangs = options.parse_args().gangs
    days = 30 * gangs / 100_000
    settings = f"gangs={gangs} days={days:g} load=0.9"
    configuration = read_configuration(cluster())
    begun = perf_counter()
    requests = generate(read_recipe(settings), configuration, seed=1)
    took = perf_counter() - begun
    outages = make_outages("every=60d repair=4h", Rooms(configuration).nodes, days * 86400, seed=1)
    figures = {name: measured(name, requests, outages) for name in ("allocator", "counting")}
    ratio = figures["allocator"]["processor_seconds"] / max(figures["counting"]["processor_seconds"], 0.1)
    report = {
        "machine": {
            "python": platform.python_version(),
            "system": platform.platform(),
            "cores": os.cpu_count(),
            "load_average": [round(x, 1) for x in os.getloadavg()],
        },
        "workload": {"settings": settings, "outages": len(outages), "seconds_to_make": round(took, 1)},
        "figures": figures,
        "times counting": round(ratio, 2),
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }
    print(json.dumps(report, indent=2))
    if gangs == 100_000:
        RESULTS.write_text(json.dumps(report, indent=2) + "\n")
    is_kept = figures["allocator"]["processor_seconds"] <= PROMISE * gangs / 100_000
    if not is_kept:
        print(f"not kept: {PROMISE:g} s for 100,000 gangs")
    return 0 if is_kept else 1


if __name__ == "__main__":
    sys.exit(main())
