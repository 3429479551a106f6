"""`fsm test`: the scenarios."""

from __future__ import annotations

import sys

import click

from fsmdsl.cli.common import (
    FINDINGS,
    documented_option,
    format_option,
    model_or_exit,
    paint,
    paths_argument,
    say,
    say_json,
)
from fsmdsl.explore import lines, play
from fsmdsl.report.exploration import played
from fsmdsl.report.frames import frame


@click.command("test")
@paths_argument
@documented_option
@click.option("--verbose", "-v", is_flag=True, help="Print every scenario with its run.")
@format_option
def command(paths: tuple[str, ...], as_documented: bool, verbose: bool, form: str) -> None:
    """Run the scenarios of specs: worked examples, step by step."""
    model = model_or_exit(paths, form, as_documented=as_documented)
    done = [play(model, scenario) for scenario in model.scenarios.values()]
    failed = [x for x in done if not x.passed]
    gone = [(f"{x.name}.{y.name}", y) for x in model.modules for y in x.left_out]
    if form == "json":
        counts = {"passed": len(done) - len(failed), "failed": len(failed)}
        left = [
            {"name": y.name, "module": x.name, "title": y.title, "why": y.why}
            for x in model.modules
            for y in x.left_out
        ]
        say_json("test", {**counts, "scenarios": [played(x) for x in done], "left_out": left})
        sys.exit(FINDINGS if failed else 0)
    for x in done:
        if verbose or not x.passed:
            word = paint("passes", "good") if x.passed else paint("fails ", "error")
            say(f"{word}  {x.scenario.qualified}  {paint(x.scenario.title, 'quiet')}")
            say("\n".join(f"    {line}" for line in lines(x.trace)))
        if x.failure is not None:
            say(frame(x.failure, paint))
    for name, y in gone if verbose else ():
        say(f"{paint('left out', 'warning')}  {name}  {paint(y.title, 'quiet')}\n    {y.why}")
    say(_tally(len(done), len(failed)))
    if gone:
        hint = "" if verbose else "; `--verbose` names them"
        say(f"{len(gone)} left out, for they speak of what only amendments declare{hint}")
    sys.exit(FINDINGS if failed else 0)


def _tally(done: int, failed: int) -> str:
    if not done:
        return "no scenario to play"
    verdict = paint(f"{failed} fail{'s' * (failed == 1)}", "error") if failed else paint("all pass", "good")
    return f"{done} scenario{'s' * (done != 1)}: {verdict}"
