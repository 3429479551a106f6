"""Commands that ask a running allocator: `why`, `node`, `virtual-clusters`, `opportunistic`, `fits`, `events` and
`preemptions`."""

from __future__ import annotations

import json
import re
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import urlopen

import click

from runtime.errors import UserError
from runtime.printing import say, say_text
from runtime.service.why import words

Data = dict[str, Any]
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}

_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
_FILE = click.Path(path_type=Path, dir_okay=False)


@dataclass(frozen=True, slots=True)
class Server:
    """The allocator to ask."""

    url: str
    ca: Path | None
    """The certificates that sign that of the server; none for those that the system trusts."""
    certificate: Path | None
    """Says who asks; none for an allocator that does not want to know."""
    key: Path | None
    """None where it is in the file of the certificate."""

    def context(self) -> ssl.SSLContext:
        """Raises `UserError` where a file cannot be used."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
        except OSError as error:
            raise UserError(f"{self.ca} cannot be used as --ca: {_cause(error)}") from error
        if self.certificate is None:
            if self.key is not None:
                raise UserError("--key requires --certificate")
            return context
        try:
            context.load_cert_chain(self.certificate, self.key)
        except OSError as error:
            files = " and ".join(str(x) for x in (self.certificate, self.key) if x is not None)
            raise UserError(f"{files} cannot be used as --certificate and --key: {_cause(error)}") from error
        return context


def _cause(error: OSError) -> str:
    """What is wrong with a file, or with a certificate."""
    match error:
        case ssl.SSLCertVerificationError():
            return error.verify_message
        case ssl.SSLError():
            return (error.reason or "not in PEM format").replace("_", " ").lower()
        case _:
            return error.strerror or str(error)


def _server_options(command: Callable[..., None]) -> Callable[..., None]:
    """Adds the options that say which allocator to ask. The command gets a `Server` as `server`."""

    @wraps(command)
    def asking(
        *args: Any, server: str, ca: Path | None, certificate: Path | None, key: Path | None, **more: Any
    ) -> None:
        command(*args, server=Server(server, ca, certificate, key), **more)

    for option in (
        click.option(
            "--key", type=_FILE, envvar="ALLOCATOR_KEY", help="Private key of --certificate. [env: ALLOCATOR_KEY]"
        ),
        click.option(
            "--certificate",
            type=_FILE,
            envvar="ALLOCATOR_CERTIFICATE",
            help="Client certificate, which says who asks (PEM). [env: ALLOCATOR_CERTIFICATE]",
        ),
        click.option(
            "--ca",
            type=_FILE,
            envvar="ALLOCATOR_CA",
            help="Accept a server certificate that these authorities have signed (PEM), instead of the authorities"
            " that the system trusts. [env: ALLOCATOR_CA]",
        ),
        click.option(
            "--server",
            envvar="ALLOCATOR_SERVER",
            default="http://127.0.0.1:9096",
            show_default=True,
            metavar="URL",
            help="Address of the allocator. [env: ALLOCATOR_SERVER]",
        ),
    ):
        option(asking)
    return asking


def _ask(server: Server, path: str) -> Data:
    """What is at a path of the allocator. Raises `UserError`."""
    if not server.url.startswith(("http://", "https://")):
        raise UserError(f"the address of the allocator must be http://HOST:PORT or https://HOST:PORT, not {server.url}")
    context = server.context() if server.url.startswith("https://") else None
    try:
        with urlopen(f"{server.url.rstrip('/')}/v2/inspect/{path}", timeout=60, context=context) as answer:
            return dict(json.load(answer))
    except HTTPError as error:
        raise UserError(error.read(10_000).decode(errors="replace").strip('"')) from error
    except (OSError, ValueError, RecursionError) as error:
        cause = error.reason if isinstance(error, URLError) else error
        if isinstance(cause, ssl.SSLCertVerificationError):
            hint = f"the certificate of {server.url} is not accepted: {cause.verify_message}; --ca names its authority"
            raise UserError(hint) from error
        raise UserError(f"{server.url} does not answer: {error}") from error


def _show(answer: Data, lines: Callable[[Data], Iterator[str] | list[str]], as_json: bool) -> None:
    if as_json:
        say_text(json.dumps(answer, indent=2))
    else:
        say(*lines(answer))


@click.command()
@click.argument("gang")
@_server_options
@_JSON
def why(gang: str, server: Server, as_json: bool) -> None:
    """Explain why GANG waits.

    Shows how long it has been waiting, its place in the queue, the gangs in the way, what would make room, and its
    events.
    """
    _show(_ask(server, f"why/{quote(gang)}"), words, as_json)


@click.command()
@click.argument("name")
@_server_options
@_JSON
def node(name: str, server: Server, as_json: bool) -> None:
    """Show the devices and health of node NAME.

    Shows what occupies each device, why the node is bad, and its events.
    """
    _show(_ask(server, f"nodes/{quote(name)}"), _node_lines, as_json)


@click.command("virtual-clusters")
@click.argument("name", default="")
@_server_options
@_JSON
def virtual_clusters(name: str, server: Server, as_json: bool) -> None:
    """Show the usage of virtual clusters.

    With NAME, shows only that virtual cluster, and its running and waiting gangs.
    """
    answer = _ask(server, f"virtualclusters/{quote(name)}")
    _show(answer, _tenant_lines if name else _tenants_lines, as_json)


@click.command()
@_server_options
@_JSON
def opportunistic(server: Server, as_json: bool) -> None:
    """List the gangs that run without a guarantee.

    These gangs are displaced first. Also shows the largest opportunistic gangs that fit now.
    """
    _show(_ask(server, "opportunistic"), _opportunistic_lines, as_json)


@click.command()
@click.argument("name", default="")
@_server_options
@_JSON
def fits(name: str, server: Server, as_json: bool) -> None:
    """Show the largest gangs that fit now without displacing anybody.

    Shows them for pods of each size, with the fragmentation: the share of the free devices that such a gang cannot use.
    With NAME, shows only guaranteed gangs of that virtual cluster.
    """
    _show(_ask(server, f"fits/{quote(name)}"), _fit_lines, as_json)


@click.command()
@click.option(
    "--since",
    default="1h",
    show_default=True,
    metavar="TIME",
    help="Show only events newer than this: 90, 90s, 15m, 2h, 1d.",
)
@click.option("--gang", default="", help="Show only events of this gang.")
@click.option("--node", "on", default="", help="Show only events on this node.")
@click.option("--virtual-cluster", "tenant", default="", help="Show only events of gangs in this virtual cluster.")
@_server_options
@_JSON
def events(since: str, gang: str, on: str, tenant: str, server: Server, as_json: bool) -> None:
    """Show recent events.

    Shows which gangs were placed, displaced or ended, and which nodes failed.
    """
    filters = {"gang": gang, "node": on, "virtualCluster": tenant}
    query = {"seconds": f"{_seconds(since):g}", **{key: value for key, value in filters.items() if value}}
    answer = _ask(server, f"events?{urlencode(query)}")
    _show(answer, lambda x: _event_lines(x["items"]) or ["nothing happened"], as_json)


@click.command()
@click.option(
    "--since",
    default="1h",
    show_default=True,
    metavar="TIME",
    help="Count only preemptions newer than this: 90, 90s, 15m, 2h, 1d.",
)
@_server_options
@_JSON
def preemptions(since: str, server: Server, as_json: bool) -> None:
    """Count recent preemptions.

    Counts the victims by virtual cluster: gangs that were killed or lost their guarantee, and their pods.
    """
    answer = _ask(server, f"preemptions?{urlencode({'seconds': f'{_seconds(since):g}'})}")
    _show(answer, lambda x: [*map(_preemption_line, x["items"])] or ["no gang was preempted"], as_json)


COMMANDS = (why, node, virtual_clusters, opportunistic, fits, events, preemptions)


def _seconds(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text)
    if match is None:
        raise UserError(f"a time must be written as 90, 90s, 15m, 2h or 1d, not {text}")
    return float(match[1]) * UNITS[match[2]]


def _event_lines(events: list[Data]) -> list[str]:
    return [f"{x['time']}  {x['text']}" for x in events]


def _node_lines(answer: Data) -> Iterator[str]:
    health = "healthy" if answer["healthy"] else f"bad: {answer['reason']}"
    yield f"{answer['node']}: {health}"
    for device in answer["devices"]:
        holder = f" by {device['gang']}" if device["gang"] else ""
        waiting = f", reserved for {device['reservedFor']}" if device["reservedFor"] else ""
        yield f"  device {device['index']} ({device['chain']}): {device['state']}{holder}{waiting}"
    yield from _event_lines(answer["events"])


def _tenants_lines(answer: Data) -> Iterator[str]:
    yield from map(_tenant_line, answer["items"])


def _tenant_line(x: Data) -> str:
    share = (
        f"{x['used']} of {x['promised']} promised devices in use, {x['free']} free, {x['bad']} bad, {x['lent']} lent"
    )
    longest = f", {x['waitsLongest']} longest" if x["waitsLongest"] else ""
    failing = f", {len(x['failing'])} fail for good" if x["failing"] else ""
    gangs = f"{x['gangs']} gangs run, {len(x['waiting'])} wait{longest}{failing}"
    return f"{x['virtualCluster']}: {share}; {x['opportunistic']} opportunistic; {gangs}"


def _tenant_lines(answer: Data) -> Iterator[str]:
    yield _tenant_line(answer)
    for title, key in (("waits", "waiting"), ("fails for good", "failing"), ("runs", "running")):
        for gang in answer[key]:
            since = f", since {gang['since']}" if "since" in gang else ""
            failure = f": {gang['failure']}" if "failure" in gang else ""
            yield f"  {title}: {_gang_words(gang)}{since}{failure}"


def _gang_words(gang: Data) -> str:
    where = f" on {', '.join(gang['nodes'])}" if gang["nodes"] else ""
    return f"{gang['gang']}, {gang['state']}, priority {gang['priority']}, {gang['devices']} devices{where}"


def _opportunistic_lines(answer: Data) -> Iterator[str]:
    if not answer["items"]:
        yield "no gang runs opportunistically"
    for gang in answer["items"]:
        demoted = f"; has lost its guarantee to {gang['demotedBy']}" if gang["demotedBy"] else ""
        leaves = f"; leaves for {', '.join(gang['leavesFor'])}" if gang["leavesFor"] else ""
        yield f"{_gang_words(gang)}, of {gang['virtualCluster'] or 'nobody'}{demoted}{leaves}"
    yield "the largest gangs that fit now:"
    yield from _fit_lines({"items": answer["fits"]})


def _preemption_line(x: Data) -> str:
    whose = x["virtualCluster"] or "no configured virtual cluster"
    return f"{whose}: {_count(x['gangs'], x['victim'] + ' gang')} {x['fate']} ({_count(x['pods'], 'pod')})"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _fit_lines(answer: Data) -> Iterator[str]:
    for x in answer["items"]:
        whose = x["virtualCluster"] or "opportunistic"
        where = f" in {x['pinnedCellId']}" if x["pinnedCellId"] else ""
        least, most = ("", "") if x["exact"] else ("at least ", "at most ")
        largest = f"{least}{_count(x['pods'], 'pod')}, {x['devices']} of {x['free']} free devices"
        yield (
            f"{whose}, {x['leafCellType']}{where}, pods of {_count(x['podDevices'], 'device')}: {largest}; "
            f"fragmentation {most}{100 * x['fragmentation']:.0f} %"
        )
