"""How a release is made: the index of the rehearsal, and the bills of materials. `make rehearsal` tries all of it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest
from static_server import served

pytestmark = pytest.mark.full(reason="a release")

ROOT = Path(__file__).parent.parent


def module(name: str) -> ModuleType:
    """A script of `release`."""
    spec = spec_from_file_location(name, ROOT / "release" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def wheel(folder: Path, name: str, *needs: str) -> None:
    """A wheel of an empty project, with what it depends on."""
    (folder / "empty").mkdir(parents=True)
    (folder / "empty" / "__init__.py").touch()
    (folder / "pyproject.toml").write_text(
        f'[build-system]\nrequires = ["hatchling"]\nbuild-backend = "hatchling.build"\n[project]\nname = "{name}"\n'
        f'version = "1.0"\ndependencies = {json.dumps(needs)}\n[tool.hatch.build.targets.wheel]\npackages = ["empty"]\n'
    )
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder.parent / "files")]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


def test_pip_installs_from_the_index_and_from_nowhere_else(tmp_path: Path) -> None:
    """Also what has dots and capitals in its name; what is not there is an error, whatever pip is configured to do."""
    rehearsal = module("rehearsal")
    wheel(tmp_path / "one", "First.Thing", "second_thing")
    wheel(tmp_path / "two", "second-thing")
    wheel(tmp_path / "three", "third", "click")
    rehearsal.index(tmp_path)
    listed = re.findall(r'href="([\w/-]+)"', (tmp_path / "simple" / "index.html").read_text())
    assert listed == ["first-thing/", "second-thing/", "third/"]
    with served(tmp_path) as address:
        environment = rehearsal.isolated()
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--index-url", f"{address}simple/", "--target"]
        assert environment["PIP_CONFIG_FILE"] == os.devnull
        subprocess.run([*command, str(tmp_path / "here"), "first-thing"], env=environment, check=True)
        assert {x.name for x in (tmp_path / "here").glob("*.dist-info")} == {
            "first_thing-1.0.dist-info", "second_thing-1.0.dist-info",
        }  # fmt: skip
        failed = subprocess.run([*command, str(tmp_path / "there"), "third"], env=environment, capture_output=True)
        assert b"No matching distribution found for click" in failed.stderr


@pytest.mark.skipif(
    find_spec("cyclonedx_py") is None, reason="SKIPPED, NO BILL OF MATERIALS: pip install -r requirements/release.txt"
)
def test_a_bill_of_materials_lists_what_is_locked(tmp_path: Path) -> None:
    command = [sys.executable, "release/bill_of_materials.py", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    for name in ("toolkit", "allocator"):
        bill = json.loads((tmp_path / f"{name}.cdx.json").read_text("utf-8"))
        lock = (ROOT / "requirements" / f"{name}.txt").read_text("utf-8")
        locked = re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE)
        assert bill["bomFormat"] == "CycloneDX"
        assert [(x["name"], x["version"]) for x in bill["components"]] == locked
        assert all(x["externalReferences"][0]["hashes"] for x in bill["components"])


def test_the_allocator_has_no_extra_and_the_toolkit_no_group_of_its_own() -> None:
    """What the wheel does not hold, it does not offer."""
    lock = (ROOT / "requirements" / "allocator.txt").read_text("utf-8")
    assert "\nlightkube==" in lock
    assert "\njinja2==" not in lock
    assert "\nlightkube==" not in (ROOT / "requirements" / "toolkit.txt").read_text("utf-8")
