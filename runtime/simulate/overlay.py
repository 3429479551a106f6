"""Plots of several runs, laid over each other: a colour and a dash for each run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

from runtime.simulate.compare import distinct
from runtime.simulate.figures import Figures
from runtime.simulate.result import Run
from runtime.simulate.style import DASHES, INK, PALETTE, chart, curve, days, legend, legible, save, waits, whole


def plot(folder: Path, runs: Sequence[Run]) -> list[Path]:
    """Writes all of them."""
    return [*_utilisation(folder, runs), *_delays(folder, runs), *_preemptions(folder, runs), *_stranded(folder, runs)]


def _lines(runs: Sequence[Run]) -> Iterator[tuple[Run, dict[str, Any]]]:
    """Each run, with how to draw it."""
    for run, name, colour, dashes in zip(runs, distinct(runs), cycle(PALETTE), cycle(DASHES), strict=False):
        yield run, {"label": legible(name), "color": colour, "linestyle": dashes}


def _used(series: Figures) -> list[float]:
    """Leaf cells in use, of all."""
    parts = [values for kind in ("guaranteed", "opportunistic") for values in series[kind].values()]
    return [sum(together) for together in zip(*parts, strict=True)]


def _middles(series: Figures) -> list[float]:
    return [(begin + end) / 2 for begin, end in zip([0.0, *series["end"]], series["end"], strict=False)]


def _end(runs: Sequence[Run]) -> float:
    return max(float(run.series["end"][-1]) for run in runs)


def _utilisation(folder: Path, runs: Sequence[Run]) -> list[Path]:
    figure, axes = chart("Leaf cells in use", "of all virtual clusters; thin line: healthy leaf cells")
    for run, line_style in _lines(runs):
        axes.plot(_middles(run.series), _used(run.series), **line_style)
    first = runs[0].series
    axes.stairs(first["capacity"], [0.0, *first["end"]], baseline=None, color=INK, linewidth=0.8)
    whole(axes)
    days(axes, _end(runs))
    legend(axes)
    return save(figure, folder, "compare-utilisation")


def _delays(folder: Path, runs: Sequence[Run]) -> list[Path]:
    figure, axes = chart("Queueing delay", "share of all gangs that had started after so long")
    longest = 0.0
    for run, line_style in _lines(runs):
        quantiles = run.summary["delay"]["quantiles"]
        if quantiles:
            longest = max(longest, quantiles[-1])
            axes.plot(*curve(quantiles), **line_style)
    waits(axes, longest)
    axes.set_xlabel("delay from submission to the first start")
    legend(axes)
    return save(figure, folder, "compare-delay")


def _preemptions(folder: Path, runs: Sequence[Run]) -> list[Path]:
    figure, axes = chart("Gangs that had to leave", "since the beginning, for whatever reason")
    for run, line_style in _lines(runs):
        series = run.series
        parts = (series["preempted"]["guaranteed"], series["preempted"]["opportunistic"], series["lost"])
        total, sums = 0.0, [0.0]
        for together in zip(*parts, strict=True):
            total += sum(together)
            sums.append(total)
        axes.plot([0.0, *series["end"]], sums, **line_style)
    whole(axes)
    days(axes, _end(runs))
    legend(axes)
    return save(figure, folder, "compare-preemptions")


def _stranded(folder: Path, runs: Sequence[Run]) -> list[Path]:
    sizes = [size for size in runs[0].series["stranded"] if all(size in run.series["stranded"] for run in runs)]
    size = "16" if "16" in sizes else sizes[-1]
    figure, axes = chart("Fragmentation", f"free leaf cells that no gang of {size} could use")
    for run, line_style in _lines(runs):
        axes.plot(run.series["end"], run.series["stranded"][size], **{**line_style, "linewidth": 1.4})
    whole(axes)
    days(axes, _end(runs))
    legend(axes)
    return save(figure, folder, "compare-fragmentation")
