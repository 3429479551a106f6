"""The model checker beside an older one of its own: the same model and the same specs, in turns, in one run.

Usage: python benchmarks/checker/beside.py CHECKOUT [--rounds N] [SIZE …]

CHECKOUT is an older revision (`git worktree add`) with its `.venv` (`make .venv/.installed`). Prints how many times as
long this one takes for each command, and exits with 1 if counts differ or something takes more than 5 % longer. A size
is GROUPS_CELLS_SIZE, as in run.py. Both read the older one's specs, which say what both can say. Both keep bytecode, as
where they are installed, whatever the environment says.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from measure import Campaign, Figures
from process import run
from tools import TOOLS, Command, Size, Tool

ROOT = Path(__file__).parent.parent.parent
OURS = [x for x in TOOLS if x.cached is not None]
SIZES = ["3_4_2", "4_6_2", "5_6_2", "5_7_2"]
SLACK = 1.05
"""Maximum ratio of the new time to the old time."""

COMMANDS: list[tuple[str, ...]] = [("--help",), ("check", "specs"), ("test", "specs"), ("verify", "specs")]
"""What else is run, in the folder of the older one."""


def older(tool: Tool, checkout: Path) -> Tool:
    """The same, searched by an older revision."""
    before = tool.command

    def command(size: Size, states: int) -> Command:
        _, *rest = before(size, states)
        return [str(python(checkout)), *rest]

    return replace(tool, name=f"older {tool.name}", command=command)


def python(checkout: Path) -> Path:
    """The interpreter that has a checkout installed."""
    return checkout / ".venv" / "bin" / "python"


def whole(figures: Figures) -> float:
    """Seconds: the least of all runs."""
    return min(figures.whole)


def searches(checkout: Path, sizes: list[Size], rounds: int, mistakes: list[str]) -> dict[str, float]:
    """For each search, how many times as long as the older one it takes."""
    campaign = Campaign(rounds, 200)
    for size in sizes:
        for symmetric in (False, True):
            mine = [x for x in OURS if x.symmetric == symmetric]
            campaign.size(size, [*mine, *(older(x, checkout) for x in mine)])
    mistakes += campaign.mistakes
    return {
        f"{size}, {x.tool.name}": whole(x) / whole(figures[f"older {x.tool.name}"])
        for size, figures in campaign.figures.items()
        for x in ours(figures)
        if f"older {x.tool.name}" in figures
    }


def ours(figures: dict[str, Figures]) -> list[Figures]:
    """This one's figures at a size."""
    return [x for name, x in figures.items() if not name.startswith("older ")]


def commands(checkout: Path, rounds: int, mistakes: list[str]) -> dict[str, float]:
    """For each command, how many times as long as the older one it takes: the median of both, in turns."""
    ratios: dict[str, float] = {}
    for command in COMMANDS:
        took: dict[Path, list[float]] = {ROOT: [], checkout: []}
        with TemporaryDirectory(prefix="fsmdsl-cache-") as cache:
            for number in range(rounds + 1):
                for tree, seconds in took.items():
                    # Each has a cache of its own, which the first, uncounted run fills.
                    environment = {**os.environ, "FSMDSL_CACHE": f"{cache}/{tree.name}-{tree == ROOT}"}
                    interpreter = sys.executable if tree == ROOT else str(python(tree))
                    done = run([interpreter, "-m", "fsmdsl", *command], checkout, 300, environment)
                    seconds += [done.seconds] if number else []
                    # That something is violated is an answer, too.
                    if done.code not in (0, 1):
                        mistakes.append(f"{tree}: {' '.join(command)}: exit {done.code}: {done.output[-300:].strip()}")
        ratios[" ".join(command)] = median(took[ROOT]) / median(took[checkout])
    return ratios


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("sizes", nargs="*", type=Size.of, metavar="SIZE")
    arguments = parser.parse_intermixed_args()
    checkout, mistakes = arguments.checkout.resolve(), list[str]()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONSAFEPATH"] = "1"  # else each reads the code of the folder that it runs in
    ratios = commands(checkout, arguments.rounds, mistakes)
    ratios |= searches(checkout, arguments.sizes or [Size.of(x) for x in SIZES], arguments.rounds, mistakes)
    for name, times in ratios.items():
        print(f"{times:5.2f}  {name}{'  more than 5 % longer' if times > SLACK else ''}")
    print(*mistakes, sep="\n", file=sys.stderr)
    return 1 if mistakes or max(ratios.values()) > SLACK else 0


if __name__ == "__main__":
    sys.exit(main())
