"""The VS Code extension: its grammar, its client against the language server, and the package that is installed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from fsmdsl.syntax.parse import parse
from fsmdsl.text.source import Source

pytestmark = pytest.mark.full(reason="npm")

FOLDER = Path(__file__).parent.parent / "editors" / "vscode"
MISSING = (
    "NODE.JS IS NOT INSTALLED: the extension was not tested"
    if shutil.which("npm") is None
    else "`make editors` HAS NOT RUN: the extension was not tested"
    if not (FOLDER / "node_modules" / ".bin" / "esbuild").exists()
    else ""
)
needed = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def npm(*arguments: str) -> str:
    fsm = str(Path(sys.executable).parent / "fsm")
    done = subprocess.run(
        ["npm", "run", "--silent", *arguments],
        cwd=FOLDER,
        env={**os.environ, "FSM": fsm, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=900,  # a busy machine takes its time
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@needed
def test_the_grammar_colours_what_it_should() -> None:
    told = npm("test:grammar")
    assert told.count("run successfuly") == len(list((FOLDER / "test" / "grammar").glob("*.fsm")))


@needed
def test_the_client_talks_to_the_server_and_the_package_has_what_it_needs(tmp_path: Path) -> None:
    """One test, for both build the same folder."""
    told = npm("test:client")
    assert "# fail 0" in told
    assert "# skipped 0" in told
    npm("package", "--", "--out", str(tmp_path / "fsmdsl.vsix"))
    with zipfile.ZipFile(tmp_path / "fsmdsl.vsix") as package:
        names = {x.removeprefix("extension/") for x in package.namelist() if x.startswith("extension/")}
        manifest = json.loads(package.read("extension/package.json"))
    views = {"dist/diagram.js", "dist/diagram.css", "dist/trace.js", "dist/trace.css", "dist/gang.fsm"}
    texts = {"package.json", "readme.md", "changelog.md", "LICENSE.txt", "language-configuration.json"}
    texts |= {"syntaxes/fsm.tmLanguage.json", "snippets/fsm.json", "walkthrough/python.md"}
    pictures = {"icons/fsm.png", "icons/fsm-light.svg", "icons/fsm-dark.svg"}
    pictures |= {f"images/{name}.png" for name in ("editor", "results", "tests")}
    assert names == {"dist/extension.js", *views, *texts, *pictures}
    assert named_files(manifest) <= names
    assert manifest["main"] == "./dist/extension.js"


def named_files(part: Any) -> set[str]:
    """The files that a part of the manifest names."""
    if isinstance(part, dict | list):
        return set[str]().union(*map(named_files, part.values() if isinstance(part, dict) else part))
    found = re.fullmatch(r"(?:\./)?((?:dist|icons|images|snippets|syntaxes|walkthrough)/\S+)", str(part))
    return {found[1]} if found else set()


@pytest.mark.parametrize("name", json.loads((FOLDER / "snippets" / "fsm.json").read_text("utf-8")))
def test_a_snippet_can_be_read_as_it_is(name: str) -> None:
    snippet = json.loads((FOLDER / "snippets" / "fsm.json").read_text("utf-8"))[name]
    body = "\n".join(snippet["body"]) if isinstance(snippet["body"], list) else snippet["body"]
    text = re.sub(r"\$\{\d+:([^}]*)\}", r"\1", body).replace("$0", "ignore x in A" if name == "Amendment" else "")
    inside = "system S {\n%s\n}" if name in ("Property", "Reachable") else "machine M {\n%s\n}"
    around = "%s" if text.startswith(("module", "machine", "system", "scenario")) else inside
    assert parse(Source("snippet.fsm", around % text)).diagnostics == ()


def test_the_lock_names_no_registry() -> None:
    for lock in FOLDER.parent.glob("*/package-lock.json"):
        packages = json.loads(lock.read_text("utf-8"))["packages"]
        assert [name for name, x in packages.items() if "resolved" in x] == [], lock
