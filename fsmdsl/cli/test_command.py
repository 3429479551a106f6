"""`fsm test`: the scenarios."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fsmdsl import model as m
from fsmdsl.cli import BOUNDED, FINDINGS, usage
from fsmdsl.cli.common import documented_option, loaded_or_exit, ordered_model, paint, paths_argument
from fsmdsl.cli.limits import MINUTES, exit_code, limit_options, within
from fsmdsl.cli.messages import unstyled
from fsmdsl.cli.printing import Printing, printing, printing_options
from fsmdsl.cli.without_option import without_option
from fsmdsl.report.frames import frame
from fsmdsl.runs.narrative import story
from fsmdsl.search import Played, play
from fsmdsl.text.budget import Budget, LimitError

if TYPE_CHECKING:
    from fsmdsl.report.formats.results import Results


@usage.command("test")
@paths_argument
@documented_option
@without_option
@usage.option("--verbose", "-v", is_flag=True, help="Print every scenario with its run.")
@limit_options(MINUTES)
@printing_options
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    without: tuple[str, ...],
    verbose: bool,
    budget: Budget,
    form: str | None,
    outputs: tuple[Path, ...],
) -> None:
    """Run the scenarios (step-by-step examples) in specs.

    Exit codes: 0 all pass, 1 some fail, 2 usage error, 3 a limit was reached before all scenarios were run.
    """
    out = printing(form, outputs)
    with within(budget, paths, out):
        loaded = loaded_or_exit(paths, out, as_documented=as_documented, without=without)
    model = ordered_model(loaded)
    done, open_ = played(model, [x for x in model.scenarios.values() if x.module in loaded.root_modules], budget)
    failed = sum(not x.passed for x in done)
    for x in done:
        _tell(out, x, verbose)
    summary = _tally(len(done), failed, len(open_))
    for scenario in open_:
        out.say(f"{paint('unknown', 'warning')}  {scenario.qualified}  {budget.reached}")
    _left_out(out, model, verbose, summary)
    out.finish(lambda: _results(model, done, open_, budget.reached or "", unstyled(summary)))
    sys.exit(exit_code(budget, FINDINGS if failed else BOUNDED if open_ else 0))


def played(
    model: m.Model, scenarios: Sequence[m.Scenario], budget: Budget
) -> tuple[list[Played], Sequence[m.Scenario]]:
    """The scenarios that could be played within the limits, and the others."""
    done: list[Played] = []
    try:
        with budget:
            budget.check()
            for scenario in scenarios:
                done.append(play(model, scenario))
    except LimitError:
        pass
    return done, scenarios[len(done) :]


def _results(model: m.Model, done: list[Played], open_: Sequence[m.Scenario], why: str, summary: str) -> Results:
    from fsmdsl.report.formats.gather import from_test

    return from_test(model, done, open_, why, summary)


def _tell(out: Printing, x: Played, verbose: bool) -> None:
    if verbose or not x.passed:
        word = paint("passes", "good") if x.passed else paint("fails ", "error")
        out.say(f"{word}  {x.scenario.qualified}  {paint(x.scenario.title, 'quiet')}")
        out.say(*(f"    {line}" for line in story(x.trace)), wrap=True)
    if x.failure is not None:
        out.say_text(frame(x.failure, paint))


def _left_out(out: Printing, model: m.Model, verbose: bool, summary: str) -> None:
    omissions = [(f"{x.name}.{y.name}", y) for x in model.modules for y in x.left_out]
    for name, y in omissions if verbose else ():
        out.say(f"{paint('left out', 'warning')}  {name}  {paint(y.title, 'quiet')}", f"    {y.why}")
    out.say(summary)
    if omissions:
        hint = "" if verbose else "; `--verbose` names them"
        out.say(f"{len(omissions)} left out for referring to something that only an amendment declares{hint}")


def _tally(done: int, failed: int, undecided: int) -> str:
    count = done + undecided
    if not count:
        return "no scenario to play"
    parts = [paint(f"{failed} fail{'s' * (failed == 1)}", "error")] if failed else []
    parts += [paint(f"{undecided} undecided", "warning")] if undecided else []
    return f"{count} scenario{'s' * (count != 1)}: {', '.join(parts) or paint('all pass', 'good')}"
