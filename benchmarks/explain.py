"""How fast `fsm explain` reads a log, and in how much memory: lines a second of one core, for `docs/explain.md`.

    python benchmarks/explain.py [--lines 1000000] [--kinds own,search,ends,half,window] [--gangs 2]

Each log is a random walk of gangs that share GPUs, one JSON object on each line with a time, a level, a message and a
name. `own`: the names are those of the system; `search`: two names that are bound by search; `ends`: each gang has a
new name, and the name ends with it; `half`: half of the lines are removed at random; `window`: as `own`, sorted by time
in a window of 2 s. Each is explained in a process of its own, from a file; the time is the processor's, of all of it.
"""

from __future__ import annotations

import argparse
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import process_time

ROOT = Path(__file__).parent.parent
KINDS = ("own", "search", "ends", "half", "window")
SPEC = """\
module gang

machine Gang {
    initial state Queued
            state Half
            state Running
    event grow, finish from environment
    Queued  -> Half     on grow
    Half    -> Running  on grow
    Running -> Queued   on finish
}

system Gpus {
    gangs: Gang[GANGS]
    let used = (count g in gangs: g not in Queued) + (count g in gangs: g in Running)
    environment {
        some g in gangs: g.grow when used < GANGS
        some g in gangs: g.finish
    }
}
"""
LINE = """\

[[line]]
when = {{ msg = "{event}" }}
of = "gangs"
instance = "{{gang}}"
event = "{event}"
"""


def walk(gangs: int, lines: int) -> Iterator[tuple[int, str, bool]]:
    """The gang, the event, and whether the gang was idle before. None begins with the last GPU: all could be stuck."""
    dice, gpus = random.Random(1), [0] * gangs
    for _ in range(lines):
        used = sum(gpus)
        g = dice.choice([g for g in range(gangs) if gpus[g] == 2 or used + (gpus[g] == 0) < gangs])
        if gpus[g] == 2:
            gpus[g] = 0
            yield g, "finish", False
        else:
            gpus[g] += 1
            yield g, "grow", gpus[g] == 1


def write(folder: Path, kind: str, gangs: int, lines: int) -> None:
    """Spec, mapping and log."""
    (folder / "gang.fsm").write_text(SPEC.replace("GANGS", str(gangs)))
    text = 'spec = "gang.fsm"\nsystem = "Gpus"\n'
    text += "hidden = 8\n" if kind == "half" else ""
    text += 'time = "time"\nwindow = "2s"\n' if kind == "window" else ""
    text += "in_order = true\n" if kind == "ends" else ""
    for event in ("grow", "finish"):
        text += LINE.format(event=event)
        text += "lost = true\n" if kind == "half" else ""
        text += "ends = true\n" if kind == "ends" and event == "finish" else ""
    (folder / "gang.toml").write_text(text)
    dice, births = random.Random(2), [0] * gangs
    with (folder / "run.log").open("w") as out:
        for n, (g, event, new) in enumerate(walk(gangs, lines * (2 if kind == "half" else 1))):
            births[g] += new
            if kind == "half" and dice.random() < 0.5:
                continue
            name = {"search": f"job-{g}", "ends": f"job-{g}-{births[g]}"}.get(kind, f"g{g}")
            line = {"time": round(1e9 + n / 50, 3), "level": "info", "msg": event, "gang": name}
            out.write(json.dumps(line) + "\n")


def measured(folder: Path) -> tuple[str, float, float]:
    """The answer, seconds of processor and MiB of `fsm explain`."""
    program = [sys.executable, __file__, "--explain", str(folder)]
    done = subprocess.run(program, capture_output=True, text=True, check=True).stdout.splitlines()
    seconds, mebibytes = map(float, done[-1].split())
    return done[0], seconds, mebibytes


def explained(folder: str) -> None:
    """In the process that is measured."""
    sys.path.insert(0, str(ROOT))
    from fsmdsl.__main__ import main as fsm

    try:
        sys.argv = ["fsm", "explain", f"{folder}/run.log", "--mapping", f"{folder}/gang.toml"]
        fsm()
    except SystemExit:
        pass
    print(process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lines", type=int, default=1_000_000)
    parser.add_argument("--kinds", default=",".join(KINDS))
    parser.add_argument("--gangs", type=int, default=2)
    parser.add_argument("--explain", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.explain:
        explained(arguments.explain)
        return
    for kind in arguments.kinds.split(","):
        with tempfile.TemporaryDirectory() as folder:
            write(Path(folder), kind, arguments.gangs, arguments.lines)
            with (Path(folder) / "run.log").open("rb") as log:
                lines = sum(1 for _ in log)
            answer, seconds, mebibytes = measured(Path(folder))
            print(
                f"{kind:8} {seconds:6.1f} s  {lines / seconds:9,.0f} lines/s  {mebibytes:4.0f} MiB  {answer}",
                flush=True,
            )


if __name__ == "__main__":
    main()
