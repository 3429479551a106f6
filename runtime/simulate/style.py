"""How plots look. The only module that knows colours; the first to import matplotlib."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from runtime.simulate.figures import QUANTILES

INK, SOFT, FAINT, PAPER = "#1f2933", "#5f6b7a", "#dfe4ea", "#ffffff"
PALETTE = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#8c6d31")
"""For things that have no order, after Okabe and Ito: distinguishable for the colour-blind."""
OTHERS = "#9aa5b1"
SCALE = ("#a3c8e8", "#79b0dd", "#5095cd", "#2f79ba", "#1a5c9c", "#0d4077", "#06264d")
"""For sizes: from light to dark."""
DASHES: tuple[str | tuple[int, tuple[float, ...]], ...] = ("-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (5, 1.5, 1, 1.5)))
"""For runs, besides the colour."""
BEYOND = 1e12
MAX_NAME_LENGTH = 28
"""Maximum number of characters of a name."""
SIZE = (9.0, 4.6)
DAY = 86400.0
MARKS = ((1, "at once"), (10, "10 s"), (60, "1 min"), (600, "10 min"), (3600, "1 h"), (21600, "6 h"), (86400, "1 d"))
LATER = ((259200, "3 d"), (604800, "1 w"), (2592000, "30 d"))

SETTINGS: dict[Any, Any] = {
    "figure.facecolor": PAPER,
    "axes.facecolor": PAPER,
    "savefig.facecolor": PAPER,
    "font.size": 10,
    "font.family": "sans-serif",
    "text.color": INK,
    "axes.labelcolor": SOFT,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "ytick.major.size": 0,
    "xtick.major.size": 3,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "round",
    "hatch.linewidth": 0.6,
    "text.parse_math": False,
    "svg.hashsalt": "gangs",
    "svg.fonttype": "none",
}


@contextmanager
def styled() -> Iterator[None]:
    """All plots are made in here."""
    with mpl.rc_context(SETTINGS):
        yield


def chart(title: str, subtitle: str) -> tuple[Figure, Axes]:
    """An empty one; what it shows, and in which unit, above it."""
    figure = Figure(figsize=SIZE, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for text, height, font in ((title, 47, {"fontsize": 13, "fontweight": "bold"}), (subtitle, 29, {"color": SOFT})):
        axes.annotate(text, (0, 1), (0, height), xycoords="axes fraction", textcoords="offset points", **font)
    return figure, axes


def legend(axes: Axes, columns: int = 6) -> None:
    """In one line between the subtitle and the plot."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        axes.legend(
            handles,
            labels,
            loc="lower left",
            bbox_to_anchor=(0.0, 1.0),
            borderpad=0.3,
            ncols=min(columns, len(labels)),
            handlelength=1.6,
            columnspacing=1.4,
            borderaxespad=0.0,
        )


def days(axes: Axes, end: float) -> None:
    """Time on the x axis, given in seconds."""
    unit, name = (DAY, "days") if end > 2 * DAY else (3600.0, "hours")
    step = next((s for s in (1, 2, 3, 6, 7, 14, 28, 56, 112, 365) if end / unit / s <= 16), 730)
    if unit == DAY and step == 6:
        step = 7
    axes.xaxis.set_major_locator(FixedLocator([n * step * unit for n in range(int(end / unit / step) + 1)]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / unit:.0f}"))
    axes.set_xlabel(f"{name} since the beginning")
    axes.set_xlim(0, end)


def last_came(axes: Axes, time: float, end: float) -> None:
    """A mark where the last gang was submitted, if things went on for a while."""
    if time < 0.97 * end:
        axes.axvline(time, color=SOFT, linewidth=0.8, linestyle=(0, (2, 2)))
        text_style: dict[str, Any] = {"ha": "left", "va": "top", "fontsize": 8.5, "color": SOFT}
        axes.annotate("last gang came", (time, 0.93), (5, -3), ("data", "axes fraction"), "offset points", **text_style)


def whole(axes: Axes) -> None:
    """Numbers from 0 on the y axis, with thousands apart."""
    axes.yaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    axes.set_ylim(bottom=0)


def waits(axes: Axes, longest: float) -> None:
    """Delays on the x axis, logarithmic from a second on; on the y axis shares."""
    axes.set_xscale("log")
    marks = [mark for mark in (*MARKS, *LATER) if mark[0] <= max(longest, 60) * 1.5]
    axes.xaxis.set_major_locator(FixedLocator([seconds for seconds, _ in marks]))
    axes.xaxis.set_minor_locator(NullLocator())
    names = {float(seconds): name for seconds, name in marks}
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: names.get(float(value), "")))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0%}"))
    axes.set_xlim(1, max(longest, 60) * 1.1)
    axes.set_ylim(0, 1.005)
    axes.grid(visible=True, axis="both")


def curve(quantiles: Sequence[float]) -> tuple[list[float], list[float]]:
    """Delays and shares, from the left edge, which is a second, to beyond the right one."""
    begin = max(0, bisect_right(quantiles, 1.0) - 1)
    return [max(1.0, delay) for delay in quantiles[begin:]] + [BEYOND], [*QUANTILES[begin:], 1.0]


def legible(name: str) -> str:
    """A name for a legend: not too long, and not left out, as those are that begin with `_`."""
    short = name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH - 1]}…"
    return f"\N{HAIR SPACE}{short}" if short.startswith("_") else short


def colours(names: Sequence[str]) -> dict[str, str]:
    """One for each."""
    return {name: PALETTE[i] if i < len(PALETTE) else OTHERS for i, name in enumerate(names)}


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """As SVG and as PNG; the same picture, the same bytes."""
    paths = [folder / f"{name}.svg", folder / f"{name}.png"]
    figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
    figure.savefig(paths[1], dpi=160, metadata={"Software": None})
    return paths
