"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from fsmdsl.text.terminal import printable
from runtime.simulate.duration import spoken
from runtime.simulate.figures import Figures
from runtime.simulate.result import Run
from runtime.simulate.text import hours, percent, table


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure that runs are compared by."""

    name: str
    of: Callable[[Figures], float]
    """Of the summary of a run."""
    render: Callable[[float], str]


def measures(runs: Sequence[Run]) -> Iterator[Measure]:
    """What all of the runs have."""
    yield Measure("utilisation, while gangs came", lambda s: s["submitting"]["utilisation"], percent)
    yield Measure("utilisation, to the end", lambda s: s["utilisation"], percent)
    yield Measure("without work done twice", lambda s: s["useful_utilisation"], percent)
    for key, name in (("mean", "mean"), ("median", "median"), ("p90", "p90"), ("p99", "p99")):
        yield Measure(f"queueing delay, {name}", lambda s, k=key: s["delay"][k], spoken)  # type: ignore[misc]
    yield Measure("gangs that never ran", lambda s: s["gangs"]["never_started"], _number)
    for kind in ("guaranteed", "opportunistic"):
        yield Measure(f"preemptions, {kind}", lambda s, k=kind: s["preemptions"][k], _number)  # type: ignore[misc]
    yield Measure("hit by failing nodes", lambda s: s["preemptions"]["lost"], _number)
    yield Measure("redone, device-hours", lambda s: s["wasted_device_seconds"], hours)
    yield Measure("end of the last gang", lambda s: s["seconds"], spoken)
    for size in _common([run.summary["fragmentation"]["stranded_share"] for run in runs]):
        yield Measure(f"free, of no use to {size}", lambda s, n=size: s["fragmentation"]["stranded_share"][n], percent)  # type: ignore[misc]
    for tenant in _common([run.summary["tenants"] for run in runs]):
        yield Measure(f"{tenant}: promised cells used", lambda s, t=tenant: s["tenants"][t]["of_promised"], percent)  # type: ignore[misc]
        yield Measure(f"{tenant}: delay, p90", lambda s, t=tenant: s["tenants"][t]["delay"]["p90"], spoken)  # type: ignore[misc]


def _common(summaries: Sequence[Figures]) -> list[str]:
    return [key for key in summaries[0] if all(key in other for other in summaries)]


def _number(value: float) -> str:
    return f"{value:,.0f}"


def difference(measure: Measure, value: float, base: float) -> str:
    """How much more than in the first run: for shares in points, for times in time, else in percent."""
    if value == base:
        return "="
    if measure.render is percent:
        return f"{(value - base) * 100:+.1f} pt"
    if measure.render is spoken:
        return f"{'+' if value > base else '−'}{spoken(abs(value - base))}"
    return f"{(value / base - 1) * 100:+.0f} %" if base else "new"


def distinct(runs: Sequence[Run]) -> list[str]:
    """Names for the runs, each different."""
    names: list[str] = []
    for run in runs:
        number = sum(name.split(" (")[0] == run.name for name in names)
        names.append(f"{run.name} ({number + 1})" if number else run.name)
    return names


def comparison_text(runs: Sequence[Run]) -> str:
    """A table: figures of the first run, and of the others with the difference to it."""
    names = list(map(printable, distinct(runs)))
    head = ["", names[0]]
    for name in names[1:]:
        head += [name, ""]
    rows = []
    for measure in measures(runs):
        base = measure.of(runs[0].summary)
        row = [measure.name, measure.render(base)]
        for run in runs[1:]:
            value = measure.of(run.summary)
            row += [measure.render(value), difference(measure, value, base)]
        rows.append(row)
    return "\n".join([table(head, rows), *_caution(runs, names)])


def _caution(runs: Sequence[Run], names: Sequence[str]) -> Iterator[str]:
    """What makes a comparison one of apples and pears."""
    for run, name in zip(runs[1:], names[1:], strict=True):
        if run.workload["digest"] != runs[0].workload["digest"]:
            yield f"note: {name} had another workload than {names[0]}"
        if run.summary["capacity"] != runs[0].summary["capacity"]:
            yield f"note: {name} had {run.summary['capacity']:,} leaf cells, {names[0]} {runs[0].summary['capacity']:,}"
