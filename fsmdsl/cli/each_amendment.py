"""`fsm verify --each-amendment`: the verdicts without repairs, with each alone, and with all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fsmdsl import model as m
from fsmdsl.cli import BOUNDED, FINDINGS
from fsmdsl.cli.common import loaded_or_exit, paint
from fsmdsl.cli.limits import exit_code, within
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.printing import Printing, printing
from fsmdsl.cli.progress import clear
from fsmdsl.cli.ranks import several
from fsmdsl.cli.repair_tables import RepairSearch, tables
from fsmdsl.cli.systems import chosen_systems, no_system, settings_of
from fsmdsl.cli.verify_options import VerifyOptions
from fsmdsl.dataclasses import replace
from fsmdsl.report.exploration import verdict
from fsmdsl.report.frames import frame
from fsmdsl.report.repairs import Table, table_data, table_lines
from fsmdsl.search import Exploration, Limits, Means, diagnostics
from fsmdsl.text.diagnostics import Diagnostic

if TYPE_CHECKING:
    from fsmdsl.report.formats.results import Results


def verify_each_amendment(o: VerifyOptions) -> int:
    """Print a table for each system; returns the exit code."""
    _refuse_others(o)
    out = printing(o.form, o.outputs)
    with within(o.budget, o.paths, out):
        loaded = loaded_or_exit(o.paths, out, settings=settings_of(o.settings))
    model, systems = chosen_systems(loaded, o.names)
    means = Means(workers=o.workers, symmetry=not o.no_symmetry)
    settings = settings_of(o.settings)
    search = RepairSearch(
        loaded, model, settings, Limits(o.max_states), means, o.budget, o.jobs, out.speaks, stutter=o.stutter
    )
    done: list[Table] = []
    for x in tables(search, systems):
        _say(x, out, is_first=not done)
        done.append(x)
    problems = [] if systems else [no_system(model, o.paths)]
    for d in problems:
        out.say_text(frame(d, paint).rstrip("\n"))
    out.finish(lambda: _results(done, model, problems))
    return exit_code(o.budget, _code(done))


def _refuse_others(o: VerifyOptions) -> None:
    """Options that choose amendments, or are about runs and single searches, have no meaning here."""
    others = {
        "--as-documented": o.as_documented, "--without": o.without, "--all": o.every, "--runs": o.runs,
        "--brief": o.brief, "--hide": o.hide, "--shortest": o.as_shortest, "--explore": o.by_hand,
        "--replay": o.replay, "--charts": o.charts, "--save": o.save, "--resume": o.resume,
        "--second-opinion": o.other, "--certificate": o.certificate,
    }  # fmt: skip
    for option in (name for name, value in others.items() if value):
        misuse(f"`--each-amendment` cannot be combined with `{option}`")
    if several():
        misuse("`--each-amendment` cannot be used with several processes")


def _say(x: Table, out: Printing, *, is_first: bool) -> None:
    if out.speaks:
        clear()
    if not is_first:
        out.say()
    for line in table_lines(x, paint):
        out.say(line, wrap=True)


def _wholes(tables: Sequence[Table]) -> list[Exploration]:
    """The explorations with all repairs."""
    return [t.exploration for x in tables for t in x.trials if t.is_whole and t.exploration is not None]


def _code(tables: Sequence[Table]) -> int:
    verdicts = [verdict(x) for x in _wholes(tables)]
    if "violated" in verdicts:
        return FINDINGS
    complete = verdicts and len(verdicts) == len(tables) and "bounded" not in verdicts
    return 0 if complete and not any(x.undecided for x in tables) else BOUNDED


def _results(tables: Sequence[Table], model: m.Model, problems: Sequence[Diagnostic]) -> Results:
    from fsmdsl.report.formats.gather import from_verify

    wholes = _wholes(tables)
    others = [x for x in model.systems.values() if x not in [y.system for y in wholes]]
    problems = [*diagnostics(*wholes, others=others), *problems]
    results = from_verify(wholes, model, problems, {"repairs": [table_data(x) for x in tables]})
    return replace(results, repairs=tuple(tables))
