"""The VS Code extension: its grammar, its client against the language server, and the package that is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "editors" / "vscode"
MISSING = (
    "NODE.JS IS NOT INSTALLED: the extension was not tested"
    if shutil.which("npm") is None
    else "`make editors` HAS NOT RUN: the extension was not tested"
    if not (FOLDER / "node_modules" / ".bin" / "esbuild").exists()
    else ""
)
pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)


def npm(*arguments: str) -> str:
    fsm = str(Path(sys.executable).parent / "fsm")
    done = subprocess.run(
        ["npm", "run", "--silent", *arguments],
        cwd=FOLDER,
        env={**os.environ, "FSM": fsm, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_grammar_colours_what_it_should() -> None:
    told = npm("test:grammar")
    assert told.count("run successfuly") == len(list((FOLDER / "test" / "grammar").glob("*.fsm")))


def test_the_client_talks_to_the_server_and_the_package_has_what_it_needs(tmp_path: Path) -> None:
    """One test, for both build the same folder."""
    told = npm("test:client")
    assert "# fail 0" in told
    assert "# skipped 0" in told
    npm("package", "--", "--out", str(tmp_path / "fsmdsl.vsix"))
    with zipfile.ZipFile(tmp_path / "fsmdsl.vsix") as package:
        names = {x.removeprefix("extension/") for x in package.namelist() if x.startswith("extension/")}
        manifest = json.loads(package.read("extension/package.json"))
    views = {"dist/diagram.js", "dist/diagram.css", "dist/trace.js", "dist/trace.css"}
    texts = {"package.json", "readme.md", "LICENSE.txt", "language-configuration.json", "syntaxes/fsm.tmLanguage.json"}
    assert names == {"dist/extension.js", *views, *texts}
    assert manifest["main"] == "./dist/extension.js"


def test_the_lock_names_no_registry() -> None:
    for lock in FOLDER.parent.glob("*/package-lock.json"):
        packages = json.loads(lock.read_text("utf-8"))["packages"]
        assert [name for name, x in packages.items() if "resolved" in x] == [], lock
