"""Modules import one another in one direction: there are no circles, not even for type checkers alone."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import grimp
import pytest
import sources
from test_cli import DOOR


@pytest.mark.parametrize("package", ["fsmdsl", "runtime"])
def test_there_are_no_import_circles(package: str) -> None:
    imports = grimp.build_graph(package, exclude_type_checking_imports=False, cache_dir=None)
    graph = {module: imports.find_modules_directly_imported_by(module) for module in imports.modules}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_every_module_is_in_a_package_that_the_linter_sees() -> None:
    """A folder without `__init__.py` would be left out of the layers without a word."""
    modules = grimp.build_graph("fsmdsl", cache_dir=None).modules
    assert {"fsmdsl.search.lower.values.expressions", "fsmdsl.program.nodes"} <= modules


@pytest.mark.parametrize("command", ["check", "fmt --check", "list", "generate --check --out out"])
def test_what_does_not_explore_does_not_load_the_search(command: str, tmp_path: Path) -> None:
    """It would be a third of the time until the first line."""
    loaded = _loaded(command, tmp_path)
    assert [x for x in loaded if x.startswith(("fsmdsl.search", "fsmdsl.step", "fsmdsl.draw"))] == []


def test_a_check_loads_these_modules(tmp_path: Path) -> None:
    """Each costs time before the first line: `UPDATE=1 pytest tests/test_imports.py` lets others in."""
    path = Path(__file__).parent / "golden" / "loaded_by_check.txt"
    loaded = "".join(f"{x}\n" for x in sorted(_loaded("check", tmp_path)) if x.startswith("fsmdsl"))
    if os.environ.get("UPDATE"):
        path.write_text(loaded, "utf-8")
    assert loaded == path.read_text("utf-8")


def test_classes_are_made_in_the_way_that_takes_little_time() -> None:
    imports = grimp.build_graph("fsmdsl", include_external_packages=True, cache_dir=None)
    assert imports.find_modules_that_directly_import("dataclasses") == {"fsmdsl.dataclasses"}
    from_typing = [
        path.name
        for path in sources.modules("fsmdsl")
        for x in sources.nodes(path)
        if isinstance(x, ast.ImportFrom) and x.module == "typing" and any(y.name == "NamedTuple" for y in x.names)
    ]
    assert from_typing == ["dataclasses.py"]


@pytest.mark.parametrize("command", ["check", "verify"])
def test_of_the_standard_library_nothing_is_imported_that_takes_long(command: str) -> None:
    code = f"import sys, fsmdsl.cli.{command}_command; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    slow = {"dataclasses", "difflib", "secrets", "shutil", "subprocess", "tempfile"}
    if command == "check":
        slow |= {"bisect", "ctypes", "hashlib", "json", "math", "random", "threading", "unicodedata"}
    assert slow.intersection(loaded) == set()


@pytest.mark.parametrize("form", ["text", "json", "concise"])
def test_a_search_loads_nothing_that_was_not_asked_for(form: str, tmp_path: Path) -> None:
    """Other checkers, certificates, pictures, the formats of others, and what tells which version is installed."""
    loaded = _loaded(f"verify --format {form}", tmp_path)
    assert "fsmdsl.search" in loaded
    others = (
        "fsmdsl.interop.second_opinion",
        "fsmdsl.recheck",
        "fsmdsl.draw",
        "fsmdsl.report.formats.junit",
        "xml",
        "importlib.metadata",
    )
    assert [x for x in loaded if x.startswith(others)] == []


def _loaded(command: str, folder: Path) -> list[str]:
    """The modules that a command has loaded."""
    (folder / "door.fsm").write_text(DOOR, "utf-8")
    code = "import sys; from fsmdsl.__main__ import main\ntry: main()\nfinally: print(*sys.modules, file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", code, *command.split(), "door.fsm"], cwd=folder, capture_output=True, text=True
    )
    loaded = ran.stderr.split()
    assert "fsmdsl.model" in loaded, ran.stderr
    return loaded
