"""The documents do what they say: code runs, links lead somewhere, specs in them are clean."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from fsmdsl.checks import check
from fsmdsl.diagnostics import Severity
from fsmdsl.parse import parse
from fsmdsl.resolve import resolve
from fsmdsl.source import Source

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(path: Path, kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE)


def test_the_code_of_generated_code_runs() -> None:
    code = "\n".join(blocks(ROOT / "docs" / "generated-code.md", "python"))
    assert code.count("assert") > 10
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_specs_of_the_reference_are_clean() -> None:
    for text in blocks(ROOT / "docs" / "language.md", "fsm"):
        parsed = parse(Source("language.md", text))
        resolved = resolve([parsed.module])
        assert (*parsed.diagnostics, *resolved.diagnostics) == ()
        assert resolved.model is not None
        assert [d for d in check(resolved.model) if d.severity > Severity.NOTE] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http", "#")):
            assert (path.parent / target.partition("#")[0]).exists(), target
