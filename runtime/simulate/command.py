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
            self.fail(f"{value!r} is no time, as in 45s, 30m, 4h, 90d{' or never' if self.never else ''}", param, ctx)
        return duration


@click.group(invoke_without_command=True)
@click.option("--config", type=FILE, help="HiveD's configuration.")
@click.option("--workload", type=FILE, metavar="TRACE", help="Gangs, in a CSV file (docs/simulator.md).")
@click.option(
    "--generate",
    "recipe",
    metavar="SETTINGS",
    help='A made-up workload, as in "gangs=5000 days=14 load=0.9".',
)
@click.option("--outages", default="", metavar="FILE|SETTINGS", help='Failing nodes, as in "every=90d repair=4h".')
@click.option("--seed", default=1, show_default=True, help="Of what is made up.")
@click.option("--backfill", default=50, show_default=True, metavar="N", help="Gangs that may overtake the first.")
@click.option("--grace", type=Time(), default="30s", show_default=True, help="To leave, when displaced.")
@click.option("--checkpoint", type=Time(never=True), default="30m", show_default=True, help="How often work is saved.")
@click.option("--until", type=Time(), help="When to stop; otherwise when all is done.")
@click.option("--every", type=Time(), help="Interval of the time series.")
@click.option("--journal", type=FILE, help="Use the allocator with a journal, and put it there.")
@click.option("--full-life", is_flag=True, help="Queues, applications, pods and nodes as well (docs/lives.md).")
@click.option("--check", is_flag=True, help="Compare the books with the allocator now and then.")
@click.option("--out", type=PLACE, metavar="DIR", help="Where to write run.json, gangs.csv and plots.")
@click.option("--plots/--no-plots", default=True, help="Whether --out gets plots (needs matplotlib).  [default: plots]")
@click.option("--compare", "others", type=PLACE, multiple=True, metavar="RUN", help="Another run; may be repeated.")
@click.option("--view", type=click.IntRange(0, 65535), metavar="PORT", help="Show it on a page meanwhile; 0: any port.")
@click.option("--pace", type=Time(), default="1h", show_default=True, help="With --view: virtual time in a second.")
@click.option("--quiet", is_flag=True, help="No progress on the terminal.")
@click.pass_context
def simulate(context: click.Context, /, **options: Any) -> None:
    """Simulates gangs on a cluster, by the allocator itself, on a virtual clock.

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
        raise UserError("--pace must be more than nothing")
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
@click.option("--out", type=PLACE, metavar="DIR", help="Where to write plots.")
def compare(runs: tuple[Path, ...], out: Path | None) -> None:
    """Compares runs that were written with --out: a table, and plots of all of them."""
    from runtime.simulate.compare import comparison_text
    from runtime.simulate.result import read_run

    if len(runs) < 2:
        raise click.UsageError("Comparing needs two runs or more.")
    read = [read_run(path) for path in runs]
    say_text(comparison_text(read))
    _plot(out, read, enabled=True)


@simulate.command()
@click.argument("settings", default="")
@click.option("--config", type=FILE, required=True, help="HiveD's configuration.")
@click.option("--seed", default=1, show_default=True)
@click.option("--out", type=FILE, required=True, metavar="TRACE", help="The CSV file to write.")
def generate(settings: str, config: Path, seed: int, out: Path) -> None:
    """Writes a made-up workload as a trace; SETTINGS as for --generate."""
    from runtime.config import read_configuration
    from runtime.simulate.generate import generate as make
    from runtime.simulate.generate import read_recipe
    from runtime.simulate.trace import write_trace

    requests = make(read_recipe(settings), read_configuration(config), seed)
    _written(out, lambda: write_trace(out, requests))
    say(f"wrote {len(requests):,} gangs to {out}")


@simulate.command()
@click.argument("source", type=FILE, metavar="TRACE")
@click.option("--config", type=FILE, required=True, help="HiveD's configuration.")
@click.option("--load", type=click.FloatRange(min=0, min_open=True), default=0.9, show_default=True)
@click.option("--since", "begin", type=Time(), default="0", help="What came before is there from then on.")
@click.option("--out", type=FILE, required=True, metavar="TRACE", help="The CSV file to write.")
def press(source: Path, config: Path, load: float, begin: float, out: Path) -> None:
    """Lets the gangs of a trace come so fast that they need a share --load of the cluster; durations stay."""
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
    """Turns public traces of GPU clusters into traces for --workload, and lists of nodes into configurations."""


def _conversion(command: Any) -> Any:
    """What all conversions have in common."""
    for option in (
        click.option("--limit", type=int, metavar="N", help="The first N gangs only."),
        click.option("--node", default=8, show_default=True, help="Leaf cells of a node: larger pods are cut up."),
        click.option(
            "--tenants",
            default="",
            metavar="A,B,…",
            help="Virtual clusters to distribute the users to, about evenly; otherwise they keep their names.",
        ),
        click.option("--out", type=FILE, required=True, metavar="TRACE", help="The CSV file to write."),
        click.argument("source", type=click.Path(path_type=Path, exists=True), metavar="IN"),
    ):
        command = option(command)
    return command


@convert.command()
@_conversion
def philly(source: Path, **options: Any) -> None:
    """Microsoft's Philly trace: IN is its cluster_job_log."""
    from runtime.simulate.convert.philly import read

    _converted(read(source), **options)


@convert.command()
@_conversion
@click.option(
    "--types", default="", metavar="OLD=NEW …", help="Leaf cell types to ask for; others ask for any. * is as they are."
)
def alibaba(source: Path, types: str, **options: Any) -> None:
    """Alibaba's GPU traces: IN is the folder with pai_task_table.csv and pai_job_table.csv (2020), or one of the
    openb_pod_list files (2023)."""
    from runtime.simulate.convert.alibaba import read

    _converted(read(source, types), **options)


@convert.command()
@click.argument("source", type=FILE, metavar="IN")
@click.option("--shares", required=True, metavar="NAME=SHARE …", help="Virtual clusters, and what each is promised.")
@click.option("--out", type=FILE, required=True, metavar="CONFIG", help="The YAML file to write.")
def nodes(source: Path, shares: str, out: Path) -> None:
    """Alibaba's list of nodes (2023): IN is openb_node_list_gpu_node.csv; HiveD's configuration is written."""
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
