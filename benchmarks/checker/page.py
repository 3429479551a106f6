"""What was measured, judged and as a page to read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from measure import Campaign, Figures
from plot import plot

MILLION, FORTY_MILLION = "5_6_2", "5_8_2"

COLUMNS = (
    "tool", "states", "transitions", "build s", "run s", "whole s", "states/s", "transitions/s", "peak MiB", "B/state",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Promise:
    """Something that is promised, and what was measured."""

    what: str
    limit: float
    value: float | None
    """None where it was not measured."""
    most: bool = False
    """Is what is wanted a limit from above?"""

    @property
    def is_kept(self) -> bool:
        return self.value is None or (self.value <= self.limit if self.most else self.value >= self.limit)

    def data(self) -> dict[str, Any]:
        """For JSON."""
        value = None if self.value is None else round(self.value, 2)
        return {"what": self.what, "wanted": self.limit, "measured": value, "kept": value is None or self.is_kept}


def _best(
    campaign: Campaign, size: str, start: str, of: Callable[[Figures], float], **attributes: object
) -> float | None:
    """The least of a figure among the tools whose names begin like that."""
    values = [
        of(f)
        for name, f in campaign.figures.get(size, {}).items()
        if name.startswith(start) and all(getattr(f.tool, k) == v for k, v in attributes.items())
    ]
    return min(values, default=None)


def _search(f: Figures) -> float:
    return 1 / f.states_a_second


def _whole(f: Figures) -> float:
    return min(f.whole)


def _times(theirs: float | None, own: float | None) -> float | None:
    return None if theirs is None or own is None else theirs / own


def ratios(campaign: Campaign) -> dict[str, dict[str, dict[str, float]]]:
    """By size and peer: how many times faster we search on as many cores, and how many times sooner the verdict is
    there, cold and with machine code cached. Least times are compared."""
    by_size: dict[str, dict[str, dict[str, float]]] = {}
    for size, figures in campaign.figures.items():
        for name, peer in figures.items():
            if name.startswith("fsmdsl"):
                continue
            same: dict[str, object] = {"symmetric": peer.tool.symmetric}
            rate = _best(campaign, size, "fsmdsl", _search, cached=True, cores=peer.tool.cores, **same)
            ours = {
                "speed": _times(_search(peer), rate),
                "verdict, cold": _times(_whole(peer), _best(campaign, size, "fsmdsl", _whole, cached=False, **same)),
                "verdict, cached": _times(_whole(peer), _best(campaign, size, "fsmdsl", _whole, cached=True, **same)),
            }
            present = {k: round(v, 2) for k, v in ours.items() if v is not None}
            by_size.setdefault(size, {})[name] = present
    return by_size


def promises(campaign: Campaign, specs: dict[str, float]) -> list[Promise]:
    """What the checker is held to."""
    plain: dict[str, object] = {"symmetric": False}

    def speed(size: str, start: str, cores: int) -> float | None:
        cached: dict[str, object] = {"cached": True} if start == "fsmdsl" else {}
        return _best(campaign, size, start, _search, cores=cores, **cached, **plain)

    def whole(start: str, **attributes: object) -> float | None:
        return _best(campaign, MILLION, start, _whole, **attributes, **plain)

    cold, cached = whole("fsmdsl", cached=False), whole("fsmdsl", cached=True)
    judged = [
        Promise(f"times SPIN on one core, {where}", least, _times(speed(size, "SPIN", 1), speed(size, "fsmdsl", 1)))
        for where, size, least in (("1 million states", MILLION, 4), ("40 million states", FORTY_MILLION, 5))
    ]
    judged += [
        Promise(f"times one worker with two, {where}", 1.6, _times(speed(size, "fsmdsl", 1), speed(size, "fsmdsl", 2)))
        for where, size in (("1 million states", MILLION), ("40 million states", FORTY_MILLION))
    ]
    judged += [
        Promise("times as soon as SPIN, cold, 1 million states", 1.3, _times(whole("SPIN"), cold)),
        Promise("times as soon as SPIN, cached, 1 million states", 5, _times(whole("SPIN"), cached)),
        Promise("times as soon as TLC, cold, 1 million states", 20, _times(whole("TLC"), cold)),
        *_symmetry(campaign),
        Promise("times the least time per state, from 10^5 states on", 2, _growth(campaign), most=True),
        Promise("seconds for all specs, cold", 10, specs.get("cold"), most=True),
        Promise("seconds for all specs, cached", 3, specs.get("cached"), most=True),
    ]
    return judged


def _symmetry(campaign: Campaign) -> Iterator[Promise]:
    """At the largest size that both searched."""
    both = [
        (f["fsmdsl, symmetry"], f["rumur, scalarset"])
        for f in campaign.figures.values()
        if "fsmdsl, symmetry" in f and "rumur, scalarset" in f
    ]
    states = [a.counts.states / b.counts.states for a, b in both if a.counts and b.counts]
    yield Promise("times the states of rumur's scalarset, with symmetry", 1, max(states, default=None), most=True)
    last = max(both, key=lambda x: min(x[1].run), default=None)
    yield Promise("times rumur's speed, with symmetry", 5, last and last[0].states_a_second / last[1].states_a_second)


def _growth(campaign: Campaign) -> float | None:
    times = [y for x, y in _line(campaign, "fsmdsl") if x >= 1e5]
    return max(times) / min(times) if len(times) > 1 else None


def _line(campaign: Campaign, name: str) -> list[tuple[float, float]]:
    """States, and microseconds for each, by size."""
    of = [f[name] for f in campaign.figures.values() if name in f]
    return [(f.counts.states, 1e6 / f.states_a_second) for f in of if f.counts is not None]


def picture(campaign: Campaign) -> str:
    """Time per state against states."""
    names = (
        "fsmdsl", "fsmdsl, 2 workers", "C++ by hand", "SPIN", "SPIN, 2 cores", "rumur", "TLC", "Python by hand",
    )  # fmt: skip
    lines = {name: _line(campaign, name) for name in names}
    return plot("HiveD-lite, breadth first", "states", "µs for each", {k: v for k, v in lines.items() if v})


def page(results: dict[str, Any], campaign: Campaign) -> str:
    """Everything as tables."""
    lines = ["# The model checker beside its peers", ""]
    lines += ["| promised | | measured | |", "|---|--:|--:|---|", *(_promised(x) for x in results["promises"])]
    lines += ["", "Least times are compared. Search: by the tool's own clock, without what comes before and after."]
    lines += ["Whole: from the model as text to the verdict. Cold: no machine code cached.", ""]
    lines += ["![time per state](checker.svg)", ""]
    for size, figures in campaign.figures.items():
        groups, cells, members = size.split("_")
        lines += [f"## {groups} groups, {cells} cells, {members} cells each", ""]
        lines += ["| " + " | ".join(COLUMNS) + " |", "|---" + "|--:" * (len(COLUMNS) - 1) + "|"]
        lines += [_row(f) for f in figures.values()]
        if compared := results["ratios"].get(size):
            lines += ["", "| times sooner than | search, same cores | verdict, cold | verdict, cached |"]
            lines += ["|---|--:|--:|--:|"]
            columns = ("speed", "verdict, cold", "verdict, cached")
            lines += [
                f"| {name} | " + " | ".join(str(x.get(c, "")) for c in columns) + " |" for name, x in compared.items()
            ]
        lines.append("")
    lines += ["## All specs", "", *(f"* {value} s {name}" for name, value in results["specs"].items()), ""]
    if results["left out"]:
        lines += ["## Left out", "", *(f"* {x}" for x in results["left out"]), ""]
    if results["mistakes"]:
        lines += ["## Wrong", "", *(f"* {x}" for x in results["mistakes"]), ""]
    return "\n".join([*lines, ", ".join(f"{k} {v}" for k, v in results["machine"].items()), ""])


def _promised(x: dict[str, Any]) -> str:
    if x["measured"] is None:
        return f"| {x['what']} | {x['wanted']} | not measured | |"
    return f"| {x['what']} | {x['wanted']} | {x['measured']} | {'kept' if x['kept'] else '**not kept**'} |"


def _row(f: Figures) -> str:
    data: Any = f.data()
    transitions = data["transitions"]
    cells = [
        f.tool.name,
        f"{data['states']:,}",
        "" if transitions is None else f"{transitions:,}",
        f"{data['generate s']['min'] + data['compile s']['min']:.2f}",
        _range(data["run s"]),
        _range(data["whole s"]),
        f"{data['states a second']:,}",
        "" if transitions is None else f"{round(transitions / min(f.search)):,}",
        f"{data['peak MiB']:,.0f}" if f.memory else "",
        f"{data['bytes a state']:,.0f}" if f.memory else "",
    ]
    return "| " + " | ".join(cells) + " |"


def _range(x: dict[str, float]) -> str:
    return f"{x['min']:.2f} ({x['median']:.2f})"
