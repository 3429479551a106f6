"""What the extra `fast` gives: the same search compiled to machine code, and in plain Python.

Usage: python benchmarks/compiled.py [--size 4_6_2] [--runs 3]. Writes benchmarks/results/compiled.json.

The model is the reference model (`hived_lite.fsm`), without symmetry. Whole processes are timed, from the start of
`fsm verify` to its verdict, in turns; `cold` has an empty cache of machine code, `cached` what `cold` has left there.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "compiled.json"

PLAIN = "import sys; sys.modules['llvmlite'] = None; sys.argv[0] = 'fsm'; from fsmdsl.__main__ import main; main()"
"""As if the extra was not installed."""


def measured(start: list[str], settings: list[str], cache: str) -> tuple[float, int]:
    """Seconds until the verdict, and the states."""
    command = [sys.executable, *start, "verify", "benchmarks/hived_lite.fsm", "--no-symmetry", *settings]
    begun = perf_counter()
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "FSMDSL_CACHE": cache}, capture_output=True, text=True, check=True
    )
    took = perf_counter() - begun
    (states,) = re.findall(r"([\d,]+) states", done.stdout)
    return took, int(states.replace(",", ""))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", default="4_6_2", help="numbers of groups, of cells, and of cells per group")
    parser.add_argument("--runs", type=int, default=3)
    chosen = parser.parse_args()
    settings = [f"--set={x}={n}" for x, n in zip(("groups", "cells", "size"), chosen.size.split("_"), strict=True)]
    took: dict[str, list[float]] = {"cold": [], "cached": [], "plain": []}
    counted: set[int] = set()
    for _ in range(chosen.runs):
        with TemporaryDirectory() as cache:
            for name, start in (("cold", ["-m", "fsmdsl"]), ("cached", ["-m", "fsmdsl"]), ("plain", ["-c", PLAIN])):
                seconds, states = measured(start, settings, cache)
                took[name].append(round(seconds, 2))
                counted.add(states)
    (states,) = counted
    least = {name: min(times) for name, times in took.items()}
    results = {
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()},
        "size": chosen.size, "states": states, "runs": chosen.runs, "seconds": took,
        "times as soon as plain Python": {x: round(least["plain"] / least[x], 1) for x in ("cold", "cached")},
    }  # fmt: skip
    print(json.dumps(results, indent=2))
    RESULTS.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
