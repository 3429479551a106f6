"""The command line: `python -m runtime serve`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from runtime.errors import UserError
from runtime.journal import JournalError

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group()
def main() -> None:
    """A scheduler of gangs on cells."""


@main.command()
@click.option("--config", type=FILE, required=True, help="HiveD's configuration.")
@click.option("--journal", type=FILE, required=True, help="Where decisions are kept; made where there is none.")
@click.option(
    "--events",
    type=FILE,
    help="The cluster: a file of watch events of Kubernetes, one on a line, which may grow. Without it, the cluster is"
    " in memory, with all nodes healthy, and is told what happens at /v1/simulation/events.",
)
@click.option("--address", default="", metavar="HOST:PORT", help="Where to listen, instead of where --config says.")
@click.option("--largest-request", default=8 << 20, show_default=True, metavar="BYTES")
@click.option("--connections", default=512, show_default=True, help="At a time; more get status 503.")
@click.option("--grace", default=25, show_default=True, metavar="SECONDS", help="For what is under way at the end.")
def serve(
    config: Path,
    journal: Path,
    events: Path | None,
    address: str,
    largest_request: int,
    connections: int,
    grace: int,
) -> None:
    """Serves the scheduler-extender interface."""
    try:
        from runtime.service.serve import Options
        from runtime.service.serve import serve as run
    except ImportError as error:
        raise UserError(f"{error.name} is not installed: serving needs the extra `runtime`") from error
    sys.exit(run(Options(config, journal, events, address, largest_request, connections, grace)))


if __name__ == "__main__":
    try:
        main()
    except (UserError, JournalError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
