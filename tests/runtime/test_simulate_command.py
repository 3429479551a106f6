"""`python -m runtime simulate`, as a person uses it."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from runtime.simulate.result import GANG_COLUMNS

pytestmark = pytest.mark.full(reason="processes of the simulator")

ROOT = Path(__file__).parent.parent.parent
SMALL = ROOT / "runtime/samples/small.yaml"
TRACE = ROOT / "runtime/samples/small.csv"
LARGE = ROOT / "runtime/samples/cluster.yaml"


def simulate(*arguments: object, hash_seed: str = "0", **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "runtime", "simulate", *map(str, arguments)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed, **more}
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)


def test_a_trace_is_simulated_and_written_down(tmp_path: Path) -> None:
    done = simulate("--config", SMALL, "--workload", TRACE, "--check", "--out", tmp_path / "run", "--no-plots")
    assert done.returncode == 0, done.stderr
    for words in ("utilisation", "queueing delay", "research", "product", "of no use to gangs of", "preemptions"):
        assert words in done.stdout
    run = json.loads((tmp_path / "run/run.json").read_text())
    assert run["format"] == "gang-simulation"
    assert run["version"] == 1
    assert run["summary"]["gangs"]["all"] == run["workload"]["gangs"] == 120
    with (tmp_path / "run/gangs.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == GANG_COLUMNS
    assert len(rows) == 120
    used = sum(float(row["used"]) for row in rows)
    assert used == pytest.approx(run["summary"]["used_device_seconds"], rel=1e-6)
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"run.json", "gangs.csv"}


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    options = ("--config", SMALL, "--generate", "gangs=150 days=2 load=1.1 lazy=0.2", "--outages", "every=3d repair=2h")
    for name, seed, hash_seed in (("a", 5, "1"), ("b", 5, "2"), ("c", 6, "1")):
        plots = "--no-plots" if name == "c" else "--plots"
        done = simulate(*options, "--seed", seed, "--out", tmp_path / name, plots, hash_seed=hash_seed)
        assert done.returncode == 0, done.stderr
    written = {path.name for path in (tmp_path / "a").iterdir()}
    assert {"run.json", "gangs.csv", "utilisation.svg", "delay.png", "preemptions.svg", "fragmentation.png"} <= written
    for name in written:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    assert (tmp_path / "a/run.json").read_bytes() != (tmp_path / "c/run.json").read_bytes()


def test_a_made_up_trace_is_the_made_up_workload(tmp_path: Path) -> None:
    done = simulate("generate", "gangs=60 days=1", "--config", SMALL, "--out", tmp_path / "trace.csv")
    assert "wrote 60 gangs" in done.stdout
    simulate("--config", SMALL, "--workload", tmp_path / "trace.csv", "--out", tmp_path / "a", "--no-plots")
    simulate("--config", SMALL, "--generate", "gangs=60 days=1", "--out", tmp_path / "b", "--no-plots")
    assert (tmp_path / "a/gangs.csv").read_bytes() == (tmp_path / "b/gangs.csv").read_bytes()
    a, b = (json.loads((tmp_path / name / "run.json").read_text()) for name in "ab")
    assert a["workload"] == b["workload"]
    assert a["summary"] == b["summary"]


def test_the_journal_changes_nothing_but_the_time_it_takes(tmp_path: Path) -> None:
    options = ("--config", SMALL, "--generate", "gangs=40 days=1")
    simulate(*options, "--out", tmp_path / "a", "--no-plots")
    done = simulate(*options, "--out", tmp_path / "b", "--no-plots", "--journal", tmp_path / "journal")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a/gangs.csv").read_bytes() == (tmp_path / "b/gangs.csv").read_bytes()
    again = simulate(*options, "--journal", tmp_path / "journal")
    assert again.returncode == 2
    assert "already exists: a simulation begins with an empty cluster" in again.stderr


def test_runs_are_compared(tmp_path: Path) -> None:
    options = ("--config", SMALL, "--generate", "gangs=80 days=1 load=1.2")
    simulate(*options, "--out", tmp_path / "before", "--no-plots")
    done = simulate(*options, "--backfill", "0", "--compare", tmp_path / "before", "--out", tmp_path / "after")
    assert done.returncode == 0, done.stderr
    table = done.stdout.split("before", 1)[1]
    assert "after" in table.splitlines()[0]
    assert "queueing delay, p90" in table
    assert (tmp_path / "after/compare-delay.svg").exists()
    alone = simulate("compare", tmp_path / "before", tmp_path / "after/run.json")
    assert alone.stdout.splitlines()[0].split() == ["before", "after"]
    assert "note:" not in alone.stdout
    simulate("--config", SMALL, "--workload", TRACE, "--out", tmp_path / "other", "--no-plots")
    other = simulate("compare", tmp_path / "before", tmp_path / "other")
    assert "note: other had another workload than before" in other.stdout


def test_a_public_trace_is_converted_and_simulated(tmp_path: Path) -> None:
    jobs = []
    for n in range(12):
        devices = [{"ip": f"m{n}", "gpus": [f"gpu{g}" for g in range(2 ** (n % 4))]}]
        times = {"start_time": f"2017-10-07 0{n % 6}:12:09", "end_time": f"2017-10-07 1{n % 6}:13:23"}
        attempts = [{**times, "detail": devices}] if n else []
        job = {"status": "Pass", "vc": f"vc{n % 3}", "jobid": f"j{n}", "attempts": attempts, "user": "u"}
        jobs.append({**job, "submitted_time": f"2017-10-07 0{n % 6}:11:39"})
    (tmp_path / "log").write_text(json.dumps(jobs))
    out = tmp_path / "trace.csv"
    done = simulate("convert", "philly", tmp_path / "log", "--tenants", "research,product", "--node", 8, "--out", out)
    assert done.stdout == f"wrote 11 gangs to {out}\nleft out 1: no attempt with a begin and an end\n"
    done = simulate("--config", SMALL, "--workload", out, "--check")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("11 gangs on 64 leaf cells")
    assert "11 finished" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--workload", TRACE), "Missing option '--config'"),
        (("--config", SMALL), "Give either --workload or --generate"),
        (("--config", SMALL, "--workload", TRACE, "--generate", "gangs=1"), "Give either --workload or --generate"),
        (("--config", SMALL, "--workload", "none.csv"), "none.csv cannot be read: No such file"),
        (("--config", "none.yaml", "--generate", "gangs=1"), "none.yaml"),
        (("--config", SMALL, "--generate", "gangs=1", "--grace", "soon"), "'soon' is not a time, as in 45s"),
        (("--config", SMALL, "--generate", "gang=1"), "did you mean 'gangs'?"),
        (("--config", SMALL, "--generate", "gangs=1", "--outages", "none.csv"), "none.csv cannot be read"),
        (("--config", LARGE, "--workload", TRACE), "which is not configured"),
        (("compare", SMALL, SMALL), "is not JSON"),
        (("compare", "a"), "Comparing needs two runs or more"),
        (("convert", "philly", SMALL, "--out", "x.csv"), "is not JSON"),
    ],
)
def test_mistakes_are_explained(arguments: tuple[object, ...], words: str) -> None:
    done = simulate(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_hostile_names_appear_as_text(tmp_path: Path) -> None:
    """In a plot, `$` must not begin a formula, nor `_` a label that is left out; in an SVG, `<` no element."""
    tenants = ["<script>alert(1)</script>", "$\\frac{$", "_hidden", "a & b"]
    config = tmp_path / "hived.yaml"
    cells = [{"cellType": "NODE", "cellAddress": f"n{i}"} for i in range(4)]
    types = {"NODE": {"childCellType": "GPU", "childCellNumber": 4, "isNodeLevel": True}}
    clusters = {name: {"virtualCells": [{"cellType": "NODE", "cellNumber": 1}]} for name in tenants}
    config.write_text(
        json.dumps({"physicalCluster": {"cellTypes": types, "physicalCells": cells}, "virtualClusters": clusters})
    )
    done = simulate("--config", config, "--generate", "gangs=40 days=1", "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    drawing = (tmp_path / "run/utilisation.svg").read_text()
    assert "<script>" not in drawing
    for name in ("&lt;script&gt;alert(1)&lt;/script&gt;", "$\\frac{$", "_hidden", "a &amp; b"):
        assert name in drawing, name


def test_without_matplotlib_there_are_no_plots_but_a_word_about_it(tmp_path: Path) -> None:
    (tmp_path / "matplotlib.py").write_text("raise ModuleNotFoundError('none', name='matplotlib')")
    options = ("--config", SMALL, "--generate", "gangs=5 days=1", "--out", tmp_path / "run")
    done = simulate(*options, PYTHONPATH=str(tmp_path))
    assert done.returncode == 0
    assert "no plots: matplotlib is not installed; plotting needs `pip install matplotlib`" in done.stderr
    assert (tmp_path / "run/run.json").exists()


def test_it_can_be_watched() -> None:
    command = [sys.executable, "-m", "runtime", "simulate", "--config", SMALL, "--workload", TRACE]
    watched = [*map(str, command), "--view", "0", "--pace", "30d"]
    with subprocess.Popen(watched, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        address = process.stderr.readline().removeprefix("watch it at ").strip()
        with urlopen(address, timeout=60) as page:
            assert b"<title>" in page.read()
        told = [process.stderr.readline() for _ in range(2)]
        assert "placements" in told[0]
        assert told[1] == f"{address} stays until you press Ctrl-C\n"
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        assert printed.startswith("120 gangs")
