"""The documents do what they say: code runs, links lead somewhere, specs in them are clean."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from fsmdsl.model.resolve import resolve
from fsmdsl.search import explore
from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

ROOT = Path(__file__).parent.parent
DOCUMENTS = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "RELEASING", "CHANGELOG", "SECURITY")),
    *(ROOT / name / "README.md" for name in ("deploy", "runtime")),
    *sorted((ROOT / "docs").rglob("*.md")),
]


def blocks(path: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_code_of_generated_code_runs() -> None:
    code = "\n".join(blocks(ROOT / "docs" / "generated-code.md", "python"))
    assert code.count("assert") > 10
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http", "#")):
            assert (path.parent / target.partition("#")[0]).exists(), target


def test_files_of_code_that_are_named_are_there() -> None:
    """By as much of their paths as is given: `values/lets.py`. A name in capitals stands for any."""
    folders = ("fsmdsl", "runtime", "tests", "benchmarks", "specs", "generated", "deploy", "editors", "docs")
    known = [p.relative_to(ROOT).as_posix() for name in folders for p in (ROOT / name).rglob("*.py")]
    missing = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in DOCUMENTS
        for name in re.findall(r"`([a-z][\w./-]*/[a-z]\w*\.py)`", path.read_text("utf-8"))
        if not any(f"/{x}".endswith(f"/{name}") for x in known)
    ]
    assert missing == []


def test_the_model_of_other_tools_deadlocks_here() -> None:
    """`coming-from.md` says so."""
    (text,) = blocks(ROOT / "docs" / "coming-from.md", "fsm")
    model = resolve([parse(Source("gang.fsm", text)).module]).model
    assert model is not None
    (found,) = [v for v in explore(model, *model.systems.values()).verdicts if v.outcome == "violated"]
    assert found.kind == "deadlock"


def test_the_cheat_sheet_passes() -> None:
    (text,) = blocks(ROOT / "docs" / "cheat-sheet.md", "fsm")
    model = resolve([parse(Source("sheet.fsm", text)).module]).model
    assert model is not None
    assert {v.outcome for v in explore(model, *model.systems.values()).verdicts} == {"holds"}


@pytest.mark.parametrize("library", ["transitions", "statemachine"])
def test_python_of_other_tools_runs(library: str) -> None:
    pytest.importorskip(library, reason=f"SKIPPED, AN EXAMPLE IS NOT RUN: {library} is not installed")
    (code,) = [x for x in blocks(ROOT / "docs" / "coming-from.md", "python") if f"from {library} " in x]
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("spin") is None or shutil.which("gcc") is None, reason="no SPIN")
def test_the_model_of_spin_deadlocks_too(tmp_path: Path) -> None:
    (code,) = blocks(ROOT / "docs" / "coming-from.md", "promela")
    (tmp_path / "gang.pml").write_text(code, "utf-8")
    done = subprocess.run(["spin", "-run", "gang.pml"], cwd=tmp_path, capture_output=True, text=True)
    assert "invalid end state" in done.stdout


def test_the_readme_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    (installation,) = re.findall(
        r"^## Install$(.*?)^## ", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    assert project["optional-dependencies"].keys() - set(re.findall(r"`(\w+)`", installation)) == set()


def test_the_readme_counts_the_findings() -> None:
    """Those of the four documents; the page on Kubernetes is about code."""
    pages = [x for x in (ROOT / "docs" / "findings").glob("*.md") if x.stem != "kubernetes"]
    headings = [x for path in pages for x in re.findall(r"^## .*", path.read_text(), re.M)]
    gaps = [x for x in headings if x not in ("## Repaired", "## What holds after the repair")]
    assert f"[{len(gaps)} gaps](docs/findings.md)" in (ROOT / "README.md").read_text()
