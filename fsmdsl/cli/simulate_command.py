"""`fsm simulate`: through a system by hand."""

from __future__ import annotations

import json
from pathlib import Path

from fsmdsl.cli import usage
from fsmdsl.cli.common import arguments_again, documented_option, model_or_exit, paths_argument, settings_option
from fsmdsl.cli.completions import machine_names, system_names
from fsmdsl.cli.limits import MINUTES, limit_options, within
from fsmdsl.cli.messages import misuse
from fsmdsl.cli.systems import settings_of
from fsmdsl.cli.walkthrough import PastRun, walkthrough
from fsmdsl.cli.without_option import without_option
from fsmdsl.runs.simulation import NoSuchError, ReplayError, Session, begin, recorded_runs, replayed, subject
from fsmdsl.text.budget import Budget


@usage.command("simulate")
@paths_argument
@documented_option
@without_option
@usage.option("--system", metavar="NAME", shell_complete=system_names, help="Simulate this system.")
@usage.option(
    "--machine",
    metavar="NAME",
    shell_complete=machine_names,
    help="Simulate this machine, together with the machines that it interacts with.",
)
@settings_option
@usage.option(
    "--traces", type=usage.path(path_type=Path), help="Load runs from the output of `fsm verify --format json`."
)
@limit_options(MINUTES, "Stop if the initial state is not reached within this many seconds")
def command(
    paths: tuple[str, ...],
    as_documented: bool,
    without: tuple[str, ...],
    system: str | None,
    machine: str | None,
    settings: tuple[str, ...],
    traces: Path | None,
    budget: Budget,
) -> None:
    """Step through a system interactively: list possible steps, choose one, undo it, and save the run as a scenario.

    Commands are read from the terminal or a pipe; `help` lists them.
    """
    if system is not None and machine is not None:
        misuse("`--system` or `--machine`, not both")
    with within(budget, paths, before="the initial state was computed"):
        model = model_or_exit(paths, as_documented=as_documented, without=without, settings=settings_of(settings))
        try:
            session = begin(model, subject(model, system, machine))
        except NoSuchError as error:
            misuse(str(error))
        runs = [] if traces is None else _runs(session, traces)
    rest = arguments_again(paths, as_documented=as_documented, without=without)
    walkthrough(session, runs, lambda path: f"fsm test {path} {rest}", own=bool(settings))


def _runs(session: Session, path: Path) -> list[PastRun]:
    """The runs of this system in a document of `fsm verify`."""
    name = session.universe.system.qualified
    try:
        document = json.loads(path.read_bytes())
        records = [x for x in recorded_runs(document) if x.system == name]
        runs = [PastRun(x.title, x.outcome, replayed(session.universe, x.trace).whole) for x in records]
    except OSError as error:
        misuse(f"cannot read `{path}`: {(error.strerror or 'unknown error').lower()}")
    except ValueError:
        misuse(f"`{path}` is not JSON; `fsm verify --format json > {path.name}` writes what is needed")
    except ReplayError as error:
        misuse(f"`{path}`: {error}")
    if not runs:
        misuse(f"`{path}` has no run of {name}")
    return runs
