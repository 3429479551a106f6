"""Limits of time and memory, and interruptions: each command has them or a reason, and none of them is a result."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner
from in_process import fsm
from tiers import today

from fsmdsl.cli import COMMANDS
from fsmdsl.cli.limits import UNLIMITED
from fsmdsl.cli.parser import cli, click_command
from tests.test_cli import DOOR

LIMITED = [name for name in COMMANDS if name not in UNLIMITED]
MAPPING = """\
spec = "door.fsm"
system = "One"
format = "text"
pattern = '(?P<who>\\w+) (?P<what>\\w+)'
[[line]]
when = { what = "push" }
of = "door"
instance = "{who}"
event = "push"
"""
ARGUMENTS: dict[str, tuple[str, ...]] = {
    "check": ("door.fsm",),
    "verify": ("door.fsm",),
    "simulate": ("door.fsm", "--system", "One"),
    "test": ("door.fsm",),
    "diff": ("door.fsm", "other.fsm"),
    "generate": ("door.fsm",),
    "export": ("door.fsm", "--to", "promela"),
    "draw": ("door.fsm", "--format", "dot"),
    "report": ("door.fsm",),
    "fmt": ("door.fsm",),
    "explain": ("log", "--mapping", "log.toml"),
    "list": ("door.fsm",),
    "import": ("light.mmd",),
    "drift": ("door.fsm", "light.mmd"),
}
WITH_JSON = ("check", "verify", "test", "diff", "generate", "report", "fmt", "explain", "list")
"""Commands that print JSON also of what came first."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "door.fsm").write_text(DOOR)
    (tmp_path / "other.fsm").write_text(DOOR.replace("pull", "tug"))
    (tmp_path / "light.mmd").write_text("stateDiagram-v2\n    [*] --> Open\n    Open --> Shut: push\n")
    (tmp_path / "log.toml").write_text(MAPPING)
    (tmp_path / "log").write_text("door push\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(folder: Path) -> set[str]:
    return {str(x.relative_to(folder)) for x in folder.rglob("*") if x.is_file()}


def test_every_command_has_limits_or_a_reason_to_have_none() -> None:
    for name in COMMANDS:
        options = {x.name for x in click_command(name).params if isinstance(x, click.Option)}
        limits = options & {"max_seconds", "max_memory"}
        assert limits == (set() if name in UNLIMITED else {"max_seconds", "max_memory"}), name
    assert set(UNLIMITED) < set(COMMANDS)
    assert all(UNLIMITED.values())
    assert list(ARGUMENTS) == LIMITED


@pytest.mark.parametrize("limit", [("--max-seconds", "0.0000001"), ("--max-memory", "0.000001")], ids=lambda x: x[0])
@pytest.mark.parametrize("name", today(LIMITED))
def test_a_limit_that_comes_first_is_no_result(name: str, limit: tuple[str, str], folder: Path) -> None:
    before = written(folder)
    done = fsm(name, *ARGUMENTS[name], *limit, cwd=folder)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "stopped a" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert written(folder) == before


@pytest.mark.parametrize("name", [x for x in WITH_JSON if x != "diff"])
def test_a_limit_that_comes_first_is_json_where_that_is_asked_for(name: str, folder: Path) -> None:
    done = fsm(name, *ARGUMENTS[name], "--max-seconds", "0.0000001", "--format", "json", cwd=folder)
    assert done.returncode == 3
    assert '"code": "FSM512"' in done.stdout
    assert done.stderr == ""


def for_ever(*_: object, **__: object) -> Any:
    while True:
        pass


WORK = {
    "generate": ("fsmdsl.classes.TARGETS", {"python": for_ever}),
    "draw": ("fsmdsl.cli.draw_command.detailed", for_ever),
    "export": ("fsmdsl.cli.export_command.TARGETS", {"promela": for_ever}),
    "list": ("fsmdsl.cli.list_command.model_or_exit", for_ever),
    "fmt": ("fsmdsl.cli.fmt_command.format_source", for_ever),
    "simulate": ("fsmdsl.cli.simulate_command.begin", for_ever),
    "diff": ("fsmdsl.cli.diff_command.compare_texts", for_ever),
    "report": ("fsmdsl.cli.report_command.assemble", for_ever),
    "import": ("fsmdsl.cli.import_command.spec_text", for_ever),
    "drift": ("fsmdsl.cli.drift_command.drift", for_ever),
    "check": ("fsmdsl.cli.check_command.checked", for_ever),
    "explain": ("fsmdsl.interop.logs.explanation.Explainer.explanation", for_ever),
}
"""For each command, a part of its work behind the reading that could take long."""


@pytest.mark.parametrize("name", today([*WORK]))
def test_a_limit_ends_work_that_is_under_way(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*WORK[name])
    before = written(folder)
    done = CliRunner().invoke(cli, [name, *ARGUMENTS[name], "--max-seconds", "0.5"])
    assert done.exit_code == 3, done.output
    assert "stopped after 0.5 seconds, before " in done.output
    assert written(folder) == before


def test_a_picture_of_a_part_of_the_states_is_not_drawn(folder: Path) -> None:
    (folder / "slow.fsm").write_text(SLOW)
    done = fsm("draw", "slow.fsm", "--overlay", "explored", "--format", "dot", "--max-seconds", "1.5", cwd=folder)
    assert done.returncode == 3
    assert "stopped after 1.5 seconds, before all diagrams were drawn, so nothing was written" in done.stdout
    assert not (folder / "diagrams").exists()


# Interruptions -------------------------------------------------------------------------------------------------------

SLOW = """\
module slow
machine Counter {
    n: 0..100000 = 0
    initial state Counting
    event up, down from environment
    up: Counting on up when n < 100000 do { n = n + 1 }
    down: Counting on down when n > 0 do { n = n - 1 }
}
""" + "".join(f"system S{x} {{ a: Counter  b: Counter  reachable full: a.n + b.n == 200000 }}\n" for x in range(4))
VIOLATED = SLOW.replace("reachable full", "invariant low: a.n < 2  reachable full")


def signalled(number: int, *arguments: str, cwd: Path, ready: Callable[[subprocess.Popen[str]], object]) -> Any:
    """The exit code of a command that gets a signal while it works, its output, and processes that it leaves behind."""
    command = [sys.executable, "-m", "fsmdsl", *arguments]
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        command, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    )
    try:
        ready(process)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out + err, left(process.pid)
    finally:
        process.kill()


def members(group: int) -> list[int]:
    """The processes of a session, without those that have ended."""
    group_members = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == group and fields[0] != "Z":
            group_members.append(int(stat.parent.name))
    return group_members


def left(group: int) -> list[int]:
    from time import monotonic, sleep

    end = monotonic() + 20
    while (group_members := members(group)) and monotonic() < end:
        sleep(0.05)
    return group_members


def waits(process: subprocess.Popen[str]) -> None:
    """Waits until a command has started and uses no processor: it waits for its input."""
    from time import sleep

    before, same = -1.0, 0
    while process.poll() is None and same < 6:
        now = spent(process.pid)
        same = same + 1 if now == before and now > 0.1 else 0
        before = now
        sleep(0.05)


def spent(pid: int) -> float:
    """Seconds of a processor that a process has used."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def busy(seconds: float, processes: int = 1) -> Callable[[subprocess.Popen[str]], None]:
    """Waits until the processes of a command have used so much time of a processor."""
    from time import sleep

    def wait(process: subprocess.Popen[str]) -> None:
        while process.poll() is None:
            used = [spent(pid) for pid in members(process.pid)]
            if len(used) >= processes and max(used) > seconds:
                return
            sleep(0.05)

    return wait


SLOW_COMMANDS = {
    "verify": (("verify", "violated.fsm", "--jobs", "1", "--all"), 1),
    "verify in processes": (("verify", "violated.fsm", "--jobs", "2", "--all"), 3),
    "report": (("report", "slow.fsm", "--jobs", "1"), 1),
    "report in processes": (("report", "slow.fsm", "--jobs", "2"), 3),
    "diff": (("diff", "slow.fsm", "other-slow.fsm", "--max-seconds", "100", "--max-states", "100000000"), 1),
    "draw": (("draw", "slow.fsm", "--overlay", "explored", "--format", "dot"), 1),
    "export": (("export", "slow.fsm", "--system", "S1", "--to", "graphml", "--max-states", "100000000"), 1),
}


@pytest.mark.full(reason="processes that get signals")
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, -signal.SIGTERM)])
@pytest.mark.parametrize("name", SLOW_COMMANDS)
def test_a_command_that_is_interrupted_says_so_by_its_code(name: str, number: int, code: int, tmp_path: Path) -> None:
    """A shell reports the signal 15 as 143. A violation that was found by then is printed, and does not make it 1."""
    (tmp_path / "slow.fsm").write_text(SLOW)
    (tmp_path / "violated.fsm").write_text(VIOLATED)
    (tmp_path / "other-slow.fsm").write_text(SLOW.replace("n < 100000 do", "n < 99999 + 1 do"))
    arguments, processes = SLOW_COMMANDS[name]
    returned, out, rest = signalled(number, *arguments, cwd=tmp_path, ready=busy(2.0, processes))
    assert (returned, rest) == (code, [])
    assert "Traceback" not in out


@pytest.mark.full(reason="processes that get signals")
@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("name", ["check", "verify", "test", "fmt", "list", "generate", "draw", "report", "import"])
def test_a_command_that_waits_for_its_input_is_interrupted(name: str, tmp_path: Path) -> None:
    more = ("--from", "mermaid") if name == "import" else ()

    returned, out, _ = signalled(signal.SIGINT, name, "-", *more, cwd=tmp_path, ready=waits)
    assert returned == 130
    assert "Traceback" not in out
