"""What is published: a wheel and an sdist that hold `fsmdsl` alone, and run with its three dependencies and no more."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
DEPENDENCIES = ("click", "jinja2", "markupsafe", "graphviz")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


def test_the_wheel_holds_the_toolkit_alone(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {n.split("/")[0] for n in names} == {"fsmdsl", "fsmdsl-0.1.0.dist-info"}
    for data in ("fsm.lark", "py.typed", "parse/table.json", "cli/lease.fsm", "report/templates/page.html.jinja"):
        assert f"fsmdsl/{data}" in names
    assert "fsmdsl-0.1.0.dist-info/licenses/LICENSE" in names


def test_the_sdist_holds_the_toolkit_alone(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        tops = {n.split("/")[1] for n in archive.getnames() if "/" in n}
    assert tops <= {"fsmdsl", "README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", "PKG-INFO", ".gitignore"}


def test_the_wheel_runs_where_nothing_else_is_installed(built: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(site)
    for name in DEPENDENCIES:
        spec = find_spec(name)
        assert spec is not None
        assert spec.origin is not None
        (site / name).symlink_to(Path(spec.origin).parent)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-S", "-m", "fsmdsl", *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env={"PYTHONPATH": str(site), "PATH": ""}, capture_output=True, text=True
        )

    for arguments in (["init"], ["check"], ["test"], ["verify"], ["generate"], ["fmt", "--check"], ["explain"]):
        done = run(*arguments)
        assert done.returncode == 0, (arguments, done.stderr)
    assert run("draw", "--format", "mermaid").returncode == 0
    missing = run("draw")
    assert missing.returncode == 1
    assert "error[FSM501]" in missing.stderr
    assert "fsmdsl[svg]" in missing.stderr
    report = run("report")
    assert report.returncode == 0
    assert "error[FSM501]" in report.stderr
    assert (tmp_path / "build" / "report" / "index.html").is_file()
