"""`fsm check`: what is wrong, without running anything."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from fsmdsl.cli import FINDINGS, usage
from fsmdsl.cli.common import Checked, checked, documented_option, paint, paths_argument, serious
from fsmdsl.cli.limits import MINUTES, limit_options, within
from fsmdsl.cli.messages import unstyled
from fsmdsl.cli.printing import printing, printing_options
from fsmdsl.cli.without_option import without_option
from fsmdsl.model.workspace import RULES as FILES
from fsmdsl.report.frames import frames, tally
from fsmdsl.text.budget import Budget
from fsmdsl.text.diagnostics import Diagnostic, Rule, Severity

if TYPE_CHECKING:
    from fsmdsl.report.formats.results import Results


@usage.command("check")
@paths_argument
@documented_option
@without_option
@usage.option("--notes", is_flag=True, help="Also print notes, such as events that a state does not handle.")
@limit_options(MINUTES)
@printing_options
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    without: tuple[str, ...],
    notes: bool,
    budget: Budget,
    form: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Check specs for errors and warnings, without running them.

    PATHS are files or folders (default: the folder `specs` if it exists, or else the current folder). `-` reads
    standard input.
    """
    out = printing(form, outputs)
    with within(budget, paths, out):
        x = checked(paths, as_documented=as_documented, without=without, lenient=True)
    diagnostics = list(x.diagnostics)
    visible = diagnostics if notes else [d for d in diagnostics if d.severity > Severity.NOTE]
    message = _summary(x) + (" (`--notes` prints them)" if len(visible) < len(diagnostics) else "")
    if visible:
        out.say_text(frames(visible, paint))
    out.say(message)
    out.finish(lambda: _results(diagnostics, visible, unstyled(message)))
    sys.exit(FINDINGS if serious(diagnostics) else 0)


def _results(diagnostics: list[Diagnostic], visible: list[Diagnostic], message: str) -> Results:
    from fsmdsl.report.formats.check_results import from_check

    return from_check(diagnostics, visible, looked_for(), message)


def looked_for() -> list[Rule]:
    """The rules that a check is about."""
    from fsmdsl import check as checks
    from fsmdsl.model import resolve
    from fsmdsl.syntax import parse

    return [*parse.RULES, *resolve.RULES, *checks.RULES, *FILES]


def _summary(x: Checked) -> str:
    if x.loaded.model is None:
        return tally(x.diagnostics)
    machines = sum(len(y.machines) for y in x.loaded.model.modules)
    rows = sum(len(z.transitions) for y in x.loaded.model.modules for z in y.machines)
    files = len(x.loaded.parsed)
    what = f"{_count(files, 'file')}, {_count(machines, 'machine')}, {_count(rows, 'transition')}"
    summary = f"{what}: {tally(x.diagnostics) or paint('clean', 'good')}"
    return f"{summary}; not checked further: {x.left_out_line}" if x.left_out else summary


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
