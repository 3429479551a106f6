"""The command line: `python -m runtime serve`, `check-config`, `simulate`, and questions to a running allocator."""

from __future__ import annotations

import errno
import json
import os
import sys
from pathlib import Path
from typing import Any

import click

from fsmdsl.text.terminal import printable
from runtime.changes import changes
from runtime.config import read_configuration
from runtime.errors import UserError
from runtime.explain import explain
from runtime.journal import JournalError
from runtime.printing import say
from runtime.service.command import COMMANDS
from runtime.simulate.command import simulate

UNWRITABLE = {errno.ENOSPC, errno.EFBIG, errno.EIO}
"""What the system says where a file cannot take more."""

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def main() -> None:
    """A scheduler of gangs on cells."""


@main.command()
@click.option(
    "--config",
    type=FILE,
    envvar="CONFIG",
    default=Path("hivedscheduler.yaml"),
    show_default=True,
    help="HiveD's configuration. [env: CONFIG]",
)
@click.option("--journal", type=FILE, required=True, help="Where decisions are kept; made where there is none.")
@click.option(
    "--events",
    type=FILE,
    help="The cluster: a file of watch events of Kubernetes, one on a line, which may grow.",
)
@click.option(
    "--kubernetes",
    is_flag=True,
    help="The cluster: one of Kubernetes, by default the one that this runs in, as its service account. It is"
    " so without this option where the configuration, or $KUBE_APISERVER_ADDRESS, names an API server.",
)
@click.option(
    "--in-memory",
    is_flag=True,
    help="The cluster: none. All nodes are healthy, and what happens is reported at /v1/simulation/events. It is so"
    " without this option where nothing names another cluster.",
)
@click.option("--kubeconfig", type=FILE, help="With --kubernetes: how to reach the cluster, and as whom.")
@click.option("--address", default="", metavar="HOST:PORT", help="Where to listen, instead of where --config says.")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Another name under which it is asked (`*`: any); requests to foreign names are refused. May be repeated.",
)
@click.option("--largest-request", "largest", default=8 << 20, show_default=True, metavar="BYTES")
@click.option("--connections", default=512, show_default=True, help="At a time; more get status 503.")
@click.option("--grace", default=25, show_default=True, metavar="SECONDS", help="For what is under way at the end.")
@click.option(
    "--lease",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="A place that was given, or reserved, and is not asked for again for so long, is given back.",
)
@click.option(
    "--lives/--no-lives",
    default=True,
    show_default=True,
    help="Follow the life of each gang through the machines of all layers, at /v1/inspect/lives/.",
)
@click.option(
    "--termination-delay",
    type=click.FloatRange(min=0, min_open=True),
    default=14_400.0,
    show_default=True,
    metavar="SECONDS",
    help="For how long a gang may have fewer running pods than it must, before all have to be deleted.",
)
@click.option("--terminate", is_flag=True, help="Delete them then; otherwise, it is only said that somebody has to.")
@click.option(
    "--leader-election",
    default="",
    metavar="NAMESPACE/NAME",
    help="Of several instances, the one that holds this Lease decides; the others stand by. Needs --kubernetes.",
)
@click.option(
    "--evict/--no-evict",
    default=None,
    help="When the first victim of a preemption is deleted, delete the others too. Default: with --kubernetes.",
)
@click.option(
    "--reload/--no-reload",
    default=None,
    help="End when the configuration file changes, to be started again. Default: with --kubernetes.",
)
def serve(**options: Any) -> None:
    """Serves the scheduler-extender interface."""
    try:
        from runtime.service.serve import Options
        from runtime.service.serve import serve as run
    except ImportError as error:
        raise UserError(f"{error.name} is not installed: serving needs requirements/allocator.txt") from error
    sys.exit(run(Options(**options)))


@main.command("check-config")
@click.argument("file", type=FILE)
def check_config(file: Path) -> None:
    """Says what HiveD's configuration in FILE comes to, or all that is wrong in it."""
    for line in explain(read_configuration(file)):
        say(line)


@main.command()
@click.argument("file", type=FILE)
def journal(file: Path) -> None:
    """Prints what the steps in the journal FILE have changed, one JSON object on a line: a log for `fsm explain`.

    No allocator may have the journal open.
    """
    for change in changes(file):
        say(json.dumps(change))


main.add_command(simulate)
for command in COMMANDS:
    main.add_command(command)


def run() -> int:
    """The exit code: 2 for what cannot be done as it was asked. Raises `KeyboardInterrupt`."""
    try:
        exit_code = main(prog_name="python -m runtime", standalone_mode=False)
        sys.stdout.flush()
        return exit_code if isinstance(exit_code, int) else 0
    except click.Abort as end:
        if isinstance(end.__cause__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        return 2
    except click.ClickException as error:
        vars(error)["message"] = printable(error.message)
        error.show()
        return error.exit_code
    except UserError as problem:
        first, *others = problem.lines
        say(f"error: {first}", *others, err=True)
    except JournalError as problem:
        say(f"error: {problem}", err=True)
    except OSError as problem:
        if problem.filename is not None or problem.errno not in UNWRITABLE:
            raise
        say(f"error: the output cannot be written: {os.strerror(problem.errno).lower()}", err=True)
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # or Python tries once more to write what is left
    return 2
