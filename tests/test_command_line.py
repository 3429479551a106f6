"""What the command promises to shells: exit codes, closed pipes, full disks, interrupts, colors."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from in_process import fsm
from interrupting import MOMENTS, interrupted

from fsmdsl.program import cache

ROOT = Path(__file__).parent.parent
FSM = [sys.executable, "-m", "fsmdsl"]
DOOR = """\
module door

machine Door {
    initial state Open
    state Shut
    event push, pull from environment
    Open -> Shut  on push
    Shut -> Open  on pull
}

system One {
    door: Door
    reachable shut: door in Shut
}
"""
SLOW = """\
import sys, time
from fsmdsl.check import __name__
import fsmdsl.check
check = fsmdsl.check.check
def slow(model):
    print("checking", flush=True)
    time.sleep(60)
fsmdsl.check.check = slow
from fsmdsl.cli.run import main
main(sys.argv[1:])
"""
"""The command, which takes long to prepare."""


def process(*arguments: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, **environment}
    return subprocess.run([*FSM, *arguments], cwd=cwd, env=env, capture_output=True, text=True, timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "door.fsm").write_text(DOOR)
    return tmp_path


@pytest.mark.parametrize(
    "command", ["check", "verify", "test", "simulate", "generate", "draw", "report", "fmt", "list", "serve", "diff"]
)
def test_a_path_that_does_not_exist_is_misuse(command: str, folder: Path) -> None:
    done = fsm(command, "specs", "nowhere.fsm", cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no file or folder `nowhere.fsm`" in done.stderr
    assert [x.name for x in folder.iterdir()] == ["specs"]


def test_what_cannot_be_done_is_never_said_to_be_violated(folder: Path) -> None:
    deep = "1" + " + (1" * 4000 + ")" * 4000
    (folder / "deep.fsm").write_text(DOOR.replace("door in Shut", f"{deep} == 1"))
    assert process("verify", "deep.fsm", cwd=folder).returncode != 0
    for arguments in (["verify", "--system"], ["verify", "--no-such"], ["no-such"], ["verify", "--max-states", "x"]):
        assert fsm(*arguments, cwd=folder).returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("command", ["verify", "check", "test"])
def test_an_interrupt_is_not_a_finding(command: str, folder: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", SLOW, command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "checking\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err.strip()) == (130, "", "fsm: interrupted")


@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
@pytest.mark.parametrize("count", MOMENTS)
def test_an_interrupt_while_the_command_is_loaded(count: int, folder: Path) -> None:
    """The signal ends the process, or the command says that it was interrupted."""
    done = interrupted("fsmdsl", count, "check", cwd=folder)
    assert done.returncode in (0, 130, -signal.SIGINT), done.stderr
    assert done.stderr.strip() in ("", "fsm: interrupted")
    assert count > 100 or done.returncode != 0, "nothing was interrupted"


@pytest.mark.skipif(sys.platform == "win32", reason="needs pipes")
def test_a_closed_pipe_is_quiet(folder: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    for arguments in (["list"], ["check"], ["verify", "--format", "json"], ["--help"]):
        done = subprocess.run([*FSM, *arguments], cwd=folder, stdout=writing, stderr=subprocess.PIPE, timeout=120)
        assert (done.returncode, done.stderr) == (141, b"")
    os.close(writing)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_output_is_said_to_be_one(unbuffered: str, folder: Path) -> None:
    for arguments in (["list"], ["check", "--format", "json"], ["--help"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run(
                [*FSM, *arguments],
                cwd=folder,
                env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=120,
            )
        assert (done.returncode, done.stderr) == (2, "fsm: cannot write the output: no space left on device\n")


def at_terminal(folder: Path, arguments: Sequence[str], **environment: str) -> str:
    """What a command prints to a terminal."""
    terminal, other = os.openpty()
    env = {name: x for name, x in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"} | environment
    subprocess.run([*FSM, *arguments], cwd=folder, env=env, stdin=other, stdout=other, timeout=120, check=True)
    os.close(other)
    output = os.read(terminal, 100_000).decode()
    os.close(terminal)
    return output


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs terminals")
def test_colors(folder: Path) -> None:
    def colored(*arguments: str, **environment: str) -> bool:
        return "\x1b[" in at_terminal(folder, arguments, **environment)

    assert colored("list")
    assert colored("list", "--color", "auto")
    assert not colored("list", NO_COLOR="1")
    assert not colored("list", "--color", "auto", NO_COLOR="1")
    assert not colored("list", TERM="dumb")
    assert not colored("--color", "never", "list")
    assert not colored("list", "--color", "never")
    assert colored("list", NO_COLOR="")
    forced = process("--color", "always", "list", cwd=folder, NO_COLOR="1")
    assert "\x1b[" in forced.stdout
    assert "\x1b[" not in fsm("list", cwd=folder).stdout
    assert "\x1b[" in fsm("list", "--color", "always", cwd=folder).stdout


def test_the_cache_is_shown_and_cleared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder / "cache"
    monkeypatch.setenv("FSMDSL_CACHE", str(place))
    cache.store("0" * 64 + ".obj", b"code")
    (place / ("1" * 64 + ".123.job")).write_text("an earlier version was killed")
    (place / "mine").write_text("mine")
    assert f"{place}: 1 object, 0.0 MiB" in fsm("cache", cwd=folder).stdout
    found = json.loads(fsm("cache", "--format", "json", cwd=folder).stdout)
    assert (found["objects"], found["bytes"], found["refused"]) == (1, 36, None)
    assert "2 files removed" in fsm("cache", "clear", cwd=folder).stdout
    assert [x.name for x in place.iterdir()] == ["mine"]
    place.chmod(0o777)
    assert "other users can write to it (mode 0777)" in fsm("cache", cwd=folder).stderr


# The cache -----------------------------------------------------------------------------------------------------------

NAME = "0" * 64 + ".obj"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FSMDSL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_code_comes_back_under_its_own_name_alone(place: Path) -> None:
    cache.store(NAME, b"code")
    assert cache.read(NAME) == b"code"
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    other = "1" * 64 + ".obj"
    (place / NAME).rename(place / other)
    assert cache.read(other) is None
    assert cache.read(NAME) is None


@pytest.mark.skipif(sys.platform == "win32", reason="needs modes")
def test_code_that_others_can_write_is_not_executed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.store(NAME, b"code")
    for path, mode in ((place, 0o777), (place, 0o720), (place / NAME, 0o666)):
        before = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode)
        assert cache.read(NAME) is None
        path.chmod(before)
    assert cache.read(NAME) == b"code"
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert cache.read(NAME) is None
    assert "belongs to another user" in str(cache.refusal())
    cache.store(NAME, b"other")
    monkeypatch.undo()


def test_without_a_home_there_is_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError

    for name in ("FSMDSL_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", nobody)
    cache.store(NAME, b"code")
    assert (cache.folder(), cache.read(NAME), cache.stored_objects(), cache.refusal()) == (None, None, [], None)


def test_what_is_old_or_too_much_goes(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MAX_BYTES", 150)
    names = [f"{n}" * 64 + ".obj" for n in range(4)]
    for name in names:
        (place.mkdir(mode=0o700, exist_ok=True), (place / name).write_bytes(b"x" * 50))
    for name, days in zip(names, (40, 3, 2, 1), strict=True):
        os.utime(place / name, (time.time() - days * 86400,) * 2)
    cache.store("a" * 64 + ".obj", b"y" * 18)
    assert sorted(x.path.name[0] for x in cache.stored_objects()) == ["2", "3", "a"]
    assert cache.read("3" * 64 + ".obj") is None, "it is not what was stored"
    assert cache.read("a" * 64 + ".obj") == b"y" * 18
