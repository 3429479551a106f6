"""One implementation, in a process of its own. Prints JSON.

events: Run, Complete, Run, for ever, on a running application. life: a new one through nine events to Expired.
bytes: what an instance costs, of many that are kept.

Usage: python measure.py NAME RUNS, with the folders of what NAME needs in PYTHONPATH.
"""

from __future__ import annotations

import gc
import json
import sys
import tracemalloc
from collections.abc import Callable
from time import perf_counter
from typing import Any

from implementations import ALL


def cycle(machine: Any, times: int) -> None:
    """Three events each time."""
    for _ in range(times):
        machine.run()
        machine.complete()
        machine.run()


def life(machine: Any) -> None:
    """Nine events, from New to Expired."""
    machine.run()
    machine.run()
    machine.run()
    machine.run()
    machine.complete()
    machine.run()
    machine.complete()
    machine.complete()
    machine.expire()


def many_lives(make: Callable[[], Any], times: int) -> None:
    """New ones, each through its whole life."""
    for _ in range(times):
        life(make())


def least(work: Callable[[], object], runs: int) -> float:
    """Seconds, the best of some runs."""
    took = []
    for _ in range(runs):
        gc.collect()
        begun = perf_counter()
        work()
        took.append(perf_counter() - begun)
    return min(took)


def often_enough(work: Callable[[int], object]) -> int:
    """How often something has to be done to take a tenth of a second."""
    times, took = 2, 0.0
    while took < 0.1:
        times *= 2
        begun = perf_counter()
        work(times)
        took = perf_counter() - begun
    return times


def bytes_each(make: Callable[[], Any], count: int) -> float:
    """What an instance takes, after it has been used."""
    tracemalloc.start()
    instances: list[Any] = [None] * count
    before = tracemalloc.get_traced_memory()[0]
    for i in range(count):
        instances[i] = make()
    for x in instances:
        cycle(x, 1)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return used / count


def measured(name: str, runs: int) -> dict[str, float]:
    """All figures of one implementation."""
    make, state = ALL[name]()
    one = make()
    life(one)
    assert state(one) == "Expired", state(one)
    running = make()
    cycle(running, 1)
    times = often_enough(lambda n: cycle(running, n))
    event = least(lambda: cycle(running, times), runs) / times / 3
    lives = often_enough(lambda n: many_lives(make, n))
    whole = least(lambda: many_lives(make, lives), runs) / lives
    return {
        "ns an event": round(event * 1e9, 1),
        "events a second": round(1 / event),
        "us a life": round(whole * 1e6, 2),
        "bytes an instance": round(bytes_each(make, 50_000 if whole < 1e-5 else 1_000), 1),
    }


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
