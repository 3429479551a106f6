"""docs/simulator.md does what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
from click.testing import CliRunner
from simulating import TWO, request, run

from runtime.simulate.command import simulate
from runtime.simulate.generate import SETTINGS
from runtime.simulate.result import run_of, write_run
from runtime.simulate.trace import COLUMNS, read_trace

ROOT = Path(__file__).parent.parent.parent
MANUAL = (ROOT / "docs/simulator.md").read_text("utf-8")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", MANUAL, re.DOTALL | re.MULTILINE)


def section(title: str) -> str:
    return MANUAL.split(f"# {title}\n", 1)[1].split("\n#", 1)[0]


def test_the_code_runs() -> None:
    (code,) = blocks("python")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_trace_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    (text,) = blocks("csv")
    path.write_text(text)
    assert [(r.gang, r.sizes) for r in read_trace(path)] == [("train-1", (8, 8, 8, 8)), ("mixed-2", (4, 4, 1))]


def test_all_columns_and_settings_are_described() -> None:
    traces = re.findall(r"^\| (`.*?`) \|", section("Traces"), re.MULTILINE)
    assert re.findall(r"`(\w+)`", " ".join(traces)) == list(COLUMNS)
    described: dict[str, str] = {}
    for names, values in re.findall(r"^\| (`.*?`) \| (.*?) \|", section("Made-up workloads"), re.MULTILINE):
        listed = re.findall(r"`(\w+)`", names)
        values = [values] if len(listed) == 1 else values.split(", ")
        described.update(zip(listed, values, strict=True))
    assert described == SETTINGS


def options(command: click.Command) -> set[str]:
    """Of a command alone."""
    return {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}


def commands(command: click.Command) -> Iterator[click.Command]:
    """A command, and all below it."""
    yield command
    for below in command.commands.values() if isinstance(command, click.Group) else ():
        yield from commands(below)


def test_the_commands_are_there() -> None:
    for block in blocks("sh"):
        for line in block.replace("\\\n", " ").splitlines():
            words = line.split()
            if words[:4] == ["python", "-m", "runtime", "simulate"]:
                command: click.Command = simulate
                for word in words[4:]:
                    if isinstance(command, click.Group) and not word.startswith("--"):
                        command = command.commands.get(word, command)
                assert {word for word in words if word.startswith("--")} <= options(command), line
    for command in commands(simulate):
        assert CliRunner().invoke(command, ["--help"]).exit_code == 0
    assert set(re.findall(r"`(--[a-z-]+)", MANUAL)) <= {x for command in commands(simulate) for x in options(command)}


def test_what_is_written_is_described(tmp_path: Path) -> None:
    made, _ = run(TWO, [request("g"), request("h", tenant="B", priority=-1)])
    write_run(tmp_path, run_of(made, "run", {}), made.jobs)
    written = json.loads((tmp_path / "run.json").read_text())
    text = section("`run.json`")
    assert written["version"] == 1
    assert "`version` is 1" in text
    for part in ("settings", "workload", "summary", "series"):
        assert f"| `{part}` |" in text
    for key in written["series"]:
        assert key in text
    for key in written["summary"]["delay"]:
        assert f"`{key}`" in text
