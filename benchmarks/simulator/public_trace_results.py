"""The recorded runs of `public_trace.py`: as JSON, one line a run, and as a page of tables beside it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks/results/public_trace.json"
SCHEDULERS = ("allocator", "first-fit", "hived")
FILLED = 1.2
"""Until when pods pile up: devices asked for, of those that there are."""
FREE = 8
"""Fragmentation is that for gangs of a whole node of the largest kind."""
NAMES = {"allocator": "allocator", "hived": "HiveD", "first-fit": "first fit"}
HEAD = (
    "# A public trace: the allocator, HiveD, first fit",
    "",
    "Written by `benchmarks/simulator/public_trace.py`; [how](../../docs/simulator.md#a-complete-public-trace).",
    "Delays in seconds, of gangs that came. Free devices on average, and those of no use to a gang of 8. Opportunistic",
    "gangs that were displaced, and device-hours of work that they did twice. Milliseconds of a processor a question.",
    "",
    "| load | scheduler | utilisation | mean | median | p95 | p99 | p99, guaranteed | p95, of 8 devices | free "
    "| of no use | displaced | twice | ms |",
    "| --- | --- " + "| --: " * 12 + "|",
)
FILL_HEAD = (
    "Pods that pile up: how much had been asked for when the first one got nothing; what was lent when all devices had",
    f"been asked for; pods without a place when {FILLED:.0%} had.",
    "",
    "| pods | scheduler | first without | lent at 100 % | without a place |",
    "| --- | --- | --: | --: | --- |",
)


def key(run: dict[str, Any]) -> tuple[str, str]:
    """What a run is known by."""
    return str(run.get("load") or run["pods"]), run["scheduler"]


def recorded() -> dict[tuple[str, str], dict[str, Any]]:
    """All runs that have been written down."""
    lines = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    return {key(run): run for run in lines}


def record(run: dict[str, Any]) -> None:
    """In place of the one that is there already."""
    runs = {**recorded(), key(run): run}
    RESULTS.write_text("[\n" + ",\n".join(json.dumps(runs[one]) for one in sorted(runs)) + "\n]\n")
    short = {name: value for name, value in run.items() if name not in ("curve", "series", "delay")}
    delay = {name: value for name, value in run.get("delay", {}).get("all", {}).items() if name != "quantiles"}
    RESULTS.with_suffix(".md").write_text(page(runs.values()))
    print(json.dumps({**short, "delay": delay}), flush=True)


def page(runs: Iterable[dict[str, Any]]) -> str:
    """All runs as two tables."""
    order = {name: number for number, name in enumerate(SCHEDULERS)}
    ordered = sorted(runs, key=lambda run: (str(run.get("load") or run["pods"]), order[run["scheduler"]]))
    rows = []
    for run in (run for run in ordered if "load" in run):
        delay, guaranteed = run["delay"]["all"], run["delay"]["guaranteed"]
        waits = [*(delay[which] for which in ("mean", "median", "p95", "p99")), guaranteed["p99"]]
        waits.append(run["delay"][f"of {FREE} devices"]["p95"])
        left = f"{run['fragmentation']['free']:.0f} | {run['fragmentation']['stranded'][str(FREE)]:.0f}"
        displacement = f"{run['preempted']['opportunistic']} | {run['redone_device_hours']:.0f}"
        name = f"{run['load']:.0%} | {NAMES[run['scheduler']]}"
        seconds = " | ".join(f"{wait:,.0f}" if wait >= 1 or not wait else f"{wait:.1f}" for wait in waits)
        rows.append(
            f"| {name} | {run['utilisation']:.1%} | {seconds} | {left} | {displacement} | {run['ms_an_ask']:.2f} |"
        )
    filled = []
    for run in (run for run in ordered if "pods" in run):
        refused = ", ".join(f"{number} of {size}" for size, number in run["refused"].items())
        at = dict(reversed(run["curve"]))
        lent = next(at[point] for point in sorted(at) if point >= 1)
        filled.append(
            f"| {run['pods']} | {NAMES[run['scheduler']]} | {run['first_refused_at']:.1%} | {lent:.1%} | {refused} |"
        )
    return "\n".join([*HEAD, *rows, "", *FILL_HEAD, *filled, ""])
