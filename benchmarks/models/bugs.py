"""Models of protocols with mistakes that are known of them (`bugs.toml`): how long until `fsm verify` tells each.

Seconds are by the clock, and of a processor: on a busy computer the second number says more.

    python benchmarks/models/bugs.py            # a table, in Markdown
    python benchmarks/models/bugs.py raft       # of one model
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter

MODELS = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Bug:
    """A mistake: what the text of the model becomes, the sizes, and the name of what is violated then."""

    model: str
    what: str
    text: str
    sizes: tuple[str, ...]
    violates: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of `fsm verify`: the violated properties by name, else by kind, the length of the run, the
    states, and the time, by the clock and of a processor."""

    violated: tuple[str, ...]
    steps: int
    states: int
    seconds: float
    processor: float


def bugs() -> Iterator[Bug]:
    """All of them; the formatter decides how words are spaced. Raises `ValueError` where a model does not have the text
    that is to be replaced."""
    for entry in tomllib.loads((MODELS / "bugs.toml").read_text("utf-8"))["bug"]:
        text = (MODELS / f"{entry['model']}.fsm").read_text("utf-8")
        for old, new in entry.get("change", ()):
            parts = re.split(re.compile(r"\s+".join(map(re.escape, old.split()))), text)
            if len(parts) != 2:
                raise ValueError(f"{entry['what']}: `{old}` is in {entry['model']}.fsm {len(parts) - 1} times")
            text = new.join(parts)
        sizes = tuple(f"--set={name}={n}" for name, n in entry.get("set", {}).items())
        yield Bug(entry["model"], entry["what"], text, sizes, entry["violates"])


def find(bug: Bug) -> Outcome:
    """Run `fsm verify` on it, from the command line."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"{bug.model}.fsm")
        path.write_text(bug.text, "utf-8")
        command = [sys.executable, "-m", "fsmdsl", "verify", str(path), *bug.sizes, "--format", "json"]
        begun, used = perf_counter(), _processor()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds, processor = perf_counter() - begun, _processor() - used
    try:
        (system,) = json.loads(done.stdout)["systems"]
    except (ValueError, KeyError):
        raise SystemExit(f"{bug.model}: {bug.what}\n{done.stdout}{done.stderr}") from None
    violated = [x for x in system["verdicts"] if x["outcome"] == "violated"]
    steps = next((len(x["trace"]["steps"]) for x in violated if x["name"] == bug.violates and x.get("trace")), 0)
    return Outcome(tuple(x["name"] for x in violated), steps, system["states"], seconds, processor)


def _processor() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main(only: list[str]) -> None:
    """Print the table."""
    print("| model | mistake | violated | steps | states | wall-clock time (s) | processor time (s) |")
    print("| --- | --- | --- | --: | --: | --: | --: |")
    for bug in bugs():
        if not only or bug.model in only:
            outcome = find(bug)
            seen = bug.violates if bug.violates in outcome.violated else f"**not {bug.violates}**"
            row = (bug.model, bug.what, f"`{seen}`", str(outcome.steps), f"{outcome.states:,}")
            times = f"{outcome.seconds:.1f} | {outcome.processor:.1f}"
            print(f"| {' | '.join(row)} | {times} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
