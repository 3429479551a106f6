"""Behind the stand-in of a cluster of today: bound pods a second of gated gangs, beside gangs of the extender.

    python benchmarks/allocator/gates.py [--gangs 500]

Both ways take turns in one run, with 32 gangs of eight pods in each round: all are created, all are bound, all are
deleted. Time counts from the first creation to the last binding. Prints the median of the rounds of each way as JSON.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

import click

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "runtime"), str(ROOT / "tests" / "runtime" / "e2e")]

from behind import NODES, PODS, Behind  # noqa: E402
from control_plane import documents, until  # noqa: E402
from planes import StandIn  # noqa: E402
from test_e2e_gates import gated_gang  # noqa: E402

ROUND, SIZE, THREADS = 32, 8, 4


def play(behind: Behind, way: str, number: int) -> float:
    """Bound pods a second, in one round."""

    def create(gang: int) -> None:
        name, tenant = f"{way}-{number}-{gang}", ("research", "product")[gang % 2]
        if way == "gates":
            gated_gang(behind, name, tenant, 1, SIZE, 1)
        else:
            behind.gang(name, tenant, 1, (SIZE, 1))

    begun = time.monotonic()
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(create, range(ROUND)))
    until(lambda: _bound(behind) == ROUND * SIZE, "all are bound", 120)
    rate = ROUND * SIZE / (time.monotonic() - begun)
    behind.clear()
    return rate


def _bound(behind: Behind) -> int:
    return sum(bool(pod["spec"].get("nodeName")) for pod in behind.plane.ask("GET", PODS)["items"])


@click.command()
@click.option("--gangs", default=500, help="Gangs of each way in all.")
def main(gangs: int) -> None:
    """Measures and prints."""
    with tempfile.TemporaryDirectory() as folder:
        plane = StandIn(Path(folder))
        try:
            plane.start(NODES)
            for thing in documents("rbac.yaml", "priorities.yaml"):
                plane.apply(thing)
            behind = Behind(plane)
            behind.allocator.start()
            rates: dict[str, list[float]] = {"extender": [], "gates": []}
            for number in range(-(-gangs // ROUND)):
                for way in ("extender", "gates") if number % 2 else ("gates", "extender"):
                    rates[way].append(play(behind, way, number))
                    print(f"{way}: {rates[way][-1]:.0f} pods/s", file=sys.stderr, flush=True)
            behind.allocator.end()
        finally:
            plane.stop()
    print(
        json.dumps(
            {way: {"median": round(median(x)), "rounds": len(x), "lowest": round(min(x))} for way, x in rates.items()}
        )
    )


if __name__ == "__main__":
    main()
