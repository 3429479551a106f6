"""A process that serves."""

from __future__ import annotations

import logging
import os
import signal
import socket
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import uvicorn

from fsmdsl.editor.live.connections import Bounded, Server, bearable
from runtime.cells import Cluster
from runtime.config import Configuration, read_configuration
from runtime.config.model import Settings
from runtime.errors import UserError
from runtime.journal import Journal, JournalError, set_aside
from runtime.printing import say
from runtime.service import logs
from runtime.service.access import Permissions
from runtime.service.election import Election
from runtime.service.guard import Names
from runtime.service.lifecycle_reporter import Options as LifecycleOptions
from runtime.service.objects import NodeObject
from runtime.service.reload import Reload
from runtime.service.service import Service
from runtime.service.source import Change, FileSource, MemorySource, Source
from runtime.service.tls import Certificates, Failures, Files, secured
from runtime.service.web import Web

if TYPE_CHECKING:
    from runtime.service.api import Api

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says."""

    config: Path
    journal: Path
    events: Path | None
    """A file of watch events. Without it and Kubernetes, the cluster is in memory, and all its nodes are healthy."""
    kubernetes: bool
    """Whether the cluster is one of Kubernetes."""
    in_memory: bool
    """Whether there is no cluster, whatever the configuration names."""
    kubeconfig: Path | None
    """How to reach it; none for the file that the configuration names, or the cluster that this runs in."""
    address: str
    """Host and port; empty where the configuration says it."""
    hosts: tuple[str, ...]
    """Other names under which it may be asked."""
    largest: int
    """Bytes of a request."""
    connections: int
    """At a time; more are refused."""
    grace: int
    """Seconds to finish what is under way, when it is told to stop."""
    lease: float
    """Seconds after which a place or reservation that is not asked for is given back."""
    lives: bool
    """Whether the lives of gangs are followed."""
    termination_delay: float
    """Seconds for which a gang may have too few running pods."""
    terminate: bool
    """Whether its pods are then deleted."""
    reload: bool | None
    """Whether it ends when the configuration changes; none for: where the cluster is one of Kubernetes."""
    leader_election: str
    """NAMESPACE/NAME of the Lease whose holder decides, of several instances; empty where there is one instance."""
    evict: bool | None
    """Whether the victims of a preemption are deleted together; none for: where the cluster is one of Kubernetes."""
    tls_certificate: Path | None
    """The certificate of the server; none for plain HTTP."""
    tls_key: Path | None
    client_ca: Path | None
    """The certificates that sign those of clients; none where everybody may do everything."""
    allow: tuple[str, ...]
    """The roles of clients, as `Permissions` reads them."""


def serve(options: Options) -> int:
    """Until it is told to stop (SIGTERM, SIGINT); answers the status of the process. Raises `UserError`."""
    early: list[int] = []  # and no `Event`: a second signal in the middle of `set` would wait for the first
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: early.append(number))
    logging.basicConfig(level=logging.INFO, handlers=[logs.handler()])
    logging.getLogger("uvicorn.error").addFilter(bearable)
    for library in ("httpx", "httpx2", "httpcore"):
        logging.getLogger(library).setLevel(logging.WARNING)
    if options.terminate and not options.lives:
        raise UserError("--terminate cannot be combined with --no-lives")
    certificates, permissions = _tls(options), _permissions(options)
    configuration = read_configuration(options.config)
    for note in configuration.notes:
        log.warning("configuration %s: %s", options.config, note)
    listener = _listen(options.address or configuration.settings.web_server)
    api = _api(options, configuration.settings)
    service = _service(options, configuration, api)
    host, port = listener.getsockname()[:2]
    web = Web(service, options.largest, Names(host, options.hosts), permissions)
    failures = Failures(service.metrics.handshake_failures.inc)
    server = Server(
        uvicorn.Config(
            web.app(),
            http=Bounded if certificates is None else secured(certificates, failures),
            ws="none",
            log_config=None,
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            lifespan="on",
            limit_concurrency=options.connections,
            timeout_graceful_shutdown=options.grace,
            timeout_keep_alive=75,
        )
    )

    def end() -> None:
        server.should_exit = True

    # Pages that look on would keep it waiting.
    web.snapshot_view.feed.over = lambda: server.should_exit

    service.on_failure = end
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end())
    if early:
        end()
    scheme = "http" if certificates is None else "https"
    say(f"listening on {scheme}://{f'[{host}]' if ':' in host else host}:{port}")
    service.start()
    reload = Reload(options.config, end)
    if options.reload or (options.reload is None and api is not None):
        Thread(target=reload.run, name="reload", daemon=True).start()
    if certificates is not None:
        Thread(target=certificates.run, name="certificates", daemon=True).start()
    server.run(sockets=[listener])
    reload.stop()
    return _outcome(service.failure)


def _tls(options: Options) -> Certificates | None:
    """None for plain HTTP. Raises `UserError`."""
    match options.tls_certificate, options.tls_key:
        case None, None:
            if options.client_ca is not None:
                raise UserError("--client-ca requires --tls-certificate and --tls-key")
            return None
        case Path() as certificate, Path() as key:
            return Certificates(Files(certificate, key, options.client_ca))
        case _:
            raise UserError("--tls-certificate and --tls-key must be given together")


def _permissions(options: Options) -> Permissions | None:
    """None where clients are not asked who they are. Raises `UserError`."""
    if options.client_ca is None:
        if options.allow:
            raise UserError("--allow requires --client-ca: without it, everybody may do everything")
        return None
    if not options.allow:
        raise UserError("--client-ca requires --allow: without it, nobody may do anything")
    return Permissions(options.allow)


def _service(options: Options, configuration: Configuration, api: Api | None) -> Service:
    """Raises `UserError` where the options contradict each other."""
    return Service(
        configuration,
        lambda: Journal(options.journal),
        _source(options, configuration, api),
        options.lease,
        lifecycle=LifecycleOptions(options.lives, options.termination_delay, options.terminate),
        evict=api is not None if options.evict is None else options.evict,
        election=_election(options, api),
        set_aside=lambda: set_aside(options.journal),
    )


def _outcome(failure: Exception | None) -> int:
    """The exit code of the process; raises errors that the operator can fix."""
    match failure:
        case None:
            return 0
        case UserError() | JournalError():
            raise failure
        case _:
            say(f"error: the scheduler cannot continue: {failure!r}; it recovers when started again", err=True)
            return 1


def _listen(address: str) -> socket.socket:
    """An empty host means all."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    if not port.isdecimal() or int(port) > 65_535:
        raise UserError(f"the address to listen on must be HOST:PORT, not {address}")
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, int(port)), family=family, backlog=1024)
    except OSError as error:
        raise UserError(f"{address} cannot be listened on: {error.strerror or error}") from error
    # An answer is written as head and body. Accepted sockets inherit this option; asyncio sets it only on sockets that
    # were created with an explicit protocol number. Without it, each body waits 40 ms for a delayed acknowledgement.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener


def _source(options: Options, configuration: Configuration, api: Api | None) -> Source:
    if options.kubeconfig is not None and api is None:
        raise UserError("--kubeconfig requires --kubernetes")
    if api is not None:
        from runtime.service.kubernetes import KubernetesSource

        return KubernetesSource(api)
    if options.events is not None:
        try:
            return FileSource(options.events)
        except OSError as error:
            raise UserError(f"{options.events} cannot be read: {error.strerror}") from error
    log.warning("the cluster is in memory: all nodes count as healthy, and no pod is really bound")
    source = MemorySource()
    source.tell(Change(NodeObject(name, healthy=True), deleted=False) for name in nodes(configuration))
    return source


def _is_kubernetes(options: Options, settings: Settings) -> bool:
    """Whether it was asked for, or is what the configuration names."""
    return options.kubernetes or (options.events is None and not options.in_memory and bool(_server(settings)))


def _server(settings: Settings) -> str:
    return settings.kube_api_server or os.environ.get("KUBE_APISERVER_ADDRESS", "")


def _api(options: Options, settings: Settings) -> Api | None:
    """The API server, if the cluster has one. The command line counts before the configuration, and that before the
    environment."""
    if (options.events is not None) + options.kubernetes + options.in_memory > 1:
        raise UserError("--events, --kubernetes and --in-memory are mutually exclusive")
    if not _is_kubernetes(options, settings):
        return None
    try:
        from runtime.service.api import connect
    except ImportError as error:
        raise UserError(f"{error.name} is not installed: --kubernetes needs requirements/allocator.txt") from error
    kubeconfig = options.kubeconfig or (Path(settings.kube_config) if settings.kube_config else None)
    return connect(kubeconfig, _server(settings))


def _election(options: Options, api: Api | None) -> Election | None:
    """An instance is known by its host and its journal: a restart with both is the same instance."""
    if not options.leader_election:
        return None
    if api is None:
        raise UserError("--leader-election requires a Kubernetes cluster, where the Lease is stored")
    election = Election(api, options.leader_election, f"{socket.gethostname()}:{options.journal.resolve()}")
    api.before_change = election.require_leadership
    return election


def nodes(configuration: Configuration) -> list[str]:
    """Names of all machines that are configured."""
    return sorted(Cluster(configuration).nodes)
