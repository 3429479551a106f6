"""Figures for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl.text.terminal import printable
from runtime.simulate.duration import spoken
from runtime.simulate.figures import Figures
from runtime.simulate.result import Run

HOUR = 3600.0


def percent(share: float) -> str:
    """With one digit."""
    return f"{share * 100:.1f} %"


def hours(device_seconds: float) -> str:
    """Device-hours, with thousands apart."""
    return f"{device_seconds / HOUR:,.0f}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as they must be; all but the first are set right."""
    head, rows = list(map(printable, head)), [list(map(printable, row)) for row in rows]
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]

    def line(row: Sequence[str]) -> str:
        cells = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        return "  ".join((row[0].ljust(widths[0]), *cells)).rstrip()

    return "\n".join([line(head), "  ".join("─" * width for width in widths), *map(line, rows)])


def summary_text(run: Run) -> str:
    """What to know of a run, on a page."""
    summary = run.summary
    parts = [_overview(summary), _tenants(summary), _delays(summary), _fragments(summary), _never(summary)]
    return "\n\n".join(part for part in parts if part)


def _overview(summary: Figures) -> str:
    gangs, preempted = summary["gangs"], summary["preemptions"]
    lost = f", {preempted['lost']:,} hit by failing nodes" if preempted["lost"] else ""
    demoted = f", {preempted['demoted']:,} continued without their guarantee" if preempted["demoted"] else ""
    redone, came = summary["wasted_device_seconds"], summary["submitting"]
    return "\n".join(
        [
            f"{gangs['all']:,} gangs on {summary['capacity']:,} leaf cells, {spoken(summary['seconds'])}",
            f"utilisation  {percent(came['utilisation'])} while gangs came ({spoken(came['seconds'])}),"
            f" {percent(summary['utilisation'])} to the end; {percent(summary['useful_utilisation'])} without the work"
            f" that was done twice ({hours(redone)} device-hours)",
            f"outcome      {gangs['finished']:,} finished, {gangs['failed']:,} failed, {gangs['refused']:,} refused,"
            f" {gangs['running']:,} still running, {gangs['waiting']:,} still waiting",
            f"preemptions  {preempted['guaranteed']:,} of guaranteed gangs, {preempted['opportunistic']:,} of"
            f" opportunistic ones{lost}{demoted}",
        ]
    )


def _tenants(summary: Figures) -> str:
    rows = []
    for name, tenant in summary["tenants"].items():
        preempted = tenant["preemptions"]
        rows.append(
            [
                name,
                f"{tenant['promised']:,}",
                percent(tenant["of_promised"]),
                percent(tenant["guaranteed_utilisation"]),
                percent(tenant["opportunistic_utilisation"]),
                f"{tenant['gangs']['all']:,}",
                f"{preempted['guaranteed']:,}",
                f"{preempted['opportunistic']:,}",
                hours(tenant["wasted_device_seconds"]),
            ]
        )
    head = ("virtual cluster", "promised", "of it used", "guaranteed", "opportunistic", "gangs")
    return table((*head, "preempted: guar.", "opp.", "redone, device-h"), rows)


def _delays(summary: Figures) -> str:
    rows = [_delay("all", summary["delay"])]
    for name, tenant in summary["tenants"].items():
        for kind in ("guaranteed", "opportunistic"):
            delay = tenant[f"{kind}_delay"]
            if delay["started"]:
                rows.append(_delay(f"{name}, {kind}", delay))
    return table(("queueing delay", "started", "at once", "mean", "median", "p90", "p99", "longest"), rows)


def _delay(name: str, delay: Figures) -> list[str]:
    times = [spoken(delay[key]) for key in ("mean", "median", "p90", "p99", "max")]
    return [name, f"{delay['started']:,}", percent(delay["at_once"]), *times]


def _fragments(summary: Figures) -> str:
    fragments = summary["fragmentation"]
    sizes = list(fragments["stranded"])
    rows = [
        ["on average, while gangs came", *(f"{fragments['stranded'][n]:,.1f}" for n in sizes)],
        ["share of the free ones", *(percent(fragments["stranded_share"][n]) for n in sizes)],
    ]
    head = f"of {fragments['free']:,.1f} free leaf cells, of no use to gangs of"
    return table((head, *sizes), rows)


def _never(summary: Figures) -> str:
    number = summary["gangs"]["never_started"]
    refused = summary["gangs"]["refused"]
    if not number:
        return ""
    why = f"; {refused:,} of them could not run even alone (gangs.csv says why)" if refused else ""
    return f"{number:,} gang{'s' if number > 1 else ''} never ran{why}"
