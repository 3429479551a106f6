"""How long `fsm verify` and `fsm report` take for a whole folder, beside an older revision, alternating.

Usage: python benchmarks/folders.py CHECKOUT [--runs N] [--specs FOLDER]

CHECKOUT is an older revision (`git worktree add`); both read its specs. Each has a cache of its own for compiled code,
which a first, uncounted run fills. Prints the least of all runs: seconds on the wall, which depend on what else the
computer does, and of the processors, which do so less.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parent.parent
COMMANDS = ("verify", "report")


def seconds(command: list[str], checkout: Path, folder: Path) -> tuple[float, float]:
    """On the wall, and of the processors."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPATH": str(checkout), "FSMDSL_CACHE": str(folder / "cache")}
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)
    took, after = perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        sys.exit(f"{checkout}: {' '.join(command)}: exit code {done.returncode}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="checkout of the older revision")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--specs", type=Path)
    options = parser.parse_args()
    older = options.checkout.resolve()
    specs = (options.specs or older / "specs").resolve()
    with tempfile.TemporaryDirectory() as folder:
        for command in COMMANDS:
            least = {ROOT: (float("inf"), float("inf")), older: (float("inf"), float("inf"))}
            for number in range(options.runs + 1):
                for n, checkout in enumerate(least):
                    own = Path(folder, str(n))
                    own.mkdir(exist_ok=True)
                    took = seconds([sys.executable, "-m", "fsmdsl", command, str(specs)], checkout, own)
                    if number:
                        least[checkout] = min(least[checkout][0], took[0]), min(least[checkout][1], took[1])
            (wall, own_cpu), (older_wall, older_cpu) = least[ROOT], least[older]
            there = (
                f"there {older_wall:.2f} s and {older_cpu:.2f} s: {wall / older_wall:.2f} and {own_cpu / older_cpu:.2f}"
            )
            print(f"fsm {command}: {wall:.2f} s, {own_cpu:.2f} s of the processors; {there} of it", flush=True)


if __name__ == "__main__":
    main()
