"""`python -m runtime simulate`."""

from __future__ import annotations

import sys
from dataclasses import replace
from math import inf
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click

from runtime.errors import UserError
from runtime.printing import say, say_text
from runtime.simulate.duration import seconds, spoken

if TYPE_CHECKING:
    from runtime.simulate.result import Run
    from runtime.simulate.scenario import Scenario

FILE = click.Path(path_type=Path, dir_okay=False)
PLACE = click.Path(path_type=Path)


class Time(click.ParamType[float]):
    """As in `45s`, `30m`, `4h`, `90d`; a number alone is seconds."""

    name = "time"

    def __init__(self, *, never: bool = False) -> None:
        self.never = never

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Seconds."""
        if isinstance(value, float):
            return value
        if self.never and value == "never":
            return inf
        duration = seconds(value)
        if duration is None:
            self.fail(
                f"{value!r} is not a time, as in 45s, 30m, 4h, 90d{' or never' if self.never else ''}", param, ctx
            )
        return duration


@click.group(invoke_without_command=True)
@click.option("--config", type=FILE, help="HiveD configuration file.")
@click.option("--workload", type=FILE, metavar="TRACE", help="Read the gangs from this CSV file (docs/simulator.md).")
@click.option(
    "--generate",
    "recipe",
    metavar="SETTINGS",
    help='Generate a workload, as in "gangs=5000 days=14 load=0.9".',
)
@click.option(
    "--outages", default="", metavar="FILE|SETTINGS", help='Simulate node failures, as in "every=90d repair=4h".'
)
@click.option("--seed", default=1, show_default=True, help="Random seed.")
@click.option(
    "--backfill",
    default=50,
    show_default=True,
    metavar="N",
    help="Maximum number of gangs that may overtake the first one.",
)
@click.option("--grace", type=Time(), default="30s", show_default=True, help="Time for displaced gangs to leave.")
@click.option(
    "--checkpoint", type=Time(never=True), default="30m", show_default=True, help="Amount of work between checkpoints."
)
@click.option("--until", type=Time(), help="Stop at this time (default: when everything is done).")
@click.option("--every", type=Time(), help="Interval of the time series.")
@click.option("--journal", type=FILE, help="Use the allocator with a journal in this file.")
@click.option("--full-life", is_flag=True, help="Also simulate queues, applications, pods and nodes (docs/lives.md).")
@click.option("--check", is_flag=True, help="Compare the records with the allocator from time to time.")
@click.option("--out", type=PLACE, metavar="DIR", help="Write run.json, gangs.csv and plots to this folder.")
@click.option("--plots/--no-plots", default=True, help="Write plots to --out (requires matplotlib).  [default: plots]")
@click.option(
    "--compare", "others", type=PLACE, multiple=True, metavar="RUN", help="Compare with this run (may be repeated)."
)
@click.option(
    "--view",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Show the simulation on a web page (0: any free port).",
)
@click.option("--pace", type=Time(), default="1h", show_default=True, help="Virtual time per second, with --view.")
@click.option("--quiet", is_flag=True, help="Do not show progress on the terminal.")
@click.pass_context
def simulate(context: click.Context, /, **options: Any) -> None:
    """Simulate gangs on a cluster.

    The simulation runs the allocator itself on a virtual clock.

    SETTINGS are written as in "name=value name=value"; docs/simulator.md lists them all.
    """
    if context.invoked_subcommand is None:
        _run(**options)


def _run(
    *, config: Path | None, workload: Path | None, recipe: str | None, others: tuple[Path, ...], **more: Any
) -> None:
    from runtime.simulate.compare import comparison_text
    from runtime.simulate.engine import Rules
    from runtime.simulate.result import read_run
    from runtime.simulate.scenario import Scenario
    from runtime.simulate.text import summary_text

    if config is None:
        raise click.UsageError("Missing option '--config'.")
    if (workload is None) == (recipe is None):
        raise click.UsageError("Give either --workload or --generate.")
    beside = [read_run(path) for path in others]
    rules = Rules(more["backfill"], more["grace"], more["checkpoint"], until=more["until"] or inf)
    scenario = Scenario(config, workload, recipe, more["outages"], more["seed"], rules, more["every"], more["journal"])
    scenario = replace(scenario, full_life=more["full_life"])
    live = _live(more["view"], more["pace"]) if more["view"] is not None else None
    observers = [live.paced] if live is not None else []
    run = _simulated(scenario, observers, **{name: more[name] for name in ("out", "plots", "check", "quiet")})
    say_text(summary_text(run))
    if beside:
        say_text(f"\n{comparison_text([*beside, run])}")
        _plot(more["out"], [*beside, run], enabled=more["plots"])
    if live is not None:
        _linger(live)


def _live(port: int, pace: float) -> Any:
    """The page, which can be looked at from now on."""
    try:
        from runtime.view.live import Live
    except ImportError as error:
        raise UserError(f"{error.name} is not installed: the view needs requirements/allocator.txt") from error
    if not pace:
        raise UserError("--pace must be greater than zero")
    live = Live(pace, port)
    say(f"watch it at {live.address}", err=True)
    return live


def _linger(live: Any) -> None:
    """The page stays until the person is done."""
    sys.stdout.flush()
    try:
        say(f"{live.address} stays until you press Ctrl-C", err=True)
        Event().wait()
    except KeyboardInterrupt:
        live.close()


def _simulated(
    scenario: Scenario, observers: list[Any], *, out: Path | None, plots: bool, check: bool, quiet: bool
) -> Run:
    """Runs it, and writes what comes out."""
    from runtime.simulate.checking import Checking
    from runtime.simulate.progress import Progress
    from runtime.simulate.result import run_of, write_run

    simulation = scenario.simulation()
    if check:
        observers.append(Checking(simulation))
    if not quiet and sys.stderr.isatty():
        observers.append(Progress(len(simulation.jobs)))
    begun = perf_counter()
    simulation.run(observers)
    took = perf_counter() - begun
    run = run_of(simulation, out.resolve().name if out else "this run", scenario.settings(simulation.configuration))
    say(f"simulated in {took:.1f} s; asked for {simulation.queries:,} placements", err=True)
    if out is not None:
        write_run(out, run, simulation.jobs)
        _plot(out, [run], enabled=plots)
    return run


def _plot(out: Path | None, runs: list[Run], *, enabled: bool) -> None:
    """Plots, where the library is there; without it, a word about it."""
    if out is None or not enabled:
        return
    try:
        from runtime.simulate.plots import plot
    except ImportError as error:
        say(f"no plots: {error.name} is not installed; plotting needs `pip install matplotlib`", err=True)
        return
    for path in plot(out, runs):
        say(f"wrote {path}", err=True)


@simulate.command()
@click.argument("runs", type=PLACE, nargs=-1, required=True, metavar="RUN RUN …")
@click.option("--out", type=PLACE, metavar="DIR", help="Write plots to this folder.")
def compare(runs: tuple[Path, ...], out: Path | None) -> None:
    """Compare runs that were written with --out.

    Prints a table, and writes plots of all runs.
    """
    from runtime.simulate.compare import comparison_text
    from runtime.simulate.result import read_run

    if len(runs) < 2:
        raise click.UsageError("Comparing needs two runs or more.")
    read = [read_run(path) for path in runs]
    say_text(comparison_text(read))
    _plot(out, read, enabled=True)


@simulate.command()
@click.argument("settings", default="")
@click.option("--config", type=FILE, required=True, help="HiveD configuration file.")
@click.option("--seed", default=1, show_default=True, help="Random seed.")
@click.option("--out", type=FILE, required=True, metavar="TRACE", help="Write to this CSV file.")
def generate(settings: str, config: Path, seed: int, out: Path) -> None:
    """Generate a workload and write it as a trace.

    SETTINGS are those of --generate.
    """
    from runtime.config import read_configuration
    from runtime.simulate.generate import generate as make
    from runtime.simulate.generate import read_recipe
    from runtime.simulate.trace import write_trace

    requests = make(read_recipe(settings), read_configuration(config), seed)
    _written(out, lambda: write_trace(out, requests))
    say(f"wrote {len(requests):,} gangs to {out}")


@simulate.command()
@click.argument("source", type=FILE, metavar="TRACE")
@click.option("--config", type=FILE, required=True, help="HiveD configuration file.")
@click.option(
    "--load",
    type=click.FloatRange(min=0, min_open=True),
    default=0.9,
    show_default=True,
    help="Share of the cluster that the gangs need.",
)
@click.option(
    "--since",
    "begin",
    type=Time(),
    default="0",
    help="Omit gangs that ended before this time; submit running ones at this time.",
)
@click.option("--out", type=FILE, required=True, metavar="TRACE", help="Write to this CSV file.")
def press(source: Path, config: Path, load: float, begin: float, out: Path) -> None:
    """Compress the arrivals in a trace to a given load.

    Gangs arrive so fast that they need the share --load of the cluster. Durations do not change.
    """
    from runtime.config import read_configuration
    from runtime.simulate.quotas import capacity
    from runtime.simulate.time_scaling import compress_arrivals, starting_at
    from runtime.simulate.trace import read_trace, write_trace

    requests = compress_arrivals(starting_at(read_trace(source), begin), capacity(read_configuration(config)), load)
    _written(out, lambda: write_trace(out, requests))
    there = sum(not request.submitted for request in requests)
    last = spoken(requests[-1].submitted)
    say(f"wrote {len(requests):,} gangs to {out}: {there:,} at the beginning, the others in {last}")


@simulate.group()
def convert() -> None:
    """Convert public traces and node lists.

    Traces of GPU clusters become traces for --workload, and node lists become configurations.
    """


def _conversion(command: Any) -> Any:
    """What all conversions have in common."""
    for option in (
        click.option("--limit", type=int, metavar="N", help="Convert only the first N gangs."),
        click.option("--node", default=8, show_default=True, help="Leaf cells per node; larger pods are split."),
        click.option(
            "--tenants",
            default="",
            metavar="A,B,…",
            help="Distribute users about evenly to these virtual clusters (default: users keep their names).",
        ),
        click.option("--out", type=FILE, required=True, metavar="TRACE", help="Write to this CSV file."),
        click.argument("source", type=click.Path(path_type=Path, exists=True), metavar="IN"),
    ):
        command = option(command)
    return command


@convert.command()
@_conversion
def philly(source: Path, **options: Any) -> None:
    """Convert Microsoft's Philly trace.

    IN is its cluster_job_log.
    """
    from runtime.simulate.convert.philly import read

    _converted(read(source), **options)


@convert.command()
@_conversion
@click.option(
    "--types",
    default="",
    metavar="OLD=NEW …",
    help="Leaf cell types to request; other types become any. `*` keeps all types.",
)
def alibaba(source: Path, types: str, **options: Any) -> None:
    """Convert Alibaba's GPU traces.

    IN is the folder with pai_task_table.csv and pai_job_table.csv (2020), or one of the openb_pod_list files (2023).
    """
    from runtime.simulate.convert.alibaba import read

    _converted(read(source, types), **options)


@convert.command()
@click.argument("source", type=FILE, metavar="IN")
@click.option("--shares", required=True, metavar="NAME=SHARE …", help="Virtual clusters and their shares.")
@click.option("--out", type=FILE, required=True, metavar="CONFIG", help="Write to this YAML file.")
def nodes(source: Path, shares: str, out: Path) -> None:
    """Convert Alibaba's node list (2023) to a HiveD configuration.

    IN is openb_node_list_gpu_node.csv.
    """
    import yaml

    from runtime.simulate.convert.nodes import read, read_shares

    configuration = read(source, read_shares(shares))
    text = yaml.safe_dump(configuration, sort_keys=False)
    _written(out, lambda: out.write_text(text, encoding="utf-8"))
    say(f"wrote {len(configuration['physicalCluster']['physicalCells']):,} nodes to {out}")


def _converted(conversion: Any, *, out: Path, tenants: str, node: int, limit: int | None) -> None:
    from runtime.simulate.convert import prepared
    from runtime.simulate.trace import write_trace

    requests = prepared(conversion.requests, [name for name in tenants.split(",") if name], node, limit)
    _written(out, lambda: write_trace(out, requests))
    say(f"wrote {len(requests):,} gangs to {out}")
    for reason, number in conversion.skipped.items():
        say(f"left out {number:,}: {reason}")


def _written(out: Path, write: Any) -> None:
    try:
        write()
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}") from error
