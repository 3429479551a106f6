"""The model checker beside SPIN, rumur, TLC, and searches by hand in C++ and Python: same machine, same model, one run.

Usage: python benchmarks/checker/run.py [--quick | --full] [--rounds N] [--tools NAME;…] [--out FOLDER] [SIZE …]

Writes benchmarks/results/checker.json, checker.md and checker.svg, and exits with 1 if counts differ or a promise is
not kept. Tools that are not installed are left out, and it is said how to get them. A size is GROUPS_CELLS_SIZE.

Searches take turns, so that what else the computer does falls on all of them alike; still, let it do nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from measure import Campaign, available
from page import page, picture, promises, ratios
from process import run
from tools import ADVICE, TOOLS, Size, Tool, lacking

ROOT = Path(__file__).parent.parent.parent

QUICK = ["3_4_2", "4_5_2", "4_6_2"]
USUAL = [*QUICK, "5_6_2", "5_7_2"]
FULL = [*USUAL, "5_8_2", "6_7_2"]
"""Sizes, from 812 states to 56 million."""

LONGEST = {"quick": 60.0, "usual": 200.0, "full": 450.0}
"""Maximum number of seconds for a run."""

SYMMETRIC = {"quick": ["4_6_2"], "usual": ["5_6_2", "6_7_2"], "full": ["5_6_2", "6_7_2", "6_8_2", "7_8_2"]}


def specs(rounds: int, mistakes: list[str]) -> dict[str, float]:
    """How long all specs take, with nothing cached and with what that leaves behind."""
    took: dict[str, list[float]] = {"cold": [], "cached": []}
    command = [sys.executable, "-m", "fsmdsl", "verify", "specs"]
    for _ in range(rounds):
        with TemporaryDirectory(prefix="fsmdsl-cache-") as cache:
            for seconds in took.values():
                done = run(command, ROOT, 300, {**os.environ, "FSMDSL_CACHE": cache})
                seconds.append(done.seconds)
                # That something is violated is an answer, too.
                if done.code not in (0, 1):
                    mistakes.append(f"`fsm verify specs` exits with {done.code}: {done.output[-300:].strip()}")
                    return {}
    return {name: round(min(x), 3) for name, x in took.items()}


def machine() -> dict[str, Any]:
    """Where this was run, and with what."""
    cpu = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    details: dict[str, Any] = {
        "processor": cpu[1] if cpu else platform.processor(),
        "cores": os.cpu_count(),
        "GiB free": round(available() / 2**30, 1),
        "load before": round(os.getloadavg()[0], 2),
        "system": platform.platform(),
        "python": platform.python_version(),
    }
    for name in ("fsmdsl", "llvmlite"):
        try:
            details[name] = version(name)
        except PackageNotFoundError:
            details[name] = "not installed"
    commands = {"SPIN": ["spin", "-V"], "rumur": ["rumur", "--version"], "gcc": ["gcc", "--version"]}
    for name, command in {**commands, "java": ["java", "-version"]}.items():
        details[name] = _first_line(command)
    return details


def _first_line(command: Sequence[str]) -> str:
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    except OSError:
        return "not installed"
    numbers = re.search(r"\d[\w.]*\d", done.stdout)
    return numbers[0] if numbers else "?"


def there(tools: Sequence[Tool]) -> list[Tool]:
    """The tools that can be run here; what the others need is printed."""
    needed = sorted({x for tool in tools for x in lacking(tool)})
    for x in needed:
        names = ", ".join(tool.name for tool in tools if x in lacking(tool))
        print(f"without {x} there is no {names}: {ADVICE[x]}", file=sys.stderr)
    return [tool for tool in tools if not lacking(tool)]


def chosen(tool: Tool, name: str) -> bool:
    """Is a tool meant? By its name, or by how its name begins, if that is no tool's name."""
    exact = any(x.name == name for x in TOOLS)
    return tool.name == name if exact else tool.name.startswith(name)


def arguments() -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_const", dest="extent", const="quick", default="usual")
    parser.add_argument("--full", action="store_const", dest="extent", const="full")
    parser.add_argument("--rounds", type=int, default=5, help="number of runs, if a tool is fast enough (default: 5)")
    parser.add_argument("--tools", help="run only the tools with these names or prefixes, separated by semicolons")
    parser.add_argument("--out", type=Path, default=ROOT / "benchmarks" / "results")
    parser.add_argument("sizes", nargs="*", type=Size.of, metavar="SIZE")
    return parser.parse_args()


def main() -> int:
    """Measure, write, judge."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    options = arguments()
    names = options.tools.split(";") if options.tools else [""]
    tools = there([x for x in TOOLS if any(chosen(x, w) for w in names)])
    where = machine()
    if where["load before"] > 0.5:
        print(f"the computer is busy (load {where['load before']}): figures will be worse", file=sys.stderr)
    campaign = Campaign(options.rounds, LONGEST[options.extent])
    usual = {"quick": QUICK, "usual": USUAL, "full": FULL}[options.extent]
    for size in options.sizes or map(Size.of, usual):
        campaign.size(size, [x for x in tools if not x.symmetric])
    for size in options.sizes or map(Size.of, SYMMETRIC[options.extent]):
        campaign.size(size, [x for x in tools if x.symmetric])
    took = specs(min(options.rounds, 3), campaign.mistakes)
    judged = promises(campaign, took)
    results = {
        "machine": where,
        "rounds": options.rounds,
        "promises": [x.data() for x in judged],
        "ratios": ratios(campaign),
        "sizes": {k: {name: f.data() for name, f in x.items()} for k, x in campaign.figures.items()},
        "specs": took,
        "left out": campaign.left_out,
        "mistakes": campaign.mistakes,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "checker.json").write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n")
    (options.out / "checker.md").write_text(page(results, campaign))
    (options.out / "checker.svg").write_text(picture(campaign))
    print(page(results, campaign))
    for line in (*campaign.mistakes, *(f"not kept: {x.what}: {x.value}" for x in judged if not x.is_kept)):
        print(line, file=sys.stderr)
    return 1 if campaign.mistakes or not all(x.is_kept for x in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
