"""A complete public trace on the cluster that it comes from: the allocator beside first fit.

Usage: python benchmarks/simulator/public_trace.py [--loads 0.9 1.0 …] [--schedulers allocator …] [--plot].

The trace is Alibaba's of 2023 (`openb_node_list_gpu_node.csv`, `openb_pod_list_default.csv`,
`openb_pod_list_multigpu50.csv`), looked for in `$OPENB` and in `../shared/traces`. One engine drives both, with the
same queues, clock and rules. What was measured goes to benchmarks/results/public_trace.json, one line a run, where it
replaces what was there of the same load and scheduler, and as tables to public_trace.md beside it; `--plot` draws
docs/pictures/public-trace-*.svg. HiveD's rows were measured in the same way with its own code as a program, which is no
longer provided.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from math import inf
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

ROOT = Path(__file__).parent.parent.parent
sys.path[:0] = [str(ROOT), str(Path(__file__).parent), str(ROOT / "tests/runtime")]

from baseline import Counting  # noqa: E402
from public_trace_results import FILLED, FREE, record, recorded  # noqa: E402

from runtime import Allocator, Member  # noqa: E402
from runtime.config import read_configuration  # noqa: E402
from runtime.simulate.convert import prepared  # noqa: E402
from runtime.simulate.convert.alibaba import read as read_pods  # noqa: E402
from runtime.simulate.convert.nodes import read as read_nodes  # noqa: E402
from runtime.simulate.engine import Clock, Rules, Simulation  # noqa: E402
from runtime.simulate.figures import delays, quantile, rounded, summary, window  # noqa: E402
from runtime.simulate.job import Job  # noqa: E402
from runtime.simulate.quotas import capacity  # noqa: E402
from runtime.simulate.scheduler import PodByPod  # noqa: E402
from runtime.simulate.time_scaling import compress_arrivals, starting_at  # noqa: E402
from runtime.simulate.workload import Request  # noqa: E402

TRACES = Path(os.environ.get("OPENB", ROOT.parent / "shared/traces"))
SHARES = {"LS": 76, "Burstable": 20, "Guaranteed": 4, "BE": 0}
"""What each quality of service is promised: its part of the guaranteed work of the trace."""
BEGIN = 116 * 86400.0
"""99 % of the pods came in the month that begins here."""
LOADS = (0.9, 1.0, 1.2, 1.5)
SCHEDULERS = ("allocator", "first-fit")
"""Those that run here."""


class Measured:
    """One of the two, and the processor time that its decisions take."""

    def __init__(self, name: str, configuration: dict[str, Any]) -> None:
        self.clock = Clock()
        self.configuration = read_configuration(configuration)
        allocator = name == "allocator"
        self.inner: Any = (
            PodByPod(Allocator(self.configuration, self.clock)) if allocator else Counting(self.configuration)
        )
        self.seconds = 0.0
        self.isolated = self.inner.isolated
        self.face = self.inner.face
        for method in ("set_health", "claims", "hopeless", "instant"):
            setattr(self, method, getattr(self.inner, method))

    def ask(self, request: Request) -> Any:
        """Timed."""
        begun = process_time()
        try:
            return self.inner.ask(request)
        finally:
            self.seconds += process_time() - begun

    def end(self, request: Request, ending: Any) -> None:
        """Timed."""
        begun = process_time()
        self.inner.end(request, ending)
        self.seconds += process_time() - begun

    def simulated(self, requests: list[Request], rules: Rules, width: float | None = None) -> Simulation:
        """The run."""
        scheduler: Any = self  # `__init__` adds the methods of `inner`
        simulation = Simulation(self.configuration, scheduler, self.clock, requests, rules=rules, width=width)
        simulation.run()
        return simulation


def replay(name: str, load: float, traces: Path = TRACES) -> dict[str, Any]:
    """The trace at one load."""
    configuration = read_nodes(traces / "openb_node_list_gpu_node.csv", SHARES)
    conversion = read_pods(traces / "openb_pod_list_default.csv")
    requests = starting_at(prepared(conversion.requests, [], FREE, None), BEGIN)
    devices = capacity(read_configuration(configuration))
    scheduler = Measured(name, configuration)
    simulation = scheduler.simulated(compress_arrivals(requests, devices, load), Rules(), 300.0)
    return {"load": load, "scheduler": name, **figures(simulation), **_effort(scheduler, simulation)}


def figures(simulation: Simulation) -> dict[str, Any]:
    """What is compared. Delays are of gangs that came, not of those that were there at the beginning."""
    whole, ledger = summary(simulation), simulation.accounts.ledger
    came = [job for job in simulation.jobs if job.request.submitted]
    during = sum(end <= window(simulation) for end in ledger.ends)
    return {
        "gangs": {"there": len(simulation.jobs) - len(came), "came": len(came)},
        "hours": round(window(simulation) / 3600, 2),
        "utilisation": whole["submitting"]["utilisation"],
        "delay": {kind: _delay(jobs) for kind, jobs in _kinds(came).items()},
        "preempted": whole["preemptions"],
        "redone_device_hours": round(whole["wasted_device_seconds"] / 3600, 1),
        "never_started": whole["gangs"]["never_started"],
        "fragmentation": {key: whole["fragmentation"][key] for key in ("free", "stranded", "stranded_share")},
        "series": {
            "end": ledger.ends[:during],
            "free": ledger.sampled["free"][:during],
            "stranded": ledger.sampled[f"stranded {FREE}"][:during],
        },
    }


def _kinds(jobs: list[Job]) -> dict[str, list[Job]]:
    return {
        "all": jobs,
        "guaranteed": [job for job in jobs if job.request.guaranteed],
        "opportunistic": [job for job in jobs if not job.request.guaranteed],
        "of 8 devices": [job for job in jobs if job.request.devices == FREE],
    }


def _delay(jobs: list[Job]) -> dict[str, Any]:
    statistics = delays(jobs)
    statistics["p95"] = rounded(quantile(statistics["quantiles"], 0.95))
    statistics["quantiles"] = [rounded(round(value)) for value in statistics["quantiles"][::2]]
    return statistics


def _effort(scheduler: Measured, simulation: Simulation) -> dict[str, Any]:
    return {
        "asked": simulation.queries,
        "processor_seconds": round(scheduler.seconds, 1),
        "ms_an_ask": round(scheduler.seconds / simulation.queries * 1000, 2),
        "panics": getattr(scheduler.inner, "panics", 0),
    }


def fill(name: str, pods: str, traces: Path = TRACES) -> dict[str, Any]:
    """Pods of a list come one after the other, in an order drawn once, and none ends: what is lent, of all devices, by
    what was asked for. One virtual cluster has everything."""
    configuration = read_nodes(traces / "openb_node_list_gpu_node.csv", {"all": 1})
    devices = capacity(read_configuration(configuration))
    with (traces / pods).open(newline="", encoding="utf-8") as file:
        sizes = [int(row["num_gpu"]) for row in csv.DictReader(file) if int(row["num_gpu"])]
    Random(1).shuffle(sizes)
    requests, requested = [], 0
    for number, size in enumerate(sizes):
        if requested < FILLED * devices:
            requests.append(Request(f"pod-{number}", "all", float(number), inf, (Member(1, size),)))
            requested += size
    rules = Rules(backfill=len(requests), until=float(len(requests)))
    scheduler = Measured(name, configuration)
    simulation = scheduler.simulated(requests, rules)
    curve, requested, lent = [], 0, 0
    for number, job in enumerate(simulation.jobs, 1):
        requested += job.request.devices
        lent += job.request.devices * (job.first_started is not None)
        if number % 25 == 0 or number == len(requests):
            curve.append([round(requested / devices, 4), round(lent / devices, 4)])
    refused = [job.request.devices for job in simulation.jobs if job.first_started is None]
    return {
        "pods": pods,
        "scheduler": name,
        "curve": curve,
        "first_refused_at": next((at for at, lent in curve if lent < at), None),
        "refused": {str(size): refused.count(size) for size in sorted(set(refused))},
        **_effort(scheduler, simulation),
    }


def main() -> None:
    """Measure, write, draw."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--loads", type=float, nargs="*", default=LOADS)
    options.add_argument("--pods", nargs="*", default=("openb_pod_list_default.csv", "openb_pod_list_multigpu50.csv"))
    options.add_argument("--schedulers", nargs="*", choices=SCHEDULERS, default=SCHEDULERS)
    options.add_argument("--plot", action="store_true", help="plot the results after the runs")
    chosen = options.parse_args()
    if not TRACES.exists():
        sys.exit(f"THE TRACE IS NOT HERE: {TRACES} is missing")
    for name in chosen.schedulers:
        for load in chosen.loads:
            record(replay(name, load))
        for pods in chosen.pods:
            record(fill(name, pods))
    if chosen.plot:
        from public_trace_plots import draw

        draw(list(recorded().values()), ROOT / "docs/pictures")


if __name__ == "__main__":
    main()
