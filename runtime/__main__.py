"""The command line: `python -m runtime serve`, `check-config`, `why` and `simulate`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import click

from runtime.config import read_configuration
from runtime.errors import UserError
from runtime.explain import explain
from runtime.journal import JournalError
from runtime.simulate.command import simulate

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
    help="The cluster: none. All nodes are healthy, and what happens is reported at /v1/simulation/events. It is so without"
    " this option where nothing names another cluster.",
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
    "--lives",
    is_flag=True,
    help="Follow the life of each gang through the machines of all layers, at /v1/inspect/lives/.",
)
@click.option(
    "--termination-delay",
    type=click.FloatRange(min=0, min_open=True),
    default=14_400.0,
    show_default=True,
    metavar="SECONDS",
    help="With --lives: for how long a gang may have fewer running pods than it must, before all have to be deleted.",
)
@click.option(
    "--terminate", is_flag=True, help="With --lives: delete them then; otherwise, it is only said that somebody has to."
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
        raise UserError(f"{error.name} is not installed: serving needs the extra `runtime`") from error
    sys.exit(run(Options(**options)))


@main.command("check-config")
@click.argument("file", type=FILE)
def check_config(file: Path) -> None:
    """Says what HiveD's configuration in FILE comes to, or all that is wrong in it."""
    for line in explain(read_configuration(file)):
        click.echo(line)


@main.command("why")
@click.argument("gang")
@click.option("--server", default="http://127.0.0.1:9096", show_default=True, metavar="URL", help="The allocator.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def why_command(gang: str, server: str, as_json: bool) -> None:
    """Says why GANG waits: the reason, since when, its place in the queue, who stands in the way."""
    from runtime.service.why import words

    address = f"{server.rstrip('/')}/v2/inspect/why/{quote(gang)}"
    if not address.startswith(("http://", "https://")):
        raise UserError(f"the allocator is found at http://HOST:PORT, not at {server}")
    try:
        with urlopen(address, timeout=30) as answer:
            found = json.load(answer)
    except HTTPError as error:
        raise UserError(error.read(10_000).decode(errors="replace").strip('"')) from error
    except (OSError, ValueError) as error:
        raise UserError(f"{server} does not answer: {error}") from error
    click.echo(json.dumps(found, indent=2) if as_json else "\n".join(words(found)))


main.add_command(simulate)


if __name__ == "__main__":
    try:
        main()
    except (UserError, JournalError) as problem:
        print(f"error: {problem}", file=sys.stderr)
        sys.exit(2)
