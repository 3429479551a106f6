"""The hooks that are published for pre-commit, in a scratch repository."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
LEASE = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8")
HOOKS: list[dict[str, Any]] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))


class Repository:
    """A person's repository that uses the hooks."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("GIT_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PRE_COMMIT_HOME": str(folder.parent / "cache"),
            "HOME": str(folder.parent),
            **{f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
        }
        self.run("git", "init", "-q")
        # What pre-commit would install from the repository is what is installed here.
        hooks = [{**x, "language": "system"} for x in HOOKS]
        (folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [{"repo": "local", "hooks": hooks}]}))
        (folder / "specs").mkdir()
        self.spec = folder / "specs" / "lease.fsm"
        self.spec.write_text(LEASE)
        self.run("fsm", "generate", "specs", "--out", "generated")
        self.run("git", "add", "-A")

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=120
        )

    def hook(self, name: str, *options: str) -> tuple[int, str]:
        done = self.run("pre-commit", "run", name, "--all-files", *options)
        return done.returncode, done.stdout + done.stderr


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    (tmp_path / "mine").mkdir()
    return Repository(tmp_path / "mine")


def test_a_commit_passes_and_a_push_explores(repository: Repository) -> None:
    assert repository.run("pre-commit", "install").returncode == 0
    done = repository.run("git", "commit", "-q", "-m", "A lease")
    assert done.returncode == 0, done.stderr
    assert [x for x in done.stderr.splitlines() if x.endswith("Passed")] != []
    code, told = repository.hook("fsm-verify", "--hook-stage", "pre-push")
    assert (code, "Passed" in told) == (0, True), told


@pytest.mark.full(reason="processes of git")
def test_a_commit_of_what_is_wrong_is_refused(repository: Repository) -> None:
    repository.run("pre-commit", "install")
    repository.spec.write_text(LEASE.replace("Lent     -> Draining", "Lend     -> Draining"))
    repository.run("git", "add", "-A")
    done = repository.run("git", "commit", "-q", "-m", "A mistake")
    assert done.returncode == 1
    assert "did you mean `Lent`?" in done.stderr
    assert repository.run("git", "rev-parse", "--verify", "HEAD").returncode != 0


@pytest.mark.full(reason="processes of git")
def test_formatting_changes_the_file_and_fails_once(repository: Repository) -> None:
    repository.spec.write_text(LEASE.replace("  on lend(to)", " on lend(to)"))
    code, told = repository.hook("fsm-fmt")
    assert (code, "files were modified by this hook" in told) == (1, True), told
    assert repository.spec.read_text() == LEASE
    assert repository.hook("fsm-fmt")[0] == 0


@pytest.mark.full(reason="processes of git")
def test_a_failing_scenario_and_a_violation_are_told(repository: Repository) -> None:
    repository.spec.write_text(LEASE.replace("ignore leave in Leaving", "ignore leave in Left"))
    repository.run("git", "add", "-A")
    code, told = repository.hook("fsm-verify", "--hook-stage", "pre-push")
    assert code == 1
    assert "`leave` reaches j0 in `Leaving`" in told
    repository.spec.write_text(LEASE.replace("expect node.job == j1", "expect node.job == j0"))
    code, told = repository.hook("fsm-test")
    assert code == 1
    assert "expect node.job == j0" in told


@pytest.mark.full(reason="processes of git")
def test_stale_classes_are_told(repository: Repository) -> None:
    assert repository.hook("fsm-generated")[0] == 0
    repository.spec.write_text(LEASE.replace("reachable used_by_both", "reachable both").replace("Lent", "Taken"))
    code, told = repository.hook("fsm-generated")
    assert code == 1
    assert "stale" in told
