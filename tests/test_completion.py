"""Completion in a shell: in a real bash with a real Tab, and as the scripts of other shells ask for it."""

from __future__ import annotations

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from in_process import fsm
from test_cli import DOOR

from fsmdsl.cli import COMMANDS

BASH = shutil.which("bash")
PATIENCE = 60.0
"""Seconds for an answer."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Specs, and a folder with the command in it."""
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "door.fsm").write_text(DOOR)
    (tmp_path / "other.fsm").write_text("module other  machine Lamp { initial state On }  system Room { lamp: Lamp }")
    (tmp_path / "broken.fsm").write_text("machine {")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "fsm"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fsmdsl "$@"\n')
    command.chmod(0o755)
    return tmp_path


def environment(folder: Path) -> dict[str, str]:
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(Path(__file__).parent.parent), "TERM": "dumb"}


class Terminal:
    """An interactive bash, as a person has it."""

    def __init__(self, folder: Path) -> None:
        self.child, self.end = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            assert BASH is not None
            os.execve(BASH, ["bash", "--norc", "--noprofile", "-i"], environment(folder))
        self.shown = ""
        self.type("bind 'set bell-style none'; bind 'set enable-bracketed-paste off'; PS1='ready> '\r")
        self.wait("\nready> ")
        self.type('eval "$(fsm completion bash)"\r')
        self.wait("\nready> ")

    def type(self, keys: str) -> None:
        self.shown = ""
        os.write(self.end, keys.encode())

    def wait(self, text: str) -> None:
        """Read on until the text is there."""
        until = time.monotonic() + PATIENCE
        while text not in self.shown:
            assert time.monotonic() < until, f"no {text!r} in {self.shown!r}"
            if select.select([self.end], [], [], 0.2)[0]:
                self.shown += os.read(self.end, 65536).decode("utf-8", "replace").replace("\r", "")

    def close(self) -> None:
        os.write(self.end, b"\x15exit\r")
        os.waitpid(self.child, 0)
        os.close(self.end)


@pytest.mark.skipif(BASH is None, reason="SKIPPED: there is no bash to press Tab in")
def test_tab_in_bash(folder: Path) -> None:
    terminal = Terminal(folder)
    try:
        for typed, completed in [
            ("fsm veri\t", "fsm verify "),
            ("fsm check --no\t", "fsm check --notes "),
            ("fsm check spe\t", "fsm check specs/"),
            ("fsm check --format mark\t", "fsm check --format markdown "),
            ("fsm verify --system O\t", "fsm verify --system One "),
            ("fsm verify other.fsm --system R\t", "fsm verify other.fsm --system Room "),
            ("fsm draw --machine door.D\t", "fsm draw --machine door.Door "),
            ("fsm explain unreachable-s\t", "fsm explain unreachable-state "),
        ]:
            terminal.type(typed)
            terminal.wait(completed)
            terminal.type("\x15")
    finally:
        terminal.close()


def asked(folder: Path, *words: str, shell: str = "bash") -> list[str]:
    """What the script of a shell gets to know; the last word is being typed."""
    line = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1)}
    if shell == "fish":
        line = {"COMP_WORDS": " ".join(words), "COMP_CWORD": words[-1]}
    done = subprocess.run(
        [str(folder / "bin" / "fsm")],
        env={**environment(folder), **line, "_FSM_COMPLETE": f"{shell}_complete"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    return [re.sub(r"^\w+[,\n]", "", x) for x in done.stdout.splitlines() if x]


def test_all_commands(folder: Path) -> None:
    assert asked(folder, "fsm", "") == list(COMMANDS)


def test_broken_specs_say_nothing(folder: Path) -> None:
    assert asked(folder, "fsm", "verify", "broken.fsm", "--system", "") == []
    assert asked(folder, "fsm", "verify", "nowhere.fsm", "--system", "") == ["One"]


def test_names_with_their_module(folder: Path) -> None:
    assert asked(folder, "fsm", "verify", "specs", "other.fsm", "--system", "") == ["One", "Room"]
    assert asked(folder, "fsm", "verify", "specs", "other.fsm", "--system", "other.") == ["other.Room"]
    assert asked(folder, "fsm", "simulate", "--machine", "") == ["Door"]


def test_rules_and_revisions(folder: Path) -> None:
    assert asked(folder, "fsm", "explain", "FSM30") == [f"FSM30{n}" for n in range(1, 10)]
    subprocess.run(["git", "init", "-q", "-b", "trunk"], cwd=folder, check=True)
    who = ["-c", "user.name=Somebody", "-c", "user.email=s@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, "commit", "-q", "--allow-empty", "-m", "first"], cwd=folder, check=True)
    assert "trunk" in asked(folder, "fsm", "diff", "tr")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_has_its_script(folder: Path, shell: str) -> None:
    done = fsm("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"_FSM_COMPLETE={shell}_complete" in done.stdout
    assert any("verify" in x for x in asked(folder, "fsm", "veri", shell=shell))


def test_no_other_shell() -> None:
    assert fsm("completion", "tcsh").returncode == 2
