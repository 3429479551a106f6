"""How fast generated classes are, beside a hand-written one and other libraries: same machine, same work, one run.

Usage: python benchmarks/runtime/run.py [runs]. Writes benchmarks/results/runtime.json and runtime.md, and exits with 1
if a promise is not kept. Libraries that are not installed are left out (`pip install transitions python-statemachine`).
Implementations take turns, so that what else the computer does falls on all of them alike.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import perf_counter
from typing import Any

from fsmdsl import classes as emit
from fsmdsl.model.workspace import load

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results"
NAMES = ("generated", "by_hand", "transitions", "transitions_models", "python_statemachine")
PROMISES = {
    "of the speed of the hand-written class": 0.7,
    "times transitions": 80.0,
    "times python-statemachine": 800.0,
}
Figures = dict[str, float]


def generate(folder: Path) -> None:
    """The package of the application, as `fsm generate` writes it."""
    model = load([HERE.parent / "application.fsm"]).model
    assert model is not None
    for path, text in emit.python(model, "application").items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def compile_with_mypyc(source: Path, folder: Path, what: str) -> bool:
    """The same text, compiled, unchanged."""
    shutil.copytree(source / what, folder / what) if (source / what).is_dir() else shutil.copy(source / what, folder)
    mypyc = Path(sys.executable).with_name("mypyc")
    environment = {**os.environ, "MYPYC_OPT_LEVEL": "3"}
    done = subprocess.run([mypyc, "--strict", what], cwd=folder, capture_output=True, text=True, env=environment)
    return done.returncode == 0


def measure(name: str, runs: int, *paths: Path) -> Figures | None:
    """One implementation in a process of its own; None where it cannot be run."""
    path = os.pathsep.join([*map(str, paths), str(HERE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-P", str(HERE / "measure.py"), name, str(runs)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path})
    return dict(json.loads(done.stdout)) if done.returncode == 0 else None


def best(rounds: list[Figures]) -> Figures:
    """The best of each figure."""
    return {k: (max if k == "events a second" else min)(r[k] for r in rounds) for k in rounds[0]}


def import_time(statement: str, folder: Path, runs: int) -> float:
    """Milliseconds over a bare interpreter, the least of each in turns."""
    took: dict[str, list[float]] = {"pass": [], statement: []}
    for _ in range(runs * 3):
        for code, times in took.items():
            begun = perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": str(folder)})
            times.append((perf_counter() - begun) * 1000)
    return round(min(took[statement]) - min(took["pass"]), 1)


def results(runs: int) -> dict[str, Any]:
    """Everything, from text to figures."""
    with tempfile.TemporaryDirectory() as place:
        plain, compiled = Path(place) / "plain", Path(place) / "compiled"
        plain.mkdir()
        compiled.mkdir()
        generate(plain)
        who = [(name, name, (plain,)) for name in NAMES]
        if compile_with_mypyc(plain, compiled, "application"):
            who.append(("generated, mypyc", "generated", (compiled,)))
        if compile_with_mypyc(HERE, compiled, "hand.py"):
            who.append(("by_hand, mypyc", "by_hand", (compiled,)))
        rounds: dict[str, list[Figures]] = {}
        for _ in range(5):
            for label, name, paths in who:
                figures = measure(name, runs, *paths)
                if figures is not None:
                    rounds.setdefault(label, []).append(figures)
        imported = import_time("import application", plain, runs)
    return {"figures": {k: best(v) for k, v in rounds.items()}, "ms to import": imported}


def ratios(figures: dict[str, Figures]) -> dict[str, float]:
    """How the generated class compares, by events a second."""
    speed = {k: v["events a second"] for k, v in figures.items()}
    beside = {
        "of the speed of the hand-written class": "by_hand",
        "times transitions": "transitions",
        "times python-statemachine": "python_statemachine",
    }
    by_peer = {what: round(speed["generated"] / speed[name], 2) for what, name in beside.items() if name in speed}
    if "generated, mypyc" in speed:
        by_peer["gained by mypyc"] = round(speed["generated, mypyc"] / speed["generated"], 2)
    return by_peer


def machine() -> dict[str, Any]:
    """Where this was run."""
    versions = {}
    for name in ("transitions", "python-statemachine", "mypy"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {"python": platform.python_version(), "cores": os.cpu_count(), "system": platform.platform(), **versions}


def page(report: dict[str, Any]) -> str:
    """The figures as a table to read."""
    columns = ("ns an event", "us a life", "bytes an instance")
    lines = ["# Generated classes at run time", "", "| | " + " | ".join(columns) + " |", "|---" * 4 + "|"]
    lines += [f"| {k} | " + " | ".join(str(v[c]) for c in columns) + " |" for k, v in report["figures"].items()]
    lines += ["", *(f"* {value} {what}" for what, value in report["ratios"].items())]
    lines += [f"* {report['ms to import']} ms to import the package, over a bare interpreter", ""]
    lines += [", ".join(f"{k} {v}" for k, v in report["machine"].items()), ""]
    return "\n".join(lines)


def main(runs: int) -> int:
    """Measure, write, judge."""
    report = results(runs)
    report = {"machine": machine(), **report, "ratios": ratios(report["figures"])}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "runtime.json").write_text(json.dumps(report, indent=2) + "\n")
    (RESULTS / "runtime.md").write_text(page(report))
    print(page(report))
    broken = [what for what, least in PROMISES.items() if report["ratios"].get(what, least) < least]
    broken += ["bytes an instance"] if report["figures"]["generated"]["bytes an instance"] > 120 else []
    broken += ["ms to import"] if report["ms to import"] >= 20 else []
    for what in broken:
        print(f"not kept: {what}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
