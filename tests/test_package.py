"""What is published: a wheel and an sdist that hold `fsmdsl` alone, and run with its three dependencies and no more."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.full(reason="a wheel in an empty environment")

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EPOCH = "1700000000"
DEPENDENCIES = ("click", "jinja2", "markupsafe", "graphviz")


def build(source: Path, out: Path, *targets: str) -> dict[str, bytes]:
    """The distributions made from a folder, by name."""
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(out), *targets]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    done = subprocess.run(command, cwd=source, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {path.name: path.read_bytes() for path in out.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    build(ROOT, out)
    return out


def test_another_build_gives_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """From a copy with other times and permissions, and, for the wheel, from the sdist."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("README.md", "LICENSE", "CHANGELOG.md", "pyproject.toml", ".gitignore"):
        shutil.copyfile(ROOT / name, copy / name)
    shutil.copytree(ROOT / "fsmdsl", copy / "fsmdsl", ignore=shutil.ignore_patterns("__pycache__"))
    for path in copy.rglob("*"):
        os.utime(path, (10**9, 10**9))
        path.chmod(0o777 if path.is_dir() else 0o600)
    first = {path.name: path.read_bytes() for path in built.iterdir()}
    assert build(copy, tmp_path / "again") == first
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    wheel = build(source, tmp_path / "from-sdist", "-t", "wheel")
    assert wheel == {name: content for name, content in first.items() if name in wheel}


def test_the_changelog_begins_with_this_version() -> None:
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    version = re.escape(PROJECT["version"])
    assert re.fullmatch(rf"{version} \((?:not published yet|\d{{4}}-\d\d-\d\d)\)", headings[0])


def test_other_packages_have_no_version_of_their_own() -> None:
    """One tag is one version of everything."""
    for path in ("editors/vscode/package.json", "editors/vscode/package-lock.json"):
        assert json.loads((ROOT / path).read_text("utf-8"))["version"] == PROJECT["version"], path


def test_the_wheel_holds_the_toolkit_alone(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {n.split("/")[0] for n in names} == {"fsmdsl", f"fsmdsl-{PROJECT['version']}.dist-info"}
    for data in (
        "syntax/fsm.lark",
        "py.typed",
        "syntax/parse/table.bin",
        "cli/gang.fsm",
        "report/templates/page.html.jinja",
    ):
        assert f"fsmdsl/{data}" in names
    assert "fsmdsl/syntax/parse/table.json" not in names
    assert f"fsmdsl-{PROJECT['version']}.dist-info/licenses/LICENSE" in names


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
        assert done.returncode == (arguments == ["verify"]), (arguments, done.stderr)  # the example has a deadlock
    assert run("draw", "--format", "mermaid").returncode == 0
    missing = run("draw")
    assert missing.returncode == 1
    assert "error[FSM501]" in missing.stderr
    assert "fsmdsl[svg]" in missing.stderr
    assert "--format mermaid" in missing.stderr
    assert "<built in>" not in missing.stderr
    report = run("report")
    assert report.returncode == 1
    why = "the program `dot` of Graphviz is not installed; run `pip install 'fsmdsl[svg]'`"
    assert report.stderr.splitlines().count(f"warning: the page lacks diagrams: {why}") == 1
    assert "FSM501" not in report.stderr
    assert (tmp_path / "build" / "report" / "index.html").is_file()
