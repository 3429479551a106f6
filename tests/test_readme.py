"""README and tutorial, followed literally in a fresh environment, in which the wheel is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from first_steps import follow
from markdown_blocks import blocks, commands

pytestmark = pytest.mark.full(reason="processes of the README's commands")

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
DEPENDENCIES = (
    *("click", "jinja2", "markupsafe", "graphviz", "pygraphviz"),
    *("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "pygments"),
)
"""What the wheel and its extra `svg` bring along, and pytest."""


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
        origin = Path(spec.origin)
        package = origin.parent if origin.name == "__init__.py" else origin
        for path in (package, package.with_name(f"{name}.libs")):
            if path.exists():
                (site / path.name).symlink_to(path)
    (wheel,) = (folder / "dist").glob("*.whl")
    pip = [".venv/bin/pip", "install", "--quiet", "--no-index", "--no-deps", str(wheel)]
    done = subprocess.run(pip, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.mark.parametrize("name", ["README.md", "docs/tutorial.md"])
def test_every_command_prints_what_is_shown(bench: Path, name: str) -> None:
    """In its order, from an empty folder, as a reader would."""
    shown = sum(len([*commands(block)]) for block in blocks(ROOT / name) if block.language == "console")
    assert follow(ROOT / name, bench) >= shown > 0


def test_the_installation_is_one_from_a_checkout() -> None:
    (block,) = [x for x in blocks(README) if x.language == "sh"]
    assert block.text.splitlines()[:2] == ["python3 -m venv .venv", ".venv/bin/pip install '.[fast,svg]'"]


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
