"""`fsm verify`: every state of the systems."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import click

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.cli.common import (
    FINDINGS,
    documented_option,
    format_option,
    misuse,
    model_or_exit,
    paint,
    paths_argument,
    say,
    say_json,
    write,
)
from fsmdsl.cli.common import chosen as specs
from fsmdsl.diagnostics import did_you_mean
from fsmdsl.explore import Exploration, Limits, Progress, explore
from fsmdsl.explore.retell import shortest, simplest
from fsmdsl.report.exploration import details, exploration, summary, verdict
from fsmdsl.settings import setting

BOUNDED = 3
"""The exit code when nothing is violated in what was explored, and a limit came before the end."""


@click.command("verify")
@paths_argument
@documented_option
@click.option("--system", "names", multiple=True, metavar="NAME", help="Only this system (may be repeated).")
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="The size of a set, or a parameter.")
@click.option(
    "--max-states", type=click.IntRange(1), default=200_000, show_default=True, help="Stop at so many states."
)
@click.option("--max-seconds", type=click.FloatRange(0, min_open=True), help="Stop after so long, for each system.")
@click.option("--all", "every", is_flag=True, help="Also what holds, with the witnesses.")
@click.option("--shortest", "as_shortest", is_flag=True, help="Show the shortest runs, not the simplest.")
@click.option("--explore", "by_hand", is_flag=True, help="Then walk from state to state by hand, through one system.")
@click.option("--replay", type=click.Path(path_type=Path), help="A folder for tests that replay violations (pytest).")
@click.option("--charts", type=click.Path(path_type=Path), help="A folder for sequence diagrams of the runs (SVG).")
@format_option
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    names: tuple[str, ...],
    settings: tuple[str, ...],
    max_states: int,
    max_seconds: float | None,
    every: bool,
    as_shortest: bool,
    by_hand: bool,
    replay: Path | None,
    charts: Path | None,
    form: str,
) -> None:
    """Explore every state of the systems in specs, and report what is violated, with the simplest run to it.

    Exit codes: 0 all holds, 1 something is violated, 2 misuse, 3 a limit was reached first.
    """
    model = model_or_exit(paths, form, as_documented=as_documented, settings=_settings(settings))
    chosen = _one(_chosen(model, names), form) if by_hand else _chosen(model, names)
    limits = Limits(max_states, max_seconds)
    done: list[Exploration] = []
    for system in chosen:
        x = explore(model, system, limits, _progress(system.qualified) if form == "text" else None)
        x = shortest(x) if as_shortest else simplest(x, model)
        done.append(x)
        if charts is not None:
            _draw(x, charts)
        if form == "text":
            _clear()
            say(summary(x, paint))
            for line in () if by_hand else details(x, model, paint, every=every):
                say(line)
    replays = [] if replay is None else _write_replays(done, model, replay, form)
    if by_hand:
        _walk(done[0], model, f"{' '.join(specs(paths))}{' --as-documented' * as_documented}")
    if form == "json":
        told = {} if replay is None else {"replays": replays}
        say_json("verify", {"systems": [exploration(x, model) for x in done], **told})
    elif not done:
        say("no system to explore: a `system` says how many instances of the machines there are")
    sys.exit(_exit_code(done))


def _draw(x: Exploration, folder: Path) -> None:
    """A sequence diagram for every run that shows something."""
    from fsmdsl.draw.sequence_svg import as_svg
    from fsmdsl.report.chart import violation
    from fsmdsl.report.page import anchor

    for n, v in enumerate(v for v in x.verdicts if v.trace is not None and v.trace.entries):
        title = f"{x.system.qualified}: {v.kind} {v.name}"
        write(folder / f"{x.system.qualified}-{n + 1}-{anchor(v.kind, v.name)}.svg", as_svg(violation(title, v)))


def _write_replays(done: list[Exploration], model: m.Model, folder: Path, form: str) -> list[str]:
    """The tests written."""
    from fsmdsl.cli.replays import write_replays

    tests = [str(path) for path in write_replays(done, model, folder)]
    if form == "text":
        count = f"{len(tests)} test{'s' * (len(tests) != 1)}"
        say(f"{count} in {folder}; `pytest {folder}` replays them" if tests else "no violation has a run to replay")
    return tests


def _one(found: list[m.System], form: str) -> list[m.System]:
    """The system to walk through."""
    if form != "text":
        misuse("`--explore` is for a person: it has no `--format json`")
    if len(found) != 1:
        listed = ", ".join(f"`{x.name}`" for x in found)
        misuse(f"`--explore` walks through one system; say which with `--system`: {listed or 'there is none'}")
    return found


def _walk(x: Exploration, model: m.Model, rest: str) -> None:
    from fsmdsl.cli.walkthrough import walkthrough

    walkthrough(x, model, lambda path: f"fsm test {path} {rest}")
    sys.exit(0)


def _exit_code(done: list[Exploration]) -> int:
    verdicts = {verdict(x) for x in done}
    return FINDINGS if "violated" in verdicts else BOUNDED if "bounded" in verdicts else 0


def _settings(given: tuple[str, ...]) -> dict[str, s.Expr]:
    try:
        return dict(setting(text) for text in given)
    except ValueError as error:
        misuse(f"--set: {error}")


def _chosen(model: m.Model, names: tuple[str, ...]) -> list[m.System]:
    if not names:
        return list(model.systems.values())
    known = {name: x for x in model.systems.values() for name in (x.name, x.qualified)}
    for name in names:
        if name not in known:
            advice = (
                did_you_mean(name, known) or f"there are {', '.join(f'`{x.name}`' for x in model.systems.values())}"
            )
            misuse(f"there is no system `{name}`; {advice}")
    return list(dict.fromkeys(known[name] for name in names))


def _progress(name: str) -> Callable[[Progress], None] | None:
    """A line that is written over, on a terminal only."""
    if not sys.stderr.isatty():
        return None

    def show(p: Progress) -> None:
        text = f"{name}: {p.states:,} states, {p.waiting:,} waiting, depth {p.depth}"
        click.echo(f"\r\x1b[2K{text}", err=True, nl=False)

    return show


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[2K", err=True, nl=False)
