"""Plots of `public_trace.py`. Needs the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator
from public_trace_results import NAMES

from runtime.simulate.style import BEYOND, PALETTE, chart, legend, styled, waits

COLOURS = {"allocator": PALETTE[0], "hived": PALETTE[5], "first-fit": PALETTE[2]}
DASHES = {"allocator": "-", "hived": (0, (5, 1.5)), "first-fit": (0, (1.2, 1.2))}
LOAD = 1.2
"""The load whose delays are drawn."""
PODS = "openb_pod_list_multigpu50.csv"
Runs = Sequence[dict[str, Any]]


def draw(runs: Runs, folder: Path) -> None:
    """All of them, as SVG."""
    replays = [run for run in runs if "load" in run]
    with styled():
        _save(_delays([run for run in replays if run["load"] == LOAD]), folder, "public-trace-delay")
        _save(_fragmentation(replays), folder, "public-trace-fragmentation")
        _save(_filled([run for run in runs if run.get("pods") == PODS]), folder, "public-trace-fill")


def _save(figure: Figure, folder: Path, name: str) -> None:
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


def _look(run: dict[str, Any], *, label: bool = True) -> dict[str, Any]:
    name = run["scheduler"]
    return {"color": COLOURS[name], "linestyle": DASHES[name], "label": NAMES[name] if label else None}


def _delays(runs: Runs) -> Figure:
    figure, axes = chart(f"Queueing delay at a load of {LOAD:.0%}", "share of gangs that had started after so long")
    longest, least = 60.0, 1.0
    for run in runs:
        quantiles = run["delay"]["all"]["quantiles"]
        share = 1 / (len(quantiles) - 1)
        points = [(max(1.0, delay), number * share) for number, delay in enumerate(quantiles)]
        points = [after for before, after in pairwise(points) if after[0] > 1 or before[0] > 1] or points[-1:]
        begin = run["delay"]["all"]["at_once"]
        times, shares = zip((1.0, begin), *points, (BEYOND, 1.0), strict=True)
        axes.plot(times, shares, **_look(run))
        longest, least = max(longest, quantiles[-1]), min(least, begin)
    waits(axes, longest)
    axes.yaxis.set_major_locator(MultipleLocator(0.05))
    axes.set_ylim(max(0.0, least - 0.05), 1.005)
    axes.set_xlabel("delay from submission to the first start")
    legend(axes)
    return figure


def _fragmentation(runs: Runs) -> Figure:
    figure, axes = chart(
        "Free devices of no use to a gang of 8", "in the course of the replay, at each load; thin: all free devices"
    )
    loads = sorted({run["load"] for run in runs})
    for run in runs:
        series, left = run["series"], loads.index(run["load"])
        span = max(series["end"])
        times = [left + 0.92 * end / span for end in series["end"]]
        axes.plot(times, series["stranded"], **_look(run, label=not left))
        axes.plot(times, series["free"], **{**_look(run, label=False), "linewidth": 0.7})
    axes.set_xticks([place + 0.46 for place in range(len(loads))], [f"{load:.0%}" for load in loads])
    axes.set_ylim(bottom=0)
    legend(axes)
    return figure


def _filled(runs: Runs) -> Figure:
    figure, axes = chart("Devices lent as pods pile up", "of all devices; none of the pods ends")
    for run in runs:
        requested, lent = zip(*run["curve"], strict=True)
        axes.plot(requested, lent, **_look(run))
    _percent(axes)
    axes.set_xlim(0.8, 1.2)
    axes.set_ylim(0.78, 1.01)
    axes.set_xlabel("devices asked for, of all devices")
    legend(axes)
    return figure


def _percent(axes: Axes) -> None:
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(MultipleLocator(0.05))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
