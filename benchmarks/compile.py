"""How long `fsm check` takes: on all specs from a cold start, and on made-up specs of growing size.

Usage: python benchmarks/compile.py [runs]. Writes benchmarks/results/compile.json. Whole processes are timed.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from made_up import spec

ROOT = Path(__file__).parent.parent
SIZES = (1_250, 2_500, 5_000, 10_000)


def seconds(arguments: list[str], runs: int) -> dict[str, float]:
    """Least and median time of a process, after one that warms the disk's cache."""
    took: list[float] = []
    for _ in range(runs + 1):
        begun = perf_counter()
        subprocess.run([sys.executable, "-m", "fsmdsl", *arguments], cwd=ROOT, capture_output=True, check=True)
        took.append(perf_counter() - begun)
    return {"least": round(min(took[1:]), 3), "median": round(median(took[1:]), 3)}


def main() -> None:
    """Measure, print, write."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    results: dict[str, object] = {
        "machine": {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()},
        "runs": runs,
        "help": seconds(["--help"], runs),
        "specs": seconds(["check", "specs"], runs),
    }
    with tempfile.TemporaryDirectory() as folder:
        for size in SIZES:
            path = Path(folder, f"made_up_{size}.fsm")
            path.write_text(spec(size), "utf-8")
            results[f"made up, {size} transitions"] = seconds(["check", str(path)], max(runs // 2, 1))
    for name, value in results.items():
        print(f"{name}: {value}")
    out = ROOT / "benchmarks" / "results" / "compile.json"
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
