"""`fsm explain --follow`: logs that grow, are moved away, or come through a pipe; and the metrics of an explanation."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_explain import GANG, TOML, log

from fsmdsl.cli.parser import cli
from fsmdsl.interop.logs.lines import lines
from fsmdsl.text.files.tail import Tail

pytest.importorskip("prometheus_client", reason="NOT TESTED: metrics need prometheus_client")
PATIENCE = 60.0
"""Seconds, after which a process that should have done something is given up."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gang.fsm").write_text(GANG)
    (tmp_path / "gang.toml").write_text(TOML)
    return tmp_path


class Followed:
    """`fsm explain --follow`, as a process."""

    def __init__(self, folder: Path, what: str, *options: str) -> None:
        program = [sys.executable, "-m", "fsmdsl", "explain", what, "--mapping", "gang.toml", "--follow", *options]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(program, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0)
        self.metrics = folder / "fsm.prom"

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def figure(self, name: str) -> float:
        """A metric of the file, without its labels that all have."""
        text = self.metrics.read_text() if self.metrics.exists() else ""
        return figure(text, name)

    def end(self, number: int | None = signal.SIGINT) -> tuple[int, str, str]:
        if number is not None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out.decode(), err.decode()


def figure(text: str, name: str) -> float:
    """A metric of a system that is known; -1: there is none."""
    text = re.sub(r',?system="gang.Two",?', "", text).replace("{}", "")
    found = re.search(rf"^{re.escape(name)} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else -1.0


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.05)


@pytest.fixture
def processes() -> Iterator[list[Followed]]:
    started: list[Followed] = []
    yield started
    for x in started:
        x.process.kill()
        x.process.communicate()


def test_a_log_is_followed_as_it_grows_and_is_moved_away(folder: Path, processes: list[Followed]) -> None:
    path = folder / "run.log"
    x = Followed(folder, "run.log", "--metrics", "fsm.prom")
    processes.append(x)
    matched = 'fsm_explain_lines_total{kind="matched"}'
    path.write_bytes(log("a grow", "a nap", "a grow") + b'{"id": "a", ')
    until(lambda: x.figure(matched) == 2)
    with path.open("ab") as file:
        file.write(b'"msg": "finish"}\n')
    until(lambda: x.figure(matched) == 3)
    path.rename(folder / "run.log.1")
    path.write_bytes(log("b grow"))
    until(lambda: x.figure(matched) == 4)
    assert x.figure('fsm_explain_lines_total{kind="skipped"}') == 1
    assert x.figure('fsm_explain_rows_total{arrow="Queued → Half",machine="Gang",row="grow"}') == 2
    assert (x.figure("fsm_explain_last_line"), x.figure("fsm_explain_explained")) == (5, 1)
    code, out, _ = x.end()
    assert (code, out.splitlines()[0]) == (0, "explained  gang.Two: 4 of 5 lines; 4 steps")


def test_it_ends_with_the_first_line_that_nothing_explains(folder: Path, processes: list[Followed]) -> None:
    x = Followed(folder, "-", "--metrics", "fsm.prom")
    processes.append(x)
    x.write(log("a grow", "a finish", "a grow"))
    code, out, _ = x.end(None)
    assert (code, out.splitlines()[0]) == (1, "not explained  gang.Two: 2 of 2 lines; 1 step")
    assert x.figure("fsm_explain_explained") == 0


def test_metrics_are_served_and_sigterm_ends_it_too(folder: Path, processes: list[Followed]) -> None:
    x = Followed(folder, "-", "--metrics-port", "0")
    processes.append(x)
    assert x.process.stderr is not None
    address = x.process.stderr.readline().decode().split()[-1]
    assert address.startswith("http://127.0.0.1:")
    x.write(log("a grow", "a grow"))

    def steps() -> float:
        with urllib.request.urlopen(address, timeout=PATIENCE) as answer:
            return figure(answer.read().decode(), 'fsm_explain_steps_total{kind="logged"}')

    until(lambda: steps() == 2)
    code, out, _ = x.end(signal.SIGTERM)
    assert (code, out.splitlines()[0]) == (0, "explained  gang.Two: 2 of 2 lines; 2 steps")


def test_a_file_that_is_cut_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "run.log"
    path.write_bytes(b"one\ntwo\nthr")
    stages: list[Callable[[], object]] = [
        lambda: path.write_bytes(b"four\n"),
        lambda: path.rename(tmp_path / "old"),
        lambda: path.write_bytes(b"five\nsix"),
        lambda: tail.stop(),
    ]
    reads = 0

    def tick() -> None:
        nonlocal reads
        reads += 1
        if reads % 4 == 0 and stages:
            stages.pop(0)()

    tail = Tail(path, tick)
    assert [text for _, text, _ in lines(tail, growing=True)] == ["one", "two", "thr", "four", "five"]
    tail.close()


def test_metrics_of_a_log_that_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "run.log").write_bytes(log("a grow", "a grow"))
    done = CliRunner().invoke(cli, ["explain", "run.log", "--mapping", "gang.toml", "--metrics", "fsm.prom"])
    assert done.exit_code == 0
    assert 'fsm_explain_worlds{system="gang.Two"} 2.0' in (folder / "fsm.prom").read_text()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--follow", "--show"], "`--show` cannot be combined with `--follow`"),
        (["--metrics-port", "0"], "requires `--follow`"),
        (["--metrics", "run.log/fsm.prom"], "cannot be written"),
    ],
)
def test_misuse(options: list[str], told: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    (folder / "run.log").write_bytes(log("a grow"))
    done = CliRunner().invoke(cli, ["explain", "run.log", "--mapping", "gang.toml", *options])
    assert (done.exit_code, told in done.output) == (2, True), done.output


def test_a_port_that_is_taken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        options = ["--mapping", "gang.toml", "--follow", "--metrics-port", port]
        done = CliRunner().invoke(cli, ["explain", "run.log", *options])
    assert (done.exit_code, f"port {port} cannot be used" in done.output) == (2, True), done.output
