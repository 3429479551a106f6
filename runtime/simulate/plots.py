"""Plots of a run, and of several runs laid over each other. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.colors import to_rgb

from runtime.simulate import overlay
from runtime.simulate.figures import Figures
from runtime.simulate.ledger import WIDTHS
from runtime.simulate.result import Run
from runtime.simulate.style import (
    INK,
    OTHERS,
    PALETTE,
    SCALE,
    chart,
    colours,
    curve,
    days,
    last_came,
    legend,
    legible,
    save,
    styled,
    waits,
    whole,
)

MAX_COLOURS = 7
"""Maximum number of virtual clusters with a colour of their own."""
PALE = 0.55
BARS = 90


def plot(folder: Path, runs: Sequence[Run]) -> list[Path]:
    """Writes all plots; of several runs, those that compare them."""
    folder.mkdir(parents=True, exist_ok=True)
    with styled():
        if len(runs) > 1:
            return overlay.plot(folder, runs)
        run = runs[0]
        return [*utilisation(folder, run), *delays(folder, run), *preemptions(folder, run), *fragmentation(folder, run)]


def steps(series: Figures) -> list[float]:
    """The begin of each interval, and the end of the last."""
    return [0.0, *series["end"]]


def coloured_tenants(run: Run) -> list[str]:
    """The virtual clusters that have a colour: those that use the most, in the order of the configuration."""
    use = {
        name: tenant["guaranteed_utilisation"] + tenant["opportunistic_utilisation"]
        for name, tenant in run.summary["tenants"].items()
    }
    most = sorted(use, key=lambda name: -use[name])[:MAX_COLOURS]
    return [name for name in use if name in most]


def paler(colour: str) -> tuple[float, float, float]:
    """The colour of what has no guarantee."""
    red, green, blue = (PALE + (1 - PALE) * part for part in to_rgb(colour))
    return red, green, blue


def utilisation(folder: Path, run: Run) -> list[Path]:
    """Leaf cells in use, stacked by virtual cluster, below those that are healthy."""
    series = run.series
    figure, axes = chart("Leaf cells in use", "by virtual cluster; pale: opportunistic gangs; line: healthy leaf cells")
    own = coloured_tenants(run)
    rest = [name for name in series["guaranteed"] if name not in own]
    bottom = [0.0] * len(series["end"])
    for kind in ("guaranteed", "opportunistic"):
        for name, colour in colours(own).items():
            shade = colour if kind == "guaranteed" else paler(colour)
            bottom = _layer(
                axes, series, series[kind][name], bottom, shade, legible(name) if kind == "guaranteed" else ""
            )
        for name in rest:
            first = kind == "guaranteed" and name == rest[0]
            shade = OTHERS if kind == "guaranteed" else paler(OTHERS)
            bottom = _layer(axes, series, series[kind][name], bottom, shade, "others" if first else "")
    axes.stairs(series["capacity"], steps(series), baseline=None, color=INK, linewidth=1.2, label="healthy")
    whole(axes)
    axes.set_ylim(0, max(series["capacity"], default=1) * 1.04)
    days(axes, series["end"][-1])
    last_came(axes, run.workload["last_submitted"], series["end"][-1])
    legend(axes, 9)
    return save(figure, folder, "utilisation")


def _layer(
    axes: Axes,
    series: Figures,
    values: Sequence[float],
    bottom: Sequence[float],
    colour: str | tuple[float, float, float],
    label: str,
) -> list[float]:
    top = [low + value for low, value in zip(bottom, values, strict=True)]
    axes.stairs(top, steps(series), baseline=bottom, fill=True, color=colour, linewidth=0, label=label or None)
    return top


def delays(folder: Path, run: Run) -> list[Path]:
    """The share of gangs that had started after so long."""
    figure, axes = chart("Queueing delay", "share of gangs that had started after so long; dashed: opportunistic gangs")
    longest = 0.0
    for name, colour in colours(coloured_tenants(run)).items():
        tenant = run.summary["tenants"][name]
        for kind, dashes in (("guaranteed", "-"), ("opportunistic", (0, (4, 1.6)))):
            quantiles = tenant[f"{kind}_delay"]["quantiles"]
            if quantiles:
                label = legible(name) if kind == "guaranteed" else None
                longest = max(longest, quantiles[-1])
                times, shares = curve(quantiles)
                axes.plot(times, shares, color=colour, linestyle=dashes, label=label)
    waits(axes, longest)
    axes.set_xlabel("delay from submission to the first start")
    legend(axes)
    return save(figure, folder, "delay")


def preemptions(folder: Path, run: Run) -> list[Path]:
    """Gangs that had to begin again, by why."""
    series = run.series
    width = _wider(series)
    figure, axes = chart("Gangs that had to leave", f"per {_interval(width)}, by why")
    edges = [number * width for number in range(int(series["end"][-1] // width) + 2)]
    bottom = [0.0] * (len(edges) - 1)
    parts = (
        ("guaranteed, by a stronger gang", series["preempted"]["guaranteed"], PALETTE[0]),
        ("opportunistic, for guaranteed ones", series["preempted"]["opportunistic"], PALETTE[4]),
        ("by a failing node", series["lost"], PALETTE[5]),
    )
    for label, values, colour in parts:
        top = list(bottom)
        for end, value in zip(series["end"], values, strict=True):
            top[max(0, ceil(end / width) - 1)] += value
        axes.stairs(top, edges, baseline=bottom, fill=True, color=colour, linewidth=0, label=label)
        bottom = top
    whole(axes)
    axes.set_ylim(0, max(5.0, max(bottom, default=0) * 1.05))
    days(axes, series["end"][-1])
    last_came(axes, run.workload["last_submitted"], series["end"][-1])
    legend(axes)
    return save(figure, folder, "preemptions")


def _wider(series: Figures) -> float:
    """An interval with which there are not too many bars."""
    return next((w for w in WIDTHS if w >= series["width"] and series["end"][-1] / w <= BARS), WIDTHS[-1])


def _interval(width: float) -> str:
    for unit, name in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if width >= unit:
            return name if width == unit else f"{width / unit:g} {name}s"
    return f"{width:g} seconds"


def fragmentation(folder: Path, run: Run) -> list[Path]:
    """Free leaf cells, and those of them that gangs of a size could not use."""
    series = run.series
    figure, axes = chart("Fragmentation", "free leaf cells (grey), and how many of them gangs of so many could not use")
    times = series["end"]
    axes.fill_between(times, series["free"], color="#eceff3", linewidth=0, label="free")
    sizes = list(series["stranded"])
    for size, colour in zip(sizes, SCALE[-len(sizes) :], strict=False):
        axes.plot(times, series["stranded"][size], color=colour, linewidth=1.4, label=size)
    whole(axes)
    days(axes, times[-1])
    last_came(axes, run.workload["last_submitted"], times[-1])
    legend(axes, 9)
    return save(figure, folder, "fragmentation")
