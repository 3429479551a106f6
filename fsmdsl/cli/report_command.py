"""`fsm report`: one page over all specs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from fsmdsl import model as m
from fsmdsl.cli import BOUNDED, FINDINGS, usage
from fsmdsl.cli.check_command import looked_for
from fsmdsl.cli.common import (
    checked,
    documented_option,
    lacking_diagrams,
    left_out_message,
    paint,
    paths_argument,
    refuse,
)
from fsmdsl.cli.counts import counted, counts_option
from fsmdsl.cli.limits import MINUTES, exit_code, limit_options, within
from fsmdsl.cli.messages import misuse, say
from fsmdsl.cli.output_files import earlier, force_option, write_folder
from fsmdsl.cli.printing import Printing, printing, printing_options
from fsmdsl.cli.processes import Work, jobs_option, processes, results
from fsmdsl.cli.progress import clear
from fsmdsl.cli.repair_tables import RepairSearch, tables
from fsmdsl.cli.report_origin import changes, origin
from fsmdsl.cli.test_command import played as play_all
from fsmdsl.dataclasses import replace
from fsmdsl.draw.svg import rendered_together
from fsmdsl.model.workspace import Loaded
from fsmdsl.report.assemble import assemble
from fsmdsl.report.formats.gather import from_report
from fsmdsl.report.frames import frames
from fsmdsl.report.page import is_page, page
from fsmdsl.report.repairs import Table, table_data
from fsmdsl.report.state_counts import SMALL, Census, census
from fsmdsl.runs.replay import with_runs
from fsmdsl.runs.verdicts.rules import VACUOUS
from fsmdsl.runs.verdicts.verdict import Progress
from fsmdsl.search import Exploration, Limits, Means, diagnostics, explore
from fsmdsl.text.budget import Budget, LimitError
from fsmdsl.text.diagnostics import Diagnostic

NAME = "index.html"


@usage.command("report")
@paths_argument
@documented_option
@usage.option(
    "--out",
    "-o",
    type=usage.path(path_type=Path),
    default="build/report",
    show_default=True,
    help="Write to this folder.",
)
@usage.option("--each-amendment", is_flag=True, help="Add tables that show which amendments each property needs.")
@usage.option("--title", default="State machines", show_default=True, help="Heading of the page.")
@usage.option("--max-states", type=usage.integer(1), help="Maximum number of states to explore per system.")
@usage.option("--since", metavar="REV", help="List the changes since a Git revision, or since other specs.")
@counts_option
@limit_options(
    MINUTES,
    "Stop after this many seconds per system, for the tables of `--each-amendment`, for all scenarios, and for "
    "drawing; reading and checking count toward the first system",
)
@jobs_option
@force_option
@printing_options
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    out: Path,
    each_amendment: bool,
    title: str,
    max_states: int | None,
    since: str | None,
    counts: Path | None,
    budget: Budget,
    jobs: int | None,
    force: bool,
    form: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Write a report on all specs as one self-contained page, with diagrams, tables, checks, verification results and
    scenarios.

    The exit code is 1 if anything on the page needs attention.
    """
    from fsmdsl.cli import version

    output = printing(form, outputs)
    if each_amendment and as_documented:
        misuse("`--each-amendment` cannot be combined with `--as-documented`")
    with within(budget, paths, output):
        loaded, model, problems = _read(paths, output, as_documented=as_documented)
        logged = None if counts is None else counted(counts, model.machines.values())
        changed = () if since is None else changes(since, paths, model, as_documented=as_documented)
    done = _explore(model, Limits(max_states), budget, jobs, shows_progress=output.speaks)
    explored = [x for x, _ in done]
    problems += [d for d in diagnostics(*explored) if d.rule == VACUOUS]
    search = RepairSearch(loaded, model, {}, Limits(max_states), Means(), budget.renewed(), jobs, output.speaks)
    repair_tables = _repair_tables(search, explored) if each_amendment else []
    played, unplayed = play_all(model, [x for module in model.modules for x in module.scenarios], budget.renewed())
    for scenario in unplayed:
        say(f"{paint('unknown', 'warning')}  {scenario.qualified}  {budget.reached}", err=True)
    drawing = Budget(budget.seconds, budget.memory)
    with within(drawing, paths, output, before="the page was drawn, so nothing was written"):
        report, undrawn = assemble(
            title, model, problems, done, played, rendered_together, version(), counts=logged, tables=repair_tables
        )
        report = replace(report, origin=origin(paths), since=since or "", changed=changed)
        content = page(report)
    for problem in undrawn:
        say(lacking_diagrams(problem), err=True)
    path = out / NAME
    write_folder(out, "report", {NAME: content}, ours=earlier(is_page), force=force)
    totals = report.totals
    summed = ", ".join(f"{n:,} {name.removesuffix('s') if n == 1 else name}" for name, n in totals.items())
    output.say(f"{path}: {summed}")
    extra = {"page": str(path), "totals": totals, "repairs": [table_data(x) for x in repair_tables]}
    why = budget.reached or ""
    output.finish(lambda: from_report(model, problems, explored, played, unplayed, why, summed, looked_for(), extra))
    bad = totals["violations"] or totals["failing"] or any(d.severity for d in problems)
    open_ = totals["undecided"] or any(x.undecided for x in repair_tables)
    sys.exit(exit_code(budget, FINDINGS if bad else BOUNDED if open_ else 0))


def _read(paths: tuple[str, ...], output: Printing, *, as_documented: bool) -> tuple[Loaded, m.Model, list[Diagnostic]]:
    """The files that have a model, the model, and what the checks find in all files."""
    x = checked(paths, as_documented=as_documented, lenient=True)
    problems = list(x.diagnostics)
    if x.loaded.model is None:
        refuse(output, problems, "there is nothing to report on")
        sys.exit(FINDINGS)
    if x.errors:
        output.say_text(frames(x.errors, paint), err=True)
        output.say(left_out_message(x), err=True)
    return x.loaded, x.loaded.model, problems


def _explore(
    model: m.Model, limits: Limits, budget: Budget, jobs: int | None, *, shows_progress: bool
) -> list[tuple[Exploration, Census]]:
    """All systems."""
    systems = list(model.systems.values())
    at_once = processes(jobs, len(systems))
    means = Means(counted=True, beside_others=at_once > 1)

    def explored(n: int, show: Callable[[Progress], None] | None) -> tuple[Exploration, Census]:
        return _explored(model, systems[n], limits, means, budget.renewed() if n else budget, show)

    work = Work([model], [x.qualified for x in systems], budget, shows_progress, explored)
    with results(work, at_once) as explorations:
        done = list(explorations)
    clear()
    return done


def _repair_tables(search: RepairSearch, explored: Sequence[Exploration]) -> list[Table]:
    """A table for each system that has repairs."""
    done = list(tables(search, [x.system for x in explored], {x.system.qualified: x for x in explored}))
    clear()
    return [x for x in done if x.has_repairs]


def _explored(
    model: m.Model,
    system: m.System,
    limits: Limits,
    means: Means,
    budget: Budget,
    show: Callable[[Progress], None] | None,
) -> tuple[Exploration, Census]:
    if show is not None:
        show(Progress(0, 0, 0, 0))
    x = with_runs(lambda: explore(model, system, limits, show, means, budget=budget), model, budget)
    space = Census(complete=False)
    with suppress(LimitError), budget:
        space = space if budget.raised or x.states > SMALL else census(model, system)
    return x, space
