"""How long the allocator takes to decide, and to recover: by the size of the cluster, beside a plain first fit.

Usage: python benchmarks/allocator/run.py. Writes benchmarks/results/allocator.json and allocator.md, and exits with 1
if a promise is not kept. A computer that does other things as well interrupts one decision in some hundred, so that the
99th percentile of the wall clock shows those other things. Where it is busy at the beginning, that percentile and
recovery are told and judged by the time that the processor has worked; both are in the JSON.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from math import sqrt
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
RESULTS = HERE.parent / "results"
SIZES = (2048, 8192, 65_536)
DECISIONS = (
    "half full, 1 pod of 8",
    "half full, 2 pods of 4",
    "half full, 8 pods of 1",
    "nearly full of whole nodes, 1 pod of 8",
    "nearly full, 8 pods of 1",
    "full, displacing weaker gangs",
)
LENT = ("full of opportunistic gangs, 1 pod of 8", "full of opportunistic gangs, 8 pods of 8")
"""Somebody has to go, and fewest are looked for: bounded, and slower."""
PLAIN = ("first fit over all nodes, half full", "first fit over all nodes, nearly full")
JOURNALED = ("journaled, a commit each", "journaled, 32 in a commit")
MACHINES = ("machines, generated", "machines, transitions")
RECOVERIES = ("from the journal", "from bound pods")
GANGS = 10_000
Figures = dict[str, Any]


def measure(what: str, number: int) -> Figures:
    """In a process of its own."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "work.py"), what, str(number)]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    print(f"{what}, {number}: {done.stdout.strip()}", flush=True)
    return dict(json.loads(done.stdout))


def results() -> Figures:
    """All figures."""
    found: Figures = {what: {str(n): measure(what, n) for n in SIZES} for what in (*DECISIONS, *LENT, *PLAIN)}
    found |= {what: {"2048": measure(what, 2048)} for what in JOURNALED}
    found |= {what: measure(what, 8) for what in MACHINES}
    return {**found, "recovery": measure("recovery", GANGS)}


def ratios(found: Figures) -> Figures:
    """How cost grows with the cluster, and how it compares with what knows nothing."""
    least, most = str(SIZES[0]), str(SIZES[-1])
    growth = {what: found[what][most]["median"] / found[what][least]["median"] for what in (*DECISIONS, *PLAIN)}
    full = {
        n: found["nearly full of whole nodes, 1 pod of 8"][n]["median"] / found[PLAIN[1]][n]["median"]
        for n in (least, most)
    }
    generated, library = (found[what]["median"] for what in MACHINES)
    return {
        f"cost at {most} devices over cost at {least}": {what: round(x, 2) for what, x in growth.items()},
        "times first fit, nearly full": {n: round(x, 1) for n, x in full.items()},
        "times faster than the same machines by transitions": round(library / generated, 1),
    }


def broken(found: Figures) -> list[str]:
    """The promises that are not kept."""
    small, large = str(SIZES[0]), str(SIZES[-1])
    allowed, clock = sqrt(SIZES[-1] / SIZES[0]), _clock(found)
    judged = [
        *((f"{w}: 1 ms at {small}", found[w][small]["median"], 1) for w in DECISIONS),
        *((f"{w}: 5 ms at {small}, 99 %", found[w][small][f"{clock}p99"], 5) for w in DECISIONS),
        *((f"{w}: 2 ms at {large}", found[w][large]["median"], 2) for w in DECISIONS),
        *((f"{w}: grows", found[w][large]["median"] / found[w][small]["median"], allowed) for w in DECISIONS),
        *((f"recovery {w}: 5 s", found["recovery"][f"{w}{', cpu' if clock else ''}"], 5) for w in RECOVERIES),
    ]
    return [f"{what}: {value:.3g}" for what, value, most in judged if value > most]


def _clock(found: Figures) -> str:
    """By which 99th percentiles are judged: the processor's where the computer was busy."""
    return "cpu " if found["machine"]["load at the beginning"] > found["machine"]["cores"] / 2 else ""


def page(found: Figures) -> str:
    """The figures as tables to read."""
    clock = _clock(found)
    busy = f" of processor time, as the computer was busy (load {found['machine']['load at the beginning']})"
    lines = [
        "# The allocator",
        "",
        "A gang of eight devices placed and allocated, in a cluster of racks of 16 nodes of 8 devices with two virtual",
        "clusters, among others that come and go. Milliseconds: median of the wall clock /",
        f"99th percentile{busy if clock else ''}.",
        "",
        f"| | {' | '.join(f'{n:,} devices' for n in SIZES)} |",
        "|---" * (len(SIZES) + 1) + "|",
    ]
    for what in (*DECISIONS, *LENT, *PLAIN):
        lines.append(f"| {what} | " + " | ".join(_cell(found[what][str(n)], clock) for n in SIZES) + " |")
    for what in JOURNALED:
        lines.append(f"| half full, {what} (wall clock) | {_cell(found[what]['2048'], '')} | | |")
    lines += ["", "First fit knows no virtual clusters, no topology, no priorities and no life cycles.", ""]
    for what, figures in found["ratios"].items():
        told = "; ".join(f"{k}: {v}" for k, v in figures.items()) if isinstance(figures, dict) else str(figures)
        lines.append(f"* {what}: {told}")
    recovered = [f"{w} in {found['recovery'][w + ', cpu' if clock else w]} s" for w in RECOVERIES]
    spent = " of processor time" if clock else ""
    lines += [f"* {GANGS:,} running gangs recovered {', '.join(recovered)}{spent}", ""]
    lines += [", ".join(f"{k} {v}" for k, v in found["machine"].items()), ""]
    return "\n".join(lines)


def _cell(figures: Figures, clock: str) -> str:
    return f"{figures['median']:.3g} / {figures[f'{clock}p99']:.3g}"


def main() -> int:
    """Measure, write, judge."""
    load = os.getloadavg()[0]
    found = results()
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()}
    found = {"machine": {**machine, "load at the beginning": round(load, 1)}, **found, "ratios": ratios(found)}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "allocator.json").write_text(json.dumps(found, indent=2) + "\n")
    (RESULTS / "allocator.md").write_text(page(found))
    print(page(found))
    missed = broken(found)
    for what in missed:
        print(f"not kept: {what}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
