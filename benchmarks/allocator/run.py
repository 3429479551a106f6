"""How long the allocator takes to decide, and to recover: by the size of the cluster, beside first fit.

Usage: python benchmarks/allocator/run.py. Writes benchmarks/results/allocator.json and allocator.md, and exits with 1
if a promise is not kept. A computer that does other things as well interrupts one decision in some hundred, so that the
99th percentile of the wall clock shows those other things. Each kind of decision is measured several times, all sizes
in turns, and the least figure counts. Where the computer is busy at the beginning, decisions and recovery are reported
and judged by the time that the processor has worked; both are in the JSON.

HiveD's times are in benchmarks/results/allocator-beside-hived.md, from a run with its own code as a program.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
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
ROUNDS = 6
"""How often each kind of decision is measured, at all sizes in turn."""
GROWTH = 1.2
"""How much longer a decision may take at most in the largest cluster than in the smallest."""
LENT = ("full of opportunistic gangs, 1 pod of 8", "full of opportunistic gangs, 8 pods of 8")
"""Some gangs have to leave, and the smallest set is searched for: bounded, and slower."""
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


def least(*rounds: Figures) -> Figures:
    """Of each figure, the least of all rounds: whatever else the computer does can only make them larger."""
    return {figure: min(figures[figure] for figures in rounds) for figure in rounds[0]}


def results() -> Figures:
    """All figures."""
    measurements: Figures = {what: {str(n): measure(what, n) for n in SIZES} for what in (*LENT, *PLAIN)}
    for what in DECISIONS:
        rounds: dict[str, list[Figures]] = {str(n): [] for n in SIZES}
        for _ in range(ROUNDS):
            for n in SIZES:
                rounds[str(n)].append(measure(what, n))
        measurements[what] = {n: least(*figures) for n, figures in rounds.items()}
    measurements |= {what: {"2048": measure(what, 2048)} for what in JOURNALED}
    measurements |= {what: measure(what, 8) for what in MACHINES}
    return {**measurements, "recovery": measure("recovery", GANGS)}


def ratios(measurements: Figures) -> Figures:
    """How cost grows with the cluster, and how it compares with what knows nothing."""
    least, most = str(SIZES[0]), str(SIZES[-1])
    middle = f"{_clock(measurements)}median"
    growth = {
        what: measurements[what][most][middle] / measurements[what][least][middle] for what in (*DECISIONS, *PLAIN)
    }
    full = {
        n: measurements["nearly full of whole nodes, 1 pod of 8"][n]["median"] / measurements[PLAIN[1]][n]["median"]
        for n in (least, most)
    }
    generated, library = (measurements[what]["median"] for what in MACHINES)
    return {
        f"cost at {most} devices over cost at {least}": {what: round(x, 2) for what, x in growth.items()},
        "times first fit, nearly full": {n: round(x, 1) for n, x in full.items()},
        "times faster than the same machines by transitions": round(library / generated, 1),
    }


def broken(measurements: Figures) -> list[str]:
    """The promises that are not kept."""
    small, large = str(SIZES[0]), str(SIZES[-1])
    clock = _clock(measurements)
    judged = [
        *((f"{w}: 1 ms at {small}", measurements[w][small]["median"], 1) for w in DECISIONS),
        *((f"{w}: 5 ms at {small}, 99 %", measurements[w][small][f"{clock}p99"], 5) for w in DECISIONS),
        *((f"{w}: 2 ms at {large}", measurements[w][large]["median"], 2) for w in DECISIONS),
        *(
            (f"{w}: grows", measurements["ratios"][f"cost at {large} devices over cost at {small}"][w], GROWTH)
            for w in DECISIONS
        ),
        *((f"recovery {w}: 5 s", measurements["recovery"][f"{w}{', cpu' if clock else ''}"], 5) for w in RECOVERIES),
    ]
    return [f"{what}: {value:.3g}" for what, value, most in judged if value > most]


def _clock(measurements: Figures) -> str:
    """By which 99th percentiles are judged: the processor's where the computer was busy."""
    return "cpu " if measurements["machine"]["load at the beginning"] > measurements["machine"]["cores"] / 2 else ""


def page(measurements: Figures) -> str:
    """The figures as tables to read."""
    clock = _clock(measurements)
    busy = f" of processor time, as the computer was busy (load {measurements['machine']['load at the beginning']})"
    lines = [
        "# The allocator",
        "",
        "A gang of eight devices placed and allocated, in a cluster of racks of 16 nodes of 8 devices with two virtual",
        f"clusters, among others that come and go. Milliseconds: median / 99th percentile{busy if clock else ''}.",
        f"The least of {ROUNDS} runs, in which all sizes had their turns; one run where opportunistic gangs fill all.",
        "",
        f"| | {' | '.join(f'{n:,} devices' for n in SIZES)} |",
        "|---" * (len(SIZES) + 1) + "|",
    ]
    for what in (*DECISIONS, *LENT, *PLAIN):
        lines.append(f"| {what} | " + " | ".join(_cell(measurements[what][str(n)], clock) for n in SIZES) + " |")
    for what in JOURNALED:
        lines.append(f"| half full, {what} (wall clock) | {_cell(measurements[what]['2048'], '')} | | |")
    lines += ["", "First fit knows no virtual clusters, no topology, no priorities and no life cycles.", ""]
    for what, figures in measurements["ratios"].items():
        text = "; ".join(f"{k}: {v}" for k, v in figures.items()) if isinstance(figures, dict) else str(figures)
        lines.append(f"* {what}: {text}")
    recovered = [f"{w} in {measurements['recovery'][w + ', cpu' if clock else w]} s" for w in RECOVERIES]
    spent = " of processor time" if clock else ""
    lines += [f"* {GANGS:,} running gangs recovered {', '.join(recovered)}{spent}", ""]
    lines += [", ".join(f"{k} {v}" for k, v in measurements["machine"].items()), ""]
    return "\n".join(lines)


def _cell(figures: Figures, clock: str) -> str:
    return f"{figures[f'{clock}median']:.3g} / {figures[f'{clock}p99']:.3g}"


def main() -> int:
    """Measure, write, judge."""
    load = os.getloadavg()[0]
    machine = {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform()}
    measurements = {"machine": {**machine, "load at the beginning": round(load, 1)}, **results()}
    measurements["ratios"] = ratios(measurements)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "allocator.json").write_text(json.dumps(measurements, indent=2) + "\n")
    (RESULTS / "allocator.md").write_text(page(measurements))
    print(page(measurements))
    missed = broken(measurements)
    for what in missed:
        print(f"not kept: {what}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
