"""`--jobs`: several processes explore the systems of a folder, and say what one would have said."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from packed_search import SWITCH
from stepping import compiled

from fsmdsl.cli import processes
from fsmdsl.cli.parser import cli
from fsmdsl.runs.disagreement import DisagreementError
from fsmdsl.runs.model_pickle import ModelPickle
from fsmdsl.search import Exploration, explore
from fsmdsl.search.packed_search import PackedSearch

ROOT = Path(__file__).parent.parent
CONFINE = ROOT / "specs" / "confine"

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

COUNTER = """
machine Counter {
  n: 0..100000000
  initial state Counting
  event up from environment
  Counting on up when n < 100000000 do n = n + 1
}
"""


def folder(path: Path, *systems: str, machines: str = SWITCH) -> str:
    (path / "x.fsm").write_text(machines + "\n".join(systems))
    return str(path / "x.fsm")


def broken(name: str, most: int) -> str:
    return f"system {name} {{ s: Switch[{most}]  invariant few: (count x in s: x in On) < {most} }}"


def fsm(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "fsmdsl", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def untimed(text: str) -> str:
    return re.sub(r"\d+\.\d\d s|\"seconds\": [\d.]+", "", text)


def test_processes_tell_what_one_tells_in_its_order(tmp_path: Path) -> None:
    """The first system takes longest."""
    spec = folder(tmp_path, *(broken(f"S{n}", n) for n in (6, 2, 3, 4, 5)))
    for more in ((), ("--all", "--runs"), ("--format", "json"), ("--format", "sarif")):
        one, several = (fsm("verify", spec, "--jobs", jobs, *more) for jobs in ("1", "3"))
        assert untimed(one.stdout) == untimed(several.stdout)
        assert (one.returncode, several.returncode) == (1, 1), several.stderr


@pytest.mark.full(reason="seconds: a report of a folder, twice")
def test_a_report_is_the_same(tmp_path: Path) -> None:
    for jobs in ("1", "2"):
        assert fsm("report", str(CONFINE), "--out", str(tmp_path / jobs), "--jobs", jobs).returncode == 0
    one, several = ((tmp_path / jobs / "index.html").read_text() for jobs in ("1", "2"))
    footer = re.compile(r"<footer>.*</footer>|\d+\.\d+ s")
    assert footer.sub("", one) == footer.sub("", several)


def test_few_systems_are_explored_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processes, "_ProcessPool", None)
    spec = folder(tmp_path, *(broken(f"S{n}", n) for n in (1, 2, 3)))
    assert CliRunner().invoke(cli, ["verify", spec], obj=time.monotonic()).exit_code == 1


def serve(monkeypatch: pytest.MonkeyPatch, spec: str, run: Callable[[PackedSearch], None], *more: str) -> Result:
    """`verify` by two processes, in which a search runs so. The threads of a runner of tests do not count."""
    monkeypatch.setattr(PackedSearch, "run", run)
    monkeypatch.setattr(processes, "active_count", lambda: 1)
    return CliRunner().invoke(cli, ["verify", spec, "--jobs", "2", *more])


def test_a_disagreement_comes_through_in_the_place_of_its_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = PackedSearch.run

    def wrong(search: PackedSearch) -> None:
        if search.universe.system.name == "S2":
            raise DisagreementError("the search disagrees")
        run(search)

    spec = folder(tmp_path, *(broken(f"S{n}", n) for n in (3, 2, 1)))
    result = serve(monkeypatch, spec, wrong)
    assert isinstance(result.exception, DisagreementError)
    assert str(result.exception) == "the search disagrees"
    assert "x.S3: " in result.output
    assert "S1" not in result.output


def test_a_process_that_dies_is_a_mistake_of_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    here = os.getpid()

    def die(_: PackedSearch) -> None:
        assert os.getpid() != here
        os.kill(os.getpid(), signal.SIGKILL)

    spec = folder(tmp_path, *(broken(f"S{n}", n) for n in (3, 2)))
    result = serve(monkeypatch, spec, die)
    assert "x.S3` ended with exit code -9" in str(result.exception)


def test_who_needs_more_than_the_share_of_one_gets_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, here = PackedSearch.run, os.getpid()

    def short(search: PackedSearch) -> None:
        run(search)
        if os.getpid() != here and search.universe.system.name == "S3":
            search.stopped, search.budget.crowded = "stopped: no memory", True

    spec = folder(tmp_path, *(broken(f"S{n}", n) for n in (3, 2)))
    alone = CliRunner().invoke(cli, ["verify", spec])
    assert untimed(serve(monkeypatch, spec, short).output) == untimed(alone.output)


def test_what_is_sent_refers_to_the_model() -> None:
    model = compiled(SWITCH + broken("S", 3))
    x = explore(model, model.systems["test.S"])
    packed = ModelPickle([model]).dumps(x)
    there = ModelPickle([model]).loads(packed)
    assert isinstance(there, Exploration)
    assert there == x
    assert there.system is x.system
    assert [v.trace and v.trace.roster.system for v in there.verdicts] == [v.trace and x.system for v in x.verdicts]
    assert SWITCH.encode() not in packed


def test_what_is_sent_refers_to_the_model_that_it_is_about() -> None:
    """Several models of one text, as with `--each-amendment`."""
    models = [compiled(SWITCH + broken("S", n)) for n in (3, 4)]
    x = explore(models[1], models[1].systems["test.S"])
    pickled = ModelPickle(models)
    there = pickled.loads(pickled.dumps(x))
    assert isinstance(there, Exploration)
    assert there.system is models[1].systems["test.S"]
    assert [v.trace.roster.model is models[1] for v in there.verdicts if v.trace] == [True]


# Ctrl-C --------------------------------------------------------------------------------------------------------------


def children(pid: int) -> list[int]:
    return [int(x) for x in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def begun(*arguments: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A command, and its processes, once they are at work."""
    command = [sys.executable, "-m", "fsmdsl", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for _ in range(600):
        if process.poll() is None and len(found := children(process.pid)) == 2:
            time.sleep(1)
            return process, found
        time.sleep(0.1)
    raise AssertionError(process.communicate())


def gone(pid: int) -> bool:
    for _ in range(100):
        if not Path(f"/proc/{pid}").exists():
            return True
        time.sleep(0.1)
    return False


@pytest.fixture
def long(tmp_path: Path) -> str:
    return folder(tmp_path, *(f"system S{n} {{ c: Counter }}" for n in range(4)), machines=COUNTER)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_an_interruption_ends_all_with_what_was_found(long: str) -> None:
    process, found = begun("verify", long, "--jobs", "2", "--format", "json")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 130
    explored = json.loads(out)["systems"]
    assert [x["stopped"] for x in explored] == ["interrupted"] * 4
    assert explored[0]["states"] > 1
    assert all(map(gone, found))


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_nobody_goes_on_without_the_first(long: str) -> None:
    process, found = begun("verify", long, "--jobs", "2")
    process.kill()
    process.wait()
    assert all(map(gone, found))
