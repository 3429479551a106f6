"""`fsm check`: what is wrong, without running anything."""

from __future__ import annotations

import sys

import click

from fsmdsl.cli.common import (
    FINDINGS,
    checked,
    documented_option,
    format_option,
    paint,
    paths_argument,
    say,
    say_json,
    serious,
)
from fsmdsl.diagnostics import Diagnostic, Severity
from fsmdsl.report.data import diagnostics
from fsmdsl.report.frames import frames, tally
from fsmdsl.workspace import Loaded


@click.command("check")
@paths_argument
@documented_option
@click.option("--notes", is_flag=True, help="Print notes too, such as events that a state does not handle.")
@format_option
def command(paths: tuple[str, ...], as_documented: bool, notes: bool, form: str) -> None:
    """Report what is wrong in specs, without running anything.

    PATHS are files or folders; without any, the folder `specs`, else the current one. `-` reads standard input.
    """
    loaded, found = checked(paths, as_documented=as_documented)
    if form == "json":
        say_json("check", diagnostics(found))
    else:
        shown = found if notes else [d for d in found if d.severity > Severity.NOTE]
        if shown:
            say(frames(shown, paint))
        say(_summary(loaded, found))
    sys.exit(FINDINGS if serious(found) else 0)


def _summary(loaded: Loaded, found: list[Diagnostic]) -> str:
    if loaded.model is None:
        return tally(found)
    machines = sum(len(x.machines) for x in loaded.model.modules)
    rows = sum(len(y.transitions) for x in loaded.model.modules for y in x.machines)
    files = len(loaded.parsed)
    what = f"{_count(files, 'file')}, {_count(machines, 'machine')}, {_count(rows, 'transition')}"
    return f"{what}: {tally(found) or paint('clean', 'good')}"


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}{'s' * (n != 1)}"
