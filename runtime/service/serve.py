"""A process that serves."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from runtime.cells import Cluster
from runtime.config import Configuration, read_configuration
from runtime.errors import UserError
from runtime.journal import Journal, JournalError
from runtime.service.objects import NodeObject
from runtime.service.service import Service
from runtime.service.source import Change, FileSource, MemorySource, Source
from runtime.service.web import Web


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    config: Path
    journal: Path
    events: Path | None
    """A file of watch events; none for a cluster in memory, all of whose nodes are healthy."""
    address: str
    """Host and port; empty where the configuration says it."""
    largest: int
    """Bytes of a request."""
    connections: int
    """At a time; more are refused."""
    grace: int
    """Seconds to finish what is under way, when it is told to stop."""


def serve(options: Options) -> int:
    """Until it is told to stop (SIGTERM, SIGINT); answers the status of the process. Raises `UserError`."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    configuration = read_configuration(options.config)
    listener = _listen(options.address or configuration.settings.web_server)
    service = Service(configuration, lambda: Journal(options.journal), _source(options, configuration))
    server = uvicorn.Server(
        uvicorn.Config(
            Web(service, options.largest).app(),
            log_level="warning",
            access_log=False,
            lifespan="on",
            limit_concurrency=options.connections,
            timeout_graceful_shutdown=options.grace,
            timeout_keep_alive=75,
        )
    )

    def end() -> None:
        server.should_exit = True

    service.on_failure = end
    host, port = listener.getsockname()[:2]
    print(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}", flush=True)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end())
    service.start()
    server.run(sockets=[listener])
    match service.failure:
        case None:
            return 0
        case UserError() | JournalError() as failure:
            raise failure
        case failure:
            print(f"error: the scheduler cannot go on: {failure!r}; it recovers when started again", file=sys.stderr)
            return 1


def _listen(address: str) -> socket.socket:
    """An empty host means all."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not port.isdecimal() or int(port) > 65_535:
        raise UserError(f"the address to listen on is HOST:PORT, not {address}")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, int(port)), family=family, backlog=1024)
    except OSError as error:
        raise UserError(f"{address} cannot be listened on: {error.strerror or error}") from error


def _source(options: Options, configuration: Configuration) -> Source:
    if options.events is not None:
        try:
            return FileSource(options.events)
        except OSError as error:
            raise UserError(f"{options.events} cannot be read: {error.strerror}") from error
    source = MemorySource()
    source.tell(Change(NodeObject(name, healthy=True), gone=False) for name in nodes(configuration))
    return source


def nodes(configuration: Configuration) -> list[str]:
    """Names of all machines that are configured."""
    return sorted(Cluster(configuration).nodes)
