"""`fsm report`: one page over all specs."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from fsmdsl.cli.check_command import looked_for
from fsmdsl.cli.common import (
    FINDINGS,
    checked,
    documented_option,
    paint,
    paths_argument,
    refuse,
    say,
)
from fsmdsl.cli.printing import printing, printing_options
from fsmdsl.cli.writing import earlier, force_option, write_folder
from fsmdsl.draw.svg import rendered_together
from fsmdsl.explore import Limits, diagnostics, explore, play
from fsmdsl.explore.replay import simplest
from fsmdsl.explore.rules import VACUOUS
from fsmdsl.report.assemble import assemble
from fsmdsl.report.census import census
from fsmdsl.report.formats.gather import from_report
from fsmdsl.report.frames import frame
from fsmdsl.report.page import is_page, page

NAME = "index.html"


@click.command("report")
@paths_argument
@documented_option
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), default="build/report", show_default=True, help="Where to."
)
@click.option("--title", default="State machines", show_default=True, help="The heading of the page.")
@click.option("--max-states", type=click.IntRange(1), help="A limit for each system.")
@force_option
@printing_options
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    out: Path,
    title: str,
    max_states: int | None,
    force: bool,
    form: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Write one self-contained page: diagrams, tables, checks, what exploring the systems found, scenarios.

    Exits with 1 when the page has something that needs attention.
    """
    from fsmdsl.cli import version

    told = printing(form, outputs)
    loaded, found = checked(paths, as_documented=as_documented)
    if loaded.model is None:
        refuse(told, found, "there is nothing to report on")
        sys.exit(FINDINGS)
    model = loaded.model
    explored = [simplest(explore(model, x, Limits(max_states)), model) for x in model.systems.values()]
    found += [d for d in diagnostics(*explored) if d.rule == VACUOUS]
    counted = [(x, census(model, x.system)) for x in explored]
    played = [play(model, x) for module in model.modules for x in module.scenarios]
    report, undrawn = assemble(title, model, found, counted, played, rendered_together, version())
    for problem in undrawn:
        say(frame(problem, paint), err=True)
    path = out / NAME
    write_folder(out, "report", {NAME: page(report)}, ours=earlier(is_page), force=force)
    totals = report.totals
    counts = ", ".join(f"{n:,} {name.removesuffix('s') if n == 1 else name}" for name, n in totals.items())
    told.say(f"{path}: {counts}")
    extra = {"page": str(path), "totals": totals}
    told.finish(lambda: from_report(model, found, explored, played, counts, looked_for(), extra))
    bad = totals["violations"] or totals["undecided"] or totals["failing"] or any(d.severity for d in found)
    sys.exit(FINDINGS if bad else 0)
