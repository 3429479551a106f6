"""A command never says more than it knows: work that was left out, done twice, or cut short is no success."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.test_cli import DOOR, fsm

MACHINE = """\
machine Lamp {
    initial state Off
    state On
    event flip from environment
    Off -> On, On -> Off on flip
}
"""


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    """A folder, with a folder inside it."""
    inner = tmp_path / "specs" / "inner"
    inner.mkdir(parents=True)
    (inner / "door.fsm").write_text(DOOR)
    (inner.parent / "lamp.fsm").write_text(f"module lamp\n{MACHINE}system One {{ lamp: Lamp }}\n")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    environment = {"HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", "PATH": os.environ["PATH"]}
    identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


# Files that are named twice ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "paths",
    [
        ("specs", "specs"),
        ("specs/inner", "specs"),
        ("specs", "specs/inner/door.fsm"),
        ("specs/inner/door.fsm", "specs/lamp.fsm", "specs/../specs/lamp.fsm"),
        ("specs", "link"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("command", "once"),
    [
        (("check",), "2 files, 2 machines, 4 transitions: clean"),
        (("test",), "1 scenario: all pass"),
        (("fmt", "--check"), "would format specs"),
        (("draw", "--format", "dot"), "2 diagrams"),
        (("generate",), "files in generated"),
        (("list",), "machine lamp.Lamp"),
        (("verify",), "holds     lamp.One"),
    ],
    ids=lambda x: x[0] if isinstance(x, tuple) else "",
)
def test_a_file_counts_once(command: tuple[str, ...], once: str, paths: tuple[str, ...], specs: Path) -> None:
    (specs / "link").symlink_to("specs")
    done = fsm(*command, *paths, cwd=specs)
    assert done.returncode == (1 if command[0] == "fmt" else 0), done.stderr
    printed = done.stdout + done.stderr
    assert printed.count(once) == (2 if command[0] == "fmt" else 1), printed


def test_standard_input_is_read_once() -> None:
    done = fsm("check", "-", "-", text=DOOR)
    assert (done.returncode, done.stdout) == (0, "1 file, 1 machine, 2 transitions: clean\n")


# Two versions that are one -------------------------------------------------------------------------------------------


def test_a_folder_alone_is_compared_with_the_last_commit(specs: Path) -> None:
    git(specs, "init", "--quiet")
    git(specs, "add", ".")
    git(specs, "commit", "--quiet", "-m", "first")
    same = fsm("diff", "specs", cwd=specs)
    assert (same.returncode, same.stdout) == (0, "same: HEAD:specs and specs say the same\n")
    (specs / "specs" / "lamp.fsm").write_text(
        "module lamp\n" + MACHINE.replace("On -> Off on flip", "On -> On on flip")
    )
    changed = fsm("diff", "specs", cwd=specs)
    assert changed.returncode == 1
    assert "machine lamp.Lamp" in changed.stdout


def test_a_folder_alone_outside_of_git_is_misuse(specs: Path) -> None:
    done = fsm("diff", "specs", cwd=specs)
    assert (done.returncode, done.stdout) == (2, "")
    assert "name both: `fsm diff OLD specs`" in done.stderr


@pytest.mark.parametrize("both", [("specs", "specs"), ("specs", "./specs"), ("-", "-")], ids=" ".join)
def test_files_are_not_compared_with_themselves(both: tuple[str, str], specs: Path) -> None:
    done = fsm("diff", *both, cwd=specs, text=DOOR)
    assert (done.returncode, done.stdout) == (2, "")
    assert "both versions are" in done.stderr


def test_a_report_lists_no_changes_since_itself(specs: Path) -> None:
    done = fsm("report", "specs", "--since", "specs", cwd=specs)
    assert done.returncode == 2
    assert "both versions are `specs` as it is on the disk" in done.stderr


COUNTER = """\
module counter
machine Counter {
    n: 0..40 = 0
    initial state Counting
    event up, down from environment
    up: Counting on up when n < 40 do { n = n + 1 }
    down: Counting on down when n > 0 do { n = n - 1 }
}
system One { counter: Counter  invariant low: counter.n <= 40 }
"""


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_a_comparison_cut_short_is_not_the_same(form: str, tmp_path: Path) -> None:
    (tmp_path / "old.fsm").write_text(COUNTER)
    head, up, down, tail = re.split("(    up: .*\n)(    down: .*\n)", COUNTER)
    (tmp_path / "new.fsm").write_text(head + down + up + tail)
    done = fsm("diff", "old.fsm", "new.fsm", "--max-states", "5", "--format", form, cwd=tmp_path)
    assert done.returncode == 3
    if form == "json":
        assert json.loads(done.stdout)["undecided"] == ["behaviour of counter.One"]
    else:
        assert "no difference found, not compared to the end: behaviour of counter.One" in done.stdout
        assert "the same" not in done.stdout
    assert fsm("diff", "old.fsm", "new.fsm", cwd=tmp_path).returncode == 0


# Diagnostics ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["verify", "test", "draw", "generate", "list"])
def test_an_unreachable_state_is_a_warning(command: str, tmp_path: Path) -> None:
    (tmp_path / "lamp.fsm").write_text(
        f"module lamp\n{MACHINE.replace('state On', 'state On  state Broken')}system One {{ lamp: Lamp }}\n"
    )
    checked = fsm("check", "lamp.fsm", cwd=tmp_path)
    assert checked.returncode == 1
    assert "warning[FSM201]: `Broken` can never be entered" in checked.stdout
    assert fsm(command, "lamp.fsm", cwd=tmp_path).returncode == 0
