"""What the GitHub Action does: check, explore, compare with the base, and keep one comment up to date.

Everything comes in environment variables, as `action.yml` and GitHub set them; nothing of it reaches a shell, and no
module is taken from the repository that is checked. Exit codes are those of `fsm`: the worst of `check`, `verify` and
`test`. What a pull request changes is no failure.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MOST = 60_000
"""Characters of a comment. GitHub takes 65,536."""

PAGE = 100
"""Comments that GitHub lists at a time."""

BOT = "github-actions[bot]"
"""Who comments with the token of a workflow."""

MISUSE = 2
ANSWERS = (0, 3, 1, MISUSE)
"""Exit codes of `fsm` that are an answer, the worst last: clean, undecided, a finding, misuse."""


class NoCommentError(Exception):
    """GitHub does not take the comment."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the workflow asks for."""

    specs: str
    base: str
    """A revision; empty: there is nothing to compare with."""
    seconds: str
    folder: Path
    """For files."""
    environment: Mapping[str, str]

    @property
    def marker(self) -> str:
        """The first line of the comment on these specs. Nobody sees it."""
        return f"<!-- fsm: {self.specs.replace('--', '')} -->"


def main() -> int:
    """The exit code of the step."""
    e = os.environ
    folder = Path(e["RUNNER_TEMP"]) / "fsm-results"
    folder.mkdir(parents=True, exist_ok=True)
    job = Job(e.get("FSM_SPECS") or "specs", e.get("FSM_BASE", ""), e.get("FSM_MAX_SECONDS") or "60", folder, e)
    codes, parts = _explored(job)
    change = _change(job)
    text = "\n\n".join([*parts, *([change] if change else [])])
    _append("GITHUB_STEP_SUMMARY", text + "\n")
    _append("GITHUB_OUTPUT", f"sarif={job.folder / 'verify.sarif'}\n")
    number = e.get("FSM_PULL_REQUEST", "")
    if number and e.get("FSM_COMMENT", "true") == "true":
        try:
            _comment(job, number, text, worth=bool(change) or any(codes))
        except NoCommentError as error:
            print(f"::notice title=fsmdsl::{error}. The summary of the job has the same text.")
    return worst(codes)


def worst(codes: list[int]) -> int:
    """The exit code of the step. A command that was killed or has crashed has answered nothing: that is the worst."""
    return max(codes, key=lambda code: ANSWERS.index(code) if code in ANSWERS else len(ANSWERS))


def _fsm(*arguments: str, quiet: bool = False) -> int:
    """Run a command; it prints into the log of the step unless `quiet`. It does not get the token."""
    sys.stdout.flush()
    command = [sys.executable, "-P", "-m", "fsmdsl", *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "FSM_TOKEN"}
    printed = subprocess.DEVNULL if quiet else None
    code = subprocess.run(command, env=environment, stdout=printed, check=False).returncode
    return code if code >= 0 else 128 - code  # ended by a signal


def _append(variable: str, text: str) -> None:
    """To the file that GitHub reads, where there is one."""
    if path := os.environ.get(variable):
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)


# Results -------------------------------------------------------------------------------------------------------------


def _explored(job: Job) -> tuple[list[int], list[str]]:
    """Exit codes, and the Markdown of what was found."""
    verified, tested = job.folder / "verify.md", job.folder / "test.md"
    sarif = job.folder / "verify.sarif"
    seconds = ("--max-seconds", job.seconds)
    for path in (verified, tested, sarif):
        path.unlink(missing_ok=True)
    codes = [
        _fsm("check", "--format", "github", "--", job.specs),
        _fsm("verify", *seconds, "--output", str(verified), "--output", str(sarif), "--", job.specs),
        _fsm("test", "--output", str(tested), "--", job.specs),
    ]
    if not (verified.exists() or tested.exists()):
        return codes, [f"### ✗ fsm: exit code {worst(codes)}; the log of the job says why"]
    results = (("verify", codes[1], verified), ("test", codes[2], tested))
    return codes, [_text(name, code, path) for name, code, path in results]


def _text(name: str, code: int, path: Path) -> str:
    """What a command has written, or that it has not."""
    if path.exists():
        return path.read_text("utf-8").strip()
    return f"### ✗ fsm {name}: exit code {code}; the log of the job says why"


def _change(job: Job) -> str:
    """What differs from the base, in Markdown; empty where nothing does."""
    if not job.base or job.base.startswith("-"):
        return ""
    revision = job.base
    if not _known(revision):
        fetch = ["git", "fetch", "--quiet", "--depth=1", "--no-tags", "origin", job.base]
        if subprocess.run(fetch, check=False).returncode:
            return f"No comparison with `{job.base[:12]}`: it cannot be fetched (the log says why)."
        revision = "FETCH_HEAD"
    path = job.folder / "diff.md"
    path.unlink(missing_ok=True)
    seconds = ("--max-seconds", job.seconds)
    code = _fsm(
        "diff", *seconds, "--format", "markdown", "--output", str(path), "--", f"git:{revision}", job.specs, quiet=True
    )
    if code == MISUSE:
        return f"No comparison with `{job.base[:12]}`: one of both versions cannot be read (the log says why)."
    if not path.exists():
        return f"No comparison with `{job.base[:12]}`: `fsm diff` ended with exit code {code} (the log says why)."
    return path.read_text("utf-8").strip() if code else ""


def _known(revision: str) -> bool:
    look = ["git", "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}"]
    return subprocess.run(look, stdout=subprocess.DEVNULL, check=False).returncode == 0


# The comment ---------------------------------------------------------------------------------------------------------


def _comment(job: Job, number: str, text: str, worth: bool) -> None:
    """Write it, or write it anew. Where nothing is wrong and nothing changes, a first one is not needed."""
    body = f"{job.marker}\n{_short(job, text)}"
    comments = f"repos/{job.environment['GITHUB_REPOSITORY']}/issues/{number}/comments"
    mine = _mine(job, comments)
    if mine is not None:
        _ask(job, "PATCH", f"repos/{job.environment['GITHUB_REPOSITORY']}/issues/comments/{mine}", {"body": body})
    elif worth:
        _ask(job, "POST", comments, {"body": body})


def _short(job: Job, text: str) -> str:
    """As much as a comment holds: if that is not all, without what is folded away."""
    if len(text) <= MOST:
        return text
    e = job.environment
    run = f"{e.get('GITHUB_SERVER_URL', '')}/{e['GITHUB_REPOSITORY']}/actions/runs/{e.get('GITHUB_RUN_ID', '')}"
    note = f"\n\nRuns and diagrams are in the [summary of the job]({run}): together they are too long for a comment."
    lines = "\n".join(_unfolded(text))
    return (lines if len(lines) <= MOST else lines[: lines.rindex("\n", 0, MOST)]) + note


def _unfolded(text: str) -> Iterator[str]:
    depth = 0
    for line in text.split("\n"):
        depth += line.startswith("<details>")
        if not depth:
            yield line
        depth -= line == "</details>"


def _mine(job: Job, comments: str) -> int | None:
    """The number of our comment. Others may write our marker, and theirs stays as it is."""
    me, page = _me(job), 1
    while True:
        listed = _ask(job, "GET", f"{comments}?per_page={PAGE}&page={page}")
        for x in listed:
            if x["user"]["login"] == me and (x["body"] or "").startswith(job.marker):
                return int(x["id"])
        if len(listed) < PAGE:
            return None
        page += 1


def _me(job: Job) -> str:
    """Who the token belongs to; that of a workflow may not ask."""
    try:
        return str(_ask(job, "GET", "user")["login"])
    except NoCommentError:
        return BOT


def _ask(job: Job, method: str, path: str, data: object = None) -> Any:
    """What GitHub's REST API answers. Raises `NoCommentError`."""
    api = job.environment.get("GITHUB_API_URL", "https://api.github.com")
    request = urllib.request.Request(
        f"{api}/{path}",
        None if data is None else json.dumps(data).encode(),
        {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {job.environment.get('FSM_TOKEN', '')}",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
        method=method,
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        why = " (a pull request from a fork gets a token that may only read)" if error.code in (403, 404) else ""
        raise NoCommentError(f"the comment was not written: GitHub answers {error.code}{why}") from error
    except (OSError, ValueError) as error:
        raise NoCommentError(f"the comment was not written: {error}") from error


if __name__ == "__main__":
    sys.exit(main())
