"""The README, followed literally in a fresh environment: from the wheel, in a virtual environment of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from markdown_blocks import blocks, commands
from test_tutorial import compare

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DEPENDENCIES = ("click", "jinja2", "markupsafe", "graphviz")


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder with a virtual environment in which the wheel is installed.

    What the wheel depends on is linked, not downloaded: nothing here needs a network.
    """
    folder = tmp_path_factory.mktemp("fresh")
    built = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder / "dist")],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    subprocess.run([sys.executable, "-m", "venv", ".venv"], cwd=folder, check=True)
    (site,) = (folder / ".venv").glob("lib/python3*/site-packages")
    for name in DEPENDENCIES:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (site / name).symlink_to(Path(spec.origin).parent)
    (wheel,) = (folder / "dist").glob("*.whl")
    pip = [".venv/bin/pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    done = subprocess.run(pip, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def run(bench: Path, command: str) -> subprocess.CompletedProcess[str]:
    """A command of the README, with no Python of ours in the environment."""
    environment = {"PATH": f"{bench / '.venv' / 'bin'}:/usr/bin:/bin", "HOME": str(bench)}
    return subprocess.run(command, shell=True, cwd=bench, env=environment, capture_output=True, text=True)


def test_the_first_model_finds_what_the_readme_shows(bench: Path) -> None:
    shown = 0
    for block in blocks(README):
        if block.language == "fsm":
            path = bench / block.words[0]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        for command, printed in commands(block) if block.language == "console" else ():
            done = run(bench, command)
            assert done.returncode in (0, 1), done.stderr
            compare(printed, done.stdout, f"README.md:{block.line}: {command}")
            shown += 1
    assert shown


def test_the_installation_runs(bench: Path) -> None:
    """The lines behind those that install, from an empty folder."""
    (block,) = [x for x in blocks(README) if x.language == "sh"]
    lines = block.text.splitlines()
    assert lines[:2] == ["python3 -m venv .venv", ".venv/bin/pip install '.[fast,svg]'"]
    for path in (bench / "specs").glob("*"):
        path.unlink()
    for line in lines[2:]:
        assert run(bench, line).returncode == 0


def test_every_command_of_the_table_is_one() -> None:
    listed = re.findall(r"^\| `fsm (\w+)`", README.read_text("utf-8"), re.MULTILINE)
    shown = subprocess.run([sys.executable, "-m", "fsmdsl", "--help"], cwd=ROOT, capture_output=True, text=True).stdout
    assert len(listed) >= 9
    assert all(re.search(rf"^  {name}\b", shown, re.MULTILINE) for name in listed)


def test_every_extra_that_is_named_is_declared() -> None:
    declared = (ROOT / "pyproject.toml").read_text("utf-8")
    (named,) = re.findall(r"^`fast` compiles.*?\n\n", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    extras = re.findall(r"`(\w+)`", named)
    assert {"fast", "svg", "lsp"} <= {*extras}
    assert all(re.search(rf"^{extra} = \[", declared, re.MULTILINE) for extra in extras)


def test_it_is_short() -> None:
    """Thirty seconds until the picture: what it is, a spec, what is found."""
    head = README.read_text("utf-8").partition("## Install")[0]
    assert len(head.splitlines()) < 60
