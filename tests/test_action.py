"""The GitHub Action, as a runner would run it: its steps in bash, a repository with its remote, an API over HTTP."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

pytestmark = pytest.mark.full(reason="processes of the GitHub Action")

ROOT = Path(__file__).parent.parent
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
LEASE = (ROOT / "editors" / "playground" / "lease.fsm").read_text("utf-8")
BROKEN = LEASE.replace("ignore leave in Leaving", "ignore leave in Left")
BOT = "github-actions[bot]"


@dataclass
class GitHub:
    """What the API has of one pull request."""

    url: str = ""
    login: str | None = None
    """Who the token belongs to; None: it may not ask."""
    writable: bool = True
    comments: list[dict[str, Any]] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)

    def put(self, login: str, body: str) -> None:
        self.comments.append({"id": 100 + len(self.comments), "user": {"login": login}, "body": body})

    def answer(self, method: str, path: str, query: dict[str, list[str]], data: Any) -> tuple[int, object]:
        me = self.login or BOT
        if (method, path) == ("GET", "/user"):
            return (200, {"login": self.login}) if self.login else (403, {})
        if path == "/repos/us/specs/issues/7/comments" and method == "GET":
            size, page = int(query["per_page"][0]), int(query["page"][0])
            return 200, self.comments[size * (page - 1) : size * page]
        if not self.writable:
            return 403, {}
        if path == "/repos/us/specs/issues/7/comments":
            self.put(me, data["body"])
            return 201, self.comments[-1]
        found = [x for x in self.comments if path == f"/repos/us/specs/issues/comments/{x['id']}"]
        if method != "PATCH" or not found:
            return 404, {}
        found[0]["body"] = data["body"]
        return 200, found[0]


@pytest.fixture
def github() -> Iterator[GitHub]:
    state = GitHub()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            data = json.loads(self.rfile.read(length)) if length else None
            state.tokens.add(self.headers.get("Authorization"))
            asked = urlsplit(self.path)
            code, found = state.answer(self.command, asked.path, parse_qs(asked.query), data)
            body = json.dumps(found).encode()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = _serve  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        yield state
        server.shutdown()


@dataclass
class Runner:
    """A checkout of a pull request, whose base only the remote has."""

    folder: Path
    github: GitHub
    base: str

    def git(self, *arguments: str) -> str:
        return git(self.folder / "work", *arguments)

    def push(self, text: str) -> None:
        (self.folder / "work" / "specs" / "lease.fsm").write_text(text, "utf-8")

    def run(self, **inputs: str) -> subprocess.CompletedProcess[str]:
        """The steps of the action but the first, which installs it."""
        values = {f"inputs.{name}": str(x.get("default", "")) for name, x in ACTION["inputs"].items()}
        values |= {f"inputs.{name.replace('_', '-')}": value for name, value in inputs.items()}
        values |= {
            "github.action_path": str(ROOT),
            "github.event.pull_request.base.sha": self.base,
            "github.event.pull_request.number": "7",
            "github.token": "secret",
        }
        temporary = self.folder / "temp"
        (temporary / "fsm").mkdir(parents=True, exist_ok=True)
        if not (temporary / "fsm" / "bin").exists():
            (temporary / "fsm" / "bin").symlink_to(Path(sys.executable).parent)
        (step,) = ACTION["runs"]["steps"][1:]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(temporary),
            "GITHUB_API_URL": self.github.url,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "us/specs",
            "GITHUB_RUN_ID": "1",
            "GITHUB_STEP_SUMMARY": str(self.folder / "summary.md"),
            "GITHUB_OUTPUT": str(self.folder / "output"),
            **{name: filled(filled(str(x), values), values) for name, x in step["env"].items()},
        }
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(
            command, cwd=self.folder / "work", env=environment, capture_output=True, text=True, timeout=300
        )


def filled(text: str, values: dict[str, str]) -> str:
    """As a runner fills `${{ … }}` in; `KeyError` where it would be empty for a wrong name."""
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda m: values[m[1]], text)


def git(folder: Path, *arguments: str) -> str:
    who = ("-c", "user.name=us", "-c", "user.email=us@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def runner(tmp_path: Path, github: GitHub) -> Runner:
    origin, work = tmp_path / "origin", tmp_path / "work"
    (origin / "specs").mkdir(parents=True)
    (origin / "specs" / "lease.fsm").write_text(LEASE, "utf-8")
    git(origin, "init", "--quiet")
    git(origin, "config", "uploadpack.allowAnySHA1InWant", "true")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "base")
    base = git(origin, "rev-parse", "HEAD")
    (origin / "README").write_text("more\n")
    git(origin, "add", ".")
    git(origin, "commit", "--quiet", "-m", "head")
    subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{origin}", str(work)], check=True)
    return Runner(tmp_path, github, base)


def test_one_comment_is_kept_up_to_date(runner: Runner, github: GitHub) -> None:
    github.put("somebody", "a first comment")
    done = runner.run()
    assert (done.returncode, len(github.comments)) == (0, 1), "nothing is wrong and nothing changes: no comment"
    assert "holds     lease.Shared" in done.stdout
    runner.push(BROKEN)
    done = runner.run()
    assert done.returncode == 1, done.stderr
    mine = github.comments[1]
    assert mine["user"]["login"] == BOT
    assert mine["body"].startswith("<!-- fsm: specs -->\n### ✗ fsm verify: 1 system: 1 violated")
    assert "✗ holds → violated | lease.Shared | fault unhandled" in mine["body"]
    assert "```mermaid" in mine["body"]
    assert mine["body"].split("\n", 1)[1] in (runner.folder / "summary.md").read_text("utf-8")
    assert f"sarif={runner.folder}/temp/fsm-results/verify.sarif" in (runner.folder / "output").read_text()
    runner.push(LEASE)
    assert runner.run().returncode == 0
    assert len(github.comments) == 2
    assert github.comments[1]["body"].startswith("<!-- fsm: specs -->\n### ✓ fsm verify")
    assert "→ violated" not in github.comments[1]["body"]
    assert github.comments[0]["body"] == "a first comment"
    assert github.tokens == {"Bearer secret"}


def test_comments_of_others_stay_as_they_are(runner: Runner, github: GitHub) -> None:
    """Also with our marker; and ours is found behind many."""
    github.put("somebody", "<!-- fsm: specs -->\nforged")
    for n in range(150):
        github.put("somebody", f"{n}")
    github.login = "robot"
    github.put("robot", "<!-- fsm: specs -->\nold")
    runner.push(BROKEN)
    assert runner.run().returncode == 1
    assert len(github.comments) == 152
    assert github.comments[0]["body"].endswith("forged")
    assert "1 violated" in github.comments[-1]["body"]


def test_a_token_that_may_only_read(runner: Runner, github: GitHub) -> None:
    github.writable = False
    runner.push(BROKEN)
    done = runner.run()
    assert done.returncode == 1
    assert (
        "::notice title=fsmdsl::the comment was not written: GitHub answers 403 (a pull request from a fork"
        in done.stdout
    )
    assert "1 violated" in (runner.folder / "summary.md").read_text("utf-8")
    assert github.comments == []


def test_what_cannot_be_compared(runner: Runner, github: GitHub) -> None:
    runner.push(BROKEN)
    done = runner.run(base="0" * 40)
    assert done.returncode == 1
    assert "No comparison with `000000000000`: it cannot be fetched" in github.comments[0]["body"]
    runner.run(base="--upload-pack=touch pwned")
    assert not (runner.folder / "work" / "pwned").exists()


def test_specs_with_errors_and_no_specs(runner: Runner, github: GitHub) -> None:
    runner.push(LEASE.replace("-> Lent ", "-> Lend "))
    done = runner.run()
    assert done.returncode == 1
    assert "::error file=specs/lease.fsm,line=" in done.stdout
    assert "there is no state `Lend`" in github.comments[0]["body"]
    assert runner.run(specs="nowhere", comment="false").returncode == 2
    assert len(github.comments) == 1


def test_nothing_of_the_repository_is_run(runner: Runner) -> None:
    """Neither in the place of our modules, nor of Python's."""
    for name in ("fsmdsl", "json", "click"):
        (runner.folder / "work" / f"{name}.py").write_text("raise SystemExit('hostile')\n")
    runner.push(LEASE + "\n/// $(touch pwned) `touch pwned`\n")
    done = runner.run(specs="specs/lease.fsm")
    assert "hostile" not in done.stdout + done.stderr
    assert done.returncode == 0, done.stderr
    assert not (runner.folder / "work" / "pwned").exists()


def test_what_is_too_long_for_a_comment_is_folded(runner: Runner, github: GitHub) -> None:
    sys.path.insert(0, str(ROOT / "action"))
    try:
        import pull_request
    finally:
        sys.path.pop(0)
    environment = {"GITHUB_REPOSITORY": "us/specs", "GITHUB_SERVER_URL": "https://github.com", "GITHUB_RUN_ID": "1"}
    job = pull_request.Job("specs", "", "60", runner.folder, environment)
    line = "| a | row |\n"
    text = f"### head\n\n<details><summary>run</summary>\n\n{'x' * 70_000}\n\n</details>\n\n{line}"
    shown = pull_request._short(job, text)
    assert shown.startswith("### head\n\n\n| a | row |\n")
    assert "https://github.com/us/specs/actions/runs/1" in shown
    assert len(pull_request._short(job, line * 9_000)) < 65_536
    assert pull_request._short(job, line) == line
