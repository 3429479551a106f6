"""What a state costs when several processes search: memory, processor, exchange, disk. For `docs/scale.md`.

Usage: python benchmarks/scale.py [--sizes 4_6_2,5_6_2] [--ranks 1,2,4] [--runs 3]. Writes
benchmarks/results/scale.json.

The model is the reference model, at sizes of groups, cells and cells for a group; its cells are told apart. Every rank
counts what goes through its exchange; a rank is a process, and has a processor to itself only where there are as many.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from math import inf
from pathlib import Path
from time import perf_counter, process_time, thread_time
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from fsmdsl.model.workspace import load  # noqa: E402
from fsmdsl.runs.verdicts.verdict import Keeping, Limits, Means  # noqa: E402
from fsmdsl.search.checkpoint.write import Saver  # noqa: E402
from fsmdsl.search.engine import Together  # noqa: E402
from fsmdsl.search.memory import Memory  # noqa: E402
from fsmdsl.search.packed_search import PackedSearch  # noqa: E402
from fsmdsl.search.ranks import distributed, process  # noqa: E402
from fsmdsl.search.ranks.exchange import Exchange, exchange  # noqa: E402
from fsmdsl.step import Universe  # noqa: E402
from fsmdsl.syntax.settings import setting  # noqa: E402

MODEL = ROOT / "benchmarks" / "hived_lite.fsm"
OUT = ROOT / "benchmarks" / "results" / "scale.json"
LARGEST_MESSAGE = 1 << 23
"""Words that a rank hands out in the measurement of the exchange alone: 64 MiB."""


@dataclass
class Timed:
    """An exchange that counts."""

    between: Exchange
    sent: int = 0
    """Bytes to other ranks."""
    calls: int = 0
    wall: float = 0.0
    cpu: float = 0.0
    rank: int = field(init=False)
    size: int = field(init=False)
    neighbours: int = field(init=False)

    def __post_init__(self) -> None:
        self.rank, self.size, self.neighbours = self.between.rank, self.between.size, self.between.neighbours

    def all_to_all(self, sent: Memory, counts: Sequence[int]) -> tuple[Memory, list[int]]:
        """See `Exchange`."""
        self.sent += 8 * (sum(counts) - counts[self.rank])
        with self._timed():
            return self.between.all_to_all(sent, counts)

    def all_reduce(self, numbers: Sequence[int], how: Together) -> list[int]:
        """See `Exchange`."""
        with self._timed():
            return self.between.all_reduce(numbers, how)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        wall, cpu = perf_counter(), thread_time()
        try:
            yield
        finally:
            self.calls += 1
            self.wall += perf_counter() - wall
            self.cpu += thread_time() - cpu


# In every rank -------------------------------------------------------------------------------------------------------


def searched(size: str, saved: Path) -> dict[str, Any]:
    """One search by all ranks, and what it took."""
    groups, cells, each = size.split("_")
    settings = dict(map(setting, (f"groups={groups}", f"cells={cells}", f"size={each}")))
    model = load([str(MODEL)], settings=settings).model
    assert model is not None
    universe = Universe(model, next(iter(model.systems.values())))
    between = Timed(exchange())
    search = PackedSearch(universe, Limits(), Means(symmetry=False))
    keeping = Keeping(saved, None, inf)
    saver = Saver(keeping, search, between)
    search.store, search.engines = saver, process.Ranks(search, between, saver)
    search.budget.shared = True  # as in several ranks: a rank has only a part of the states to check anew
    blocks = _watched(distributed.Distributed, "block", lambda x: x.frontier.depth)
    saving = _watched(Saver, "save", lambda _: 0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = perf_counter(), process_time()
    search.run()
    wall, cpu = perf_counter() - wall - sum(s for _, s in saving), process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    engine = search.engine
    assert isinstance(engine, distributed.Distributed)

    def total(x: float) -> int:
        return exchange().all_reduce([int(x)], "sum")[0]

    disk = sum(x.stat().st_size for x in saved.rglob("*.states"))
    level_of, width = Counter[int](), search.lowered.layout.words
    for level, seconds in blocks:
        level_of[level] += seconds
    return {
        "states": search.states,
        "transitions": search.transitions,
        "levels": len(search.levels),
        "words": width,
        "wall s": round(wall, 3),
        "processor s of all ranks, without exchange": round(total(1e6 * (cpu - between.cpu)) / 1e6, 3),
        "processor s of all ranks, in the exchange": round(total(1e6 * between.cpu) / 1e6, 3),
        "wall s in the exchange, of the first rank": round(between.wall, 3),
        "bytes exchanged": total(between.sent),
        "calls of the exchange": between.calls,
        "blocks": len(blocks),
        "bytes kept": total(engine.used()),
        "bytes resident": total(1024 * peak),
        "bytes on disk": disk,
        "wall s to save": round(sum(s for _, s in saving), 3),
        "s of the longest block": round(max(s for _, s in blocks), 3),
        "states by level": search.levels,
        "wall s by level": {level: round(seconds, 3) for level, seconds in sorted(level_of.items())},
    }


def _watched(owner: type, name: str, what: Callable[[Any], int]) -> list[tuple[int, float]]:
    """How long each call of a method will take, and what is asked of its object before."""
    took: list[tuple[int, float]] = []
    real: Callable[..., Any] = getattr(owner, name)

    def timed(*arguments: Any) -> Any:
        size, begun = what(arguments[0]), perf_counter()
        answer = real(*arguments)
        took.append((size, perf_counter() - begun))
        return answer

    setattr(owner, name, timed)
    return took


def exchanged() -> dict[str, Any]:
    """The exchange alone: the time of the smallest, and what a large one comes to."""
    between, seconds = exchange(), {}
    for what, words, times in (("smallest", between.size, 300), ("largest", LARGEST_MESSAGE, 5)):
        sent = Memory(words)
        for n in range(0, words, 512):
            sent.numbers[n] = n
        counts = [words // between.size] * between.size
        took = []
        for _ in range(times):
            between.all_reduce([0], "max")
            begun = perf_counter()
            between.all_to_all(sent, counts)
            took.append(perf_counter() - begun)
        seconds[what] = min(took)
    others = LARGEST_MESSAGE * 8 * (between.size - 1) // between.size
    return {
        "microseconds of the smallest": round(1e6 * seconds["smallest"], 1),
        "MB/s of a rank, to others": round(others / seconds["largest"] / 1e6),
    }


# Over all ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Machine:
    """Where it was measured, and how busy it was."""

    python: str = platform.python_version()
    system: str = platform.platform()
    cores: int | None = os.cpu_count()
    processor: str = ""
    load: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @staticmethod
    def here() -> Machine:
        """This one, now."""
        names = [x for x in Path("/proc/cpuinfo").read_text("utf-8").splitlines() if x.startswith("model name")]
        return Machine(processor=names[0].partition(": ")[2] if names else "", load=os.getloadavg())


def by_ranks(count: int, *arguments: str) -> dict[str, Any]:
    """What the ranks have measured."""
    mpiexec = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    command = [sys.executable, __file__, *arguments]
    if count > 1:
        if mpiexec is None:
            sys.exit("there is no mpiexec: pip install 'fsmdsl[mpi,fast]'")
        command = [mpiexec, "-n", str(count), *command]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    measurements: dict[str, Any] = json.loads(done.stdout)
    return measurements


def measured(size: str, count: int, runs: int) -> dict[str, Any]:
    """The quickest of several runs; the first makes the machine code, if there is none."""
    samples = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory() as folder:
            samples.append(by_ranks(count, "--one", size, "--folder", folder))
    best = min(samples, key=lambda x: x["wall s"])
    n = best["states"]
    cpu = min(x["processor s of all ranks, without exchange"] for x in samples)
    away = (count - 1) / count
    # Of what is exchanged for a state, 16 bytes are its key and its number.
    messages = (best["bytes exchanged"] / n / away - 16) / (8 * best["words"] + 8) if count > 1 else 0.0
    return {
        "size": size,
        "ranks": count,
        "runs": runs,
        **best,
        "microseconds of a processor for a state": round(1e6 * cpu / n, 3),
        "bytes kept of a state": round(best["bytes kept"] / n, 1),
        "bytes exchanged for a state": round(best["bytes exchanged"] / n, 1),
        "successors sent for a state": round(messages, 2),
        "successors of a state": round(best["transitions"] / n, 2),
        "bytes on disk of a state": round(best["bytes on disk"] / n, 1),
    }


def main() -> None:
    """Measure, print, write; in a rank, measure and print."""
    parser = argparse.ArgumentParser(description="Measure the cost per state when several processes search.")
    parser.add_argument("--sizes", default="4_5_2,4_6_2,5_6_2")
    parser.add_argument("--ranks", default="1,2,4")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    parser.add_argument("--folder", help=argparse.SUPPRESS)
    parser.add_argument("--exchange", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one or options.exchange:
        measurements = exchanged() if options.exchange else searched(options.one, Path(options.folder))
        if exchange().rank == 0:
            print(json.dumps(measurements))
        return
    counts = [int(x) for x in options.ranks.split(",")]
    results: dict[str, Any] = {"machine": asdict(Machine.here()), "exchange": {}, "searches": []}
    for count in counts:
        if count > 1:
            results["exchange"][str(count)] = by_ranks(count, "--exchange")
            print(f"{count} ranks: {results['exchange'][str(count)]}", file=sys.stderr)
    for size in options.sizes.split(","):
        for count in counts:
            x = measured(size, count, options.runs)
            results["searches"].append(x)
            print(
                f"{size}, {count} ranks: {x['states']:,} states, {x['wall s']} s,"
                f" {x['microseconds of a processor for a state']} µs, {x['bytes kept of a state']} B kept,"
                f" {x['bytes exchanged for a state']} B exchanged",
                file=sys.stderr,
            )
    results["machine"]["load at the end"] = os.getloadavg()
    OUT.write_text(json.dumps(results, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
