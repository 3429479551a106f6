"""The workflow that the documents show: its commands are run, as a CI system would run them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import yaml

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
LEASE = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8")


def test_the_workflow_does_what_it_says(tmp_path: Path) -> None:
    found = re.search(r"## Without the action, step by step\n+```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    steps = yaml.safe_load(found[1])["steps"]
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "lease.fsm").write_text(LEASE.replace("ignore leave in Leaving", "ignore leave in Left"))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    ended = {}
    for step in steps:
        command = step.get("run", "")
        if command and not command.startswith("pip"):
            done = subprocess.run(
                ["bash", "-e", "-c", command],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                timeout=120,
            )
            assert done.returncode in (0, 1), done.stderr
            ended[command.split()[1]] = done.returncode
    assert ended == {"check": 0, "verify": 1, "test": 0, "verify.md": 0}
    sarif = json.loads((tmp_path / "verify.sarif").read_text())
    assert [x["ruleId"] for x in sarif["runs"][0]["results"]] == ["FSM303"]
    assert len(list(ElementTree.parse(tmp_path / "scenarios.xml").iter("testcase"))) == 1
    assert "`leave`" in (tmp_path / "summary.md").read_text()


def test_examples_pin_actions_by_commit_and_packages_by_hash() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    used = [found for page in pages for found in re.findall(r"\buses: *(\S+@.*)", page.read_text("utf-8"))]
    assert len(used) >= 4
    used.remove("OWNER/fsmdsl@COMMIT")
    assert [x for x in used if re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v[\d.]+", x) is None] == []
    installs = re.findall(r"run: *(pip .*)", PAGE)
    assert installs == ["pip install --require-hashes -r requirements/fsm.txt"]
