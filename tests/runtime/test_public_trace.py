"""The simulator drives the allocator and first fit over the same pressed slice of a public trace.

The figures of the complete trace: `benchmarks/simulator/public_trace.py`.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from runtime.simulate.convert.alibaba import PODS

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
@pytest.mark.parametrize("name", public_trace.SCHEDULERS)
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
@pytest.mark.parametrize("name", public_trace.SCHEDULERS)
def test_pods_pile_up(name: str, slices: Path) -> None:
    """While there is room all that is asked for is lent; then no device is left, as most pods want one."""
    run = public_trace.fill(name, "openb_pod_list_multigpu50.csv", slices)
    assert all(0 <= lent <= asked for asked, lent in run["curve"])
    assert all(lent == asked for asked, lent in run["curve"] if asked < 0.6)
    assert run["curve"][-1][1] > 0.9


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
