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
    """Schedule gangs on cells."""


@main.command()
@click.option(
    "--config",
    type=FILE,
    envvar="CONFIG",
    default=Path("hivedscheduler.yaml"),
    show_default=True,
    help="HiveD configuration file. [env: CONFIG]",
)
@click.option(
    "--journal", type=FILE, required=True, help="Record decisions in this file, which is created if necessary."
)
@click.option(
    "--events",
    type=FILE,
    help="Use the cluster in this file of Kubernetes watch events, one per line. The file may grow.",
)
@click.option(
    "--kubernetes",
    is_flag=True,
    help="Use a Kubernetes cluster, by default the one that this process runs in, with its service account. This is"
    " the default if the configuration or $KUBE_APISERVER_ADDRESS names an API server.",
)
@click.option(
    "--in-memory",
    is_flag=True,
    help="Simulate the cluster in memory. All nodes are healthy; report changes at /v1/simulation/events. This is the"
    " default if no other cluster is configured.",
)
@click.option("--kubeconfig", type=FILE, help="Kubeconfig file with the cluster and the user, for --kubernetes.")
@click.option(
    "--address", default="", metavar="HOST:PORT", help="Listen on this address, instead of the one in --config."
)
@click.option(
    "--host",
    "hosts",
    multiple=True,
    metavar="NAME",
    help="Accept requests to this host name, too (`*`: any name); other requests are rejected. May be repeated.",
)
@click.option(
    "--largest-request",
    "largest",
    default=8 << 20,
    show_default=True,
    metavar="BYTES",
    help="Reject larger requests with status 413.",
)
@click.option(
    "--connections",
    default=512,
    show_default=True,
    help="Maximum number of simultaneous connections; others get status 503.",
)
@click.option(
    "--grace", default=25, show_default=True, metavar="SECONDS", help="Time to finish current requests after SIGTERM."
)
@click.option(
    "--lease",
    type=click.FloatRange(min=0, min_open=True),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="Release a place or reservation that has not been requested again for this long.",
)
@click.option(
    "--lives/--no-lives",
    default=True,
    show_default=True,
    help="Follow the life of each gang through the machines of all layers; show it at /v1/inspect/lives/.",
)
@click.option(
    "--termination-delay",
    type=click.FloatRange(min=0, min_open=True),
    default=14_400.0,
    show_default=True,
    metavar="SECONDS",
    help="Time for which a gang may have too few running pods, before all its pods must be deleted.",
)
@click.option(
    "--terminate", is_flag=True, help="Delete these pods after --termination-delay, instead of only reporting them."
)
@click.option(
    "--leader-election",
    default="",
    metavar="NAMESPACE/NAME",
    help="Make decisions only while this instance holds the Lease; other instances stand by. Requires --kubernetes.",
)
@click.option(
    "--evict/--no-evict",
    default=None,
    help="Delete all victims of a preemption when the first one is deleted. Default: with --kubernetes.",
)
@click.option(
    "--tls-certificate",
    type=FILE,
    help="Serve HTTPS with this certificate, followed by intermediate certificates (PEM). Requires --tls-key.",
)
@click.option("--tls-key", type=FILE, help="Private key of --tls-certificate (PEM, without a password).")
@click.option(
    "--client-ca",
    type=FILE,
    help="Authenticate clients by certificates that these authorities have signed (PEM). Requires --allow.",
)
@click.option(
    "--allow",
    multiple=True,
    metavar="ROLE=NAME",
    help="Grant the role read, schedule or administer to the client with the common name NAME, or to a group"
    " (ROLE=group:ORGANIZATION). May be repeated.",
)
@click.option(
    "--reload/--no-reload",
    default=None,
    help="Exit when the configuration file changes, to be restarted. Default: with --kubernetes.",
)
def serve(**options: Any) -> None:
    """Serve the scheduler-extender interface."""
    try:
        from runtime.service.serve import Options
        from runtime.service.serve import serve as run
    except ImportError as error:
        raise UserError(f"{error.name} is not installed: serving needs requirements/allocator.txt") from error
    sys.exit(run(Options(**options)))


@main.command("check-config")
@click.argument("file", type=FILE)
def check_config(file: Path) -> None:
    """Explain a HiveD configuration, or list its errors."""
    for line in explain(read_configuration(file)):
        say(line)


@main.command()
@click.argument("file", type=FILE)
def journal(file: Path) -> None:
    """Print the changes in the journal FILE as JSON lines.

    The output has one JSON object per change and is a log for `fsm explain`. No allocator may have the journal open.
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
