"""`fsm report`: one page over all specs."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click

from fsmdsl import model as m
from fsmdsl.checks import completeness
from fsmdsl.cli.common import (
    FINDINGS,
    checked,
    documented_option,
    format_option,
    paint,
    paths_argument,
    say,
    say_json,
    write,
)
from fsmdsl.diagnostics import Diagnostic
from fsmdsl.draw.graph import graph_of
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.draw.svg import picture
from fsmdsl.explore import Exploration, Limits, Verdict, diagnostics, explore, lines, play
from fsmdsl.explore.retell import simplest
from fsmdsl.explore.rules import VACUOUS
from fsmdsl.explore.story import story
from fsmdsl.report.chart import violation
from fsmdsl.report.columns import columns
from fsmdsl.report.data import row
from fsmdsl.report.exploration import never_followed
from fsmdsl.report.frames import frame, frames, tally
from fsmdsl.report.page import (
    LocksView,
    MachineView,
    ModuleView,
    Report,
    ScenarioView,
    SystemView,
    VerdictView,
    anchor,
    page,
)

CELLS = {"handled": "handled", "if": "guarded", "ignored": "ignored", "fault": "error"}
"""How the page calls what a state makes of an event."""


@click.command("report")
@paths_argument
@documented_option
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), default="build/report", show_default=True, help="Where to."
)
@click.option("--title", default="State machines", show_default=True, help="The heading of the page.")
@click.option("--max-states", type=click.IntRange(1), help="A limit for each system.")
@format_option
def command(
    paths: tuple[str, ...], as_documented: bool, out: Path, title: str, max_states: int | None, form: str
) -> None:
    """Write one self-contained page: diagrams, tables, checks, what exploring the systems found, scenarios.

    Exits with 1 when the page has something that needs attention.
    """
    loaded, found = checked(paths, as_documented=as_documented)
    if loaded.model is None:
        say(frames(found, paint), err=True)
        say(f"{tally(found)}; there is nothing to report on", err=True)
        sys.exit(FINDINGS)
    model = loaded.model
    svgs = _svgs(model.machines.values())
    explored = {x.qualified: simplest(explore(model, x, Limits(max_states)), model) for x in model.systems.values()}
    found += [d for d in diagnostics(*explored.values()) if d.rule == VACUOUS]
    report = Report(title, [_module(model, x, svgs, explored) for x in model.modules], found, version=_version())
    path = out / "index.html"
    write(path, page(report))
    totals = report.totals
    if form == "json":
        say_json("report", {"page": str(path), "totals": totals})
    else:
        counts = (f"{n:,} {name.removesuffix('s') if n == 1 else name}" for name, n in totals.items())
        say(f"{path}: {', '.join(counts)}")
    bad = totals["violations"] or totals["undecided"] or totals["failing"] or any(d.severity for d in found)
    sys.exit(FINDINGS if bad else 0)


def _version() -> str:
    from fsmdsl.cli import version

    return version()


def _svgs(machines: Iterable[m.Machine]) -> dict[str, str]:
    """The diagrams, drawn side by side; empty where Graphviz is missing, which is said once."""
    listed = list(machines)
    with ThreadPoolExecutor() as pool:
        drawn = list(pool.map(lambda x: picture(graph_of(x, prefix=f"{anchor(x.qualified)}-"), "svg"), listed))
    problem = next((d for d in drawn if isinstance(d, Diagnostic)), None)
    if problem is not None:
        say(frame(problem, paint), err=True)
    return {
        x.qualified: "" if isinstance(d, Diagnostic) else _inline(d.decode())
        for x, d in zip(listed, drawn, strict=True)
    }


def _inline(svg: str) -> str:
    """The `<svg>` element alone, as it stands in a page."""
    return svg[svg.index("<svg") :]


def _module(model: m.Model, x: m.Module, svgs: dict[str, str], explored: dict[str, Exploration]) -> ModuleView:
    return ModuleView(
        x.name,
        x.doc,
        [(d.title, d.location or "") for d in x.documents],
        [_machine(y, svgs[y.qualified]) for y in x.machines],
        [_system(model, explored[y.qualified]) for y in x.systems],
        [_scenario(model, y) for y in x.scenarios],
        [(c.name, f"{c.order}, at most {c.bound}", c.receiver.rpartition(".")[2]) for c in x.channels],
        [_locks(y) for y in x.locks],
    )


def _locks(x: m.Locks) -> LocksView:
    pairs = [(_lock(p.held), _lock(p.wanted), p.amended or "") for p in x.pairs]
    return LocksView(x.name, x.doc, pairs, [(o.name, _takes(o.holds), o.doc) for o in x.operations])


def _lock(x: m.LockUse) -> str:
    name = f"child {x.name}" if x.child else x.name
    return name if x.mode == "any" else f"{x.mode}({name})"


def _takes(holds: tuple[m.Hold, ...]) -> str:
    """`write(A) { write(B) }, read(C)`: each lock with what is taken under it."""
    return ", ".join(_lock(h.lock) + (f" {{ {_takes(h.inside)} }}" if h.inside else "") for h in holds)


def _machine(x: m.Machine, svg: str) -> MachineView:
    table = completeness(x)
    rows = [{**row(t), "doc": t.doc} for t in x.transitions]
    reasons = [(f"{t.name}: {t.source} -> {t.target or t.source}", t.amended) for t in x.transitions if t.amended]
    reasons += [(f"ignore {i.event} in {i.state}", i.amended) for i in x.ignores if i.amended]
    matrix = [(state, [CELLS[table.cells[(event, state)]] for event in table.events]) for state in table.states]
    return MachineView(x.name, x.display, x.doc, svg, rows, table.events, matrix, reasons)


def _system(model: m.Model, x: Exploration) -> SystemView:
    groups = (f"{g.count} {g.machine.rpartition('.')[2]}" for g in x.system.groups)
    return SystemView(
        x.system.name,
        x.system.doc,
        ", ".join(groups),
        x.states,
        x.transitions,
        x.depth,
        x.seconds,
        x.stopped or "every reachable state",
        [_verdict(x, n, v) for n, v in enumerate(x.verdicts)],
        never_followed(x, model) if x.complete else [],
        x.note or "",
        _inline(columns(x.levels)) if len(x.levels) > 1 else "",
    )


def _verdict(x: Exploration, n: int, v: Verdict) -> VerdictView:
    """Violations with their sequence diagram; witnesses as text, for they are many."""
    told, drawn, place = [""], "", f"{anchor(x.system.qualified)}-run-{n}"
    if v.trace is not None and v.outcome == "violated":
        told, drawn = story(v.trace), _inline(as_svg(violation(v.shown, v), f"{place}-"))
    elif v.trace is not None:
        told = lines(v.trace)
    return VerdictView(v.name, v.kind, v.shown, v.outcome, v.basis, place, v.explanation, "\n".join(told), drawn)


def _scenario(model: m.Model, x: m.Scenario) -> ScenarioView:
    played = play(model, x)
    return ScenarioView(x.name, x.title, played.passed, "" if played.failure is None else played.failure.message)
