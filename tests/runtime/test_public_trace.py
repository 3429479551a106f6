"""The simulator drives the allocator, first fit and HiveD over the same pressed slice of a public trace.

The figures of the complete trace: `benchmarks/simulator/public_trace.py`.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hived import HiveD, PanicError, needs_hived
from hived_scheduler import HivedScheduler
from simulating import Log

from runtime import Member
from runtime.config import read_configuration
from runtime.simulate.convert.alibaba import PODS
from runtime.simulate.engine import Clock, Rules, Simulation
from runtime.simulate.observe import Event, Kind
from runtime.simulate.outages import Outage
from runtime.simulate.scheduler import Placed
from runtime.simulate.workload import Request

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "benchmarks/simulator"))
import public_trace  # noqa: E402
import public_trace_results  # noqa: E402

FILES = ("openb_node_list_gpu_node.csv", "openb_pod_list_default.csv", "openb_pod_list_multigpu50.csv")
EVERY = 40
"""One node, and one pod, of so many."""

needs_trace = pytest.mark.skipif(
    not all((public_trace.TRACES / name).exists() for name in FILES),
    reason=f"THE TRACE IS NOT HERE: {public_trace.TRACES} has not the files of Alibaba's trace of 2023",
)


@pytest.fixture(scope="module")
def slices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of the trace, with as much of it as of the cluster."""
    folder = tmp_path_factory.mktemp("traces")
    for name in FILES:
        with (public_trace.TRACES / name).open(newline="") as file:
            header, *rows = csv.reader(file)
        with (folder / name).open("w", newline="") as file:
            csv.writer(file).writerows([header, *rows[::EVERY]])
    return folder


@needs_trace
@pytest.mark.parametrize("name", ["allocator", "first-fit", pytest.param("hived", marks=needs_hived)])
def test_a_slice_of_the_trace(name: str, slices: Path) -> None:
    """All that comes starts, and the cluster is as loaded as it was to be."""
    run = public_trace.replay(name, 0.8, slices)
    assert run["gangs"]["came"] > 100
    assert run["never_started"] == 0
    assert run["utilisation"] == pytest.approx(0.8, abs=0.05)
    assert run["delay"]["all"]["started"] == run["gangs"]["came"]
    assert run["delay"]["all"]["median"] <= run["delay"]["all"]["p95"] <= run["delay"]["all"]["p99"]
    heavy = public_trace.replay(name, 1.5, slices)
    assert heavy["delay"]["all"]["mean"] > run["delay"]["all"]["mean"]
    assert heavy["fragmentation"]["free"] < run["fragmentation"]["free"]


@needs_trace
@pytest.mark.parametrize("name", ["allocator", "first-fit", pytest.param("hived", marks=needs_hived)])
def test_pods_pile_up(name: str, slices: Path) -> None:
    """While there is room all that is asked for is lent; then no device is left, as most pods want one."""
    run = public_trace.fill(name, "openb_pod_list_multigpu50.csv", slices)
    assert all(0 <= lent <= asked for asked, lent in run["curve"])
    assert all(lent == asked for asked, lent in run["curve"] if asked < 0.6)
    assert run["curve"][-1][1] > 0.9


CLUSTER: dict[str, Any] = {
    "physicalCluster": {
        "cellTypes": {"N": {"childCellType": "G", "childCellNumber": 4, "isNodeLevel": True}},
        "physicalCells": [{"cellType": "N", "cellAddress": name} for name in ("n0", "n1")],
    },
    "virtualClusters": {"A": {"virtualCells": [{"cellType": "N", "cellNumber": 2}]}},
}


def gang(name: str, submitted: float, priority: int, *members: Member) -> Request:
    return Request(name, "A", submitted, 100.0, members, priority)


def log_of(requests: list[Request], outages: Sequence[Outage] = ()) -> list[Event]:
    """What happens when HiveD places gangs on two nodes."""
    hived, log = HiveD(), Log()
    scheduler = HivedScheduler(hived, CLUSTER)
    rules = Rules(checkpoint=0)
    Simulation(read_configuration(CLUSTER), scheduler, Clock(), requests, outages, rules).run([log])
    hived.close()
    return log.events


@needs_hived
def test_hived_preempts_in_the_simulator() -> None:
    """Gangs of several pods; one that is in the way leaves, and runs again."""
    log = log_of(
        [
            gang("weak", 0, -1, Member(2, 4)),
            gang("strong", 10, 0, Member(1, 4), Member(2, 2)),
            gang("later", 20, 0, Member(1, 1)),
        ]
    )
    assert [(e.time, e.gang) for e in log if e.kind is Kind.PREEMPTED] == [(40, "weak")]
    assert {e.gang: e.time for e in log if e.kind is Kind.STARTED} == {"strong": 40, "later": 140, "weak": 240}
    assert {e.gang: e.time for e in log if e.kind is Kind.FINISHED} == {"strong": 140, "later": 240, "weak": 300}


@needs_hived
def test_hived_knows_of_nodes_that_fail_in_the_simulator() -> None:
    """A gang on both nodes is lost with one, and waits until it is repaired."""
    log = log_of([gang("both", 0, 0, Member(2, 4))], [Outage("n1", 30, 70)])
    assert [(e.time, e.kind) for e in log if e.gang] == [
        (0, Kind.SUBMITTED),
        (0, Kind.STARTED),
        (30, Kind.LOST),
        (70, Kind.STARTED),
        (140, Kind.FINISHED),
    ]


@needs_hived
def test_hived_is_started_again_after_a_panic(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what its bound pods carry: their devices are not given to others."""
    hived = HiveD()
    scheduler = HivedScheduler(hived, CLUSTER)
    first = scheduler.ask(gang("first", 0, 0, Member(1, 4)))
    assert isinstance(first, Placed)

    def panic(*_: object) -> dict[str, Any]:
        raise PanicError("made up")

    with monkeypatch.context() as patched:
        patched.setattr(hived, "schedule", panic)
        scheduler.ask(gang("second", 0, 0, Member(1, 4)))
    assert scheduler.panics == 1
    second = scheduler.ask(gang("second", 0, 0, Member(1, 4)))
    assert isinstance(second, Placed)
    assert {first.pods[0][0], second.pods[0][0]} == {"n0", "n1"}
    hived.close()


def test_a_trace_that_is_made_up(tmp_path: Path) -> None:
    """The same where no trace is."""
    nodes = "".join(f"n{number},1,1,8,G2\n" for number in range(4))
    (tmp_path / FILES[0]).write_text(f"sn,cpu_milli,memory_mib,gpu,model\n{nodes}")
    rows = [",".join(PODS), "before,1,1,1,1000,,LS,Running,0,10,0"]
    for number in range(60):
        size, quality = ((8, "LS"), (1, "BE"), (2, "Burstable"), (1, "LS"))[number % 4]
        begin = public_trace.BEGIN + number * 60
        rows.append(f"p{number},1,1,{size},1000,,{quality},Running,{begin},{begin + 600 + number},{begin}")
    (tmp_path / FILES[1]).write_text("\n".join(rows))
    for name in ("allocator", "first-fit"):
        run = public_trace.replay(name, 0.5, tmp_path)
        assert (run["gangs"]["came"], run["never_started"]) == (59, 0)
        assert run["preempted"]["opportunistic"] == 0


def test_the_tables_are_those_of_the_results() -> None:
    page = public_trace_results.page(public_trace_results.recorded().values())
    assert public_trace_results.RESULTS.with_suffix(".md").read_text() == page
