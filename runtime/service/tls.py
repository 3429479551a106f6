"""TLS for the allocator's port: its certificates, which are read again when their files change, and its connections.

A handshake is part of a connection with limits: it has a timeout, and counts among the connections. The event loops
fail a handshake without a word to anybody. Here the client gets the alert of OpenSSL, and the log gets a line.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, ClassVar

from fsmdsl.editor.live.connections import Bounded, Phase
from runtime.errors import UserError
from runtime.service.access import CLIENT, read_client

log = logging.getLogger(__name__)

CHECK_INTERVAL = 5.0
"""Seconds between two checks of the files."""
HANDSHAKE_TIMEOUT = 10.0
"""Seconds that a client may take for the handshake."""
HANDSHAKE_SHARE = 4
"""Of the connections, one in so many may be in its handshake, which takes two sockets."""
SHUTDOWN_TIMEOUT = 5.0
"""Seconds that a client may take to confirm the end of a connection."""
QUIET_INTERVAL = 60.0
"""Seconds in which the same failure of the same host is logged once."""
MAX_REMEMBERED = 1000
"""Maximum number of failures that are remembered as logged."""
NO_TLS = b"HTTP/1.0 400 Bad Request\r\nConnection: close\r\n\r\nthis port requires HTTPS\n"


# Certificates ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Files:
    """Files in PEM format."""

    certificate: Path
    """The certificate of the server, followed by those between it and its root."""
    key: Path
    client_ca: Path | None
    """The certificates that sign those of clients; none where clients are not asked for any."""


class Certificates:
    """The context for new connections."""

    def __init__(self, files: Files) -> None:
        """Raises `UserError` where a file cannot be used."""
        self._files = files
        self._content = self._read()
        self.context = load(files)
        """With the latest files that could be used. Connections keep the one that they have begun with."""
        self._stopped = Event()

    def run(self) -> None:
        """Looks at the files until it is told to stop. Runs in a thread of its own."""
        while not self._stopped.wait(CHECK_INTERVAL):
            self.check()

    def check(self) -> None:
        """Uses files that have changed. If they cannot be used, the previous context stays.

        Several files may be replaced one after the other, or all at once by a volume of Kubernetes, which moves a link:
        files that change while they are read are read again at the next check.
        """
        content = self._read()
        if content == self._content:
            return
        context, reason = None, ""
        try:
            context = load(self._files)
        except UserError as error:
            reason = str(error)
        if self._read() != content:
            return
        self._content = content
        if context is None:
            log.error("the new certificates cannot be used; the previous ones stay in use: %s", reason)
        else:
            self.context = context
            log.info("the certificates have changed; new connections use the new ones")

    def stop(self) -> None:
        """It does not matter any more."""
        self._stopped.set()

    def _read(self) -> list[bytes | None]:
        paths = (self._files.certificate, self._files.key, self._files.client_ca)
        return [_content(path) for path in paths if path is not None]


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def load(files: Files) -> ssl.SSLContext:
    """A context with these files. Raises `UserError` that names the file and the reason.

    Certificates of clients are requested, not required: a kubelet has none for its probes. Those that are shown must be
    valid, or the handshake fails. A session can be resumed only in the context in which it was begun.
    """
    context = _Context(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    _load_authorities(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), files.certificate)

    def no_password() -> str:
        raise UserError(f"the key in {files.key} is encrypted: store it without a password")

    try:
        context.load_cert_chain(files.certificate, files.key, no_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            reason = "the key does not belong to the certificate"
        else:
            reason = _words(error.reason) if error.reason else "the key is not one in PEM format"
        raise UserError(f"{files.certificate} and {files.key} cannot be used: {reason}") from error
    except OSError as error:
        raise UserError(f"{files.key} cannot be read: {error.strerror}") from error
    if files.client_ca is not None:
        _load_authorities(context, files.client_ca)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _load_authorities(context: ssl.SSLContext, path: Path) -> None:
    """Reads all certificates of a file into a context."""
    try:
        context.load_verify_locations(cafile=path)
    except ssl.SSLError as error:
        raise UserError(f"{path} holds no certificates in PEM format") from error
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


# Handshakes -----------------------------------------------------------------------------------------------------------


def _words(reason: str) -> str:
    """A reason of OpenSSL, such as NO_SHARED_CIPHER."""
    return reason.replace("_", " ").lower()


def _reason(error: BaseException) -> str:
    """Why a handshake failed, as part of a sentence about the client."""
    match error:
        case ssl.SSLCertVerificationError():
            return f"its certificate is rejected: {error.verify_message}"
        case ssl.SSLError(reason="HTTP_REQUEST"):
            return "it sent plain HTTP, but this port requires HTTPS"
        case ssl.SSLError(reason="UNSUPPORTED_PROTOCOL"):
            return "it supports no version from TLS 1.2"
        case ssl.SSLError(reason="WRONG_VERSION_NUMBER" | "UNEXPECTED_MESSAGE" | "RECORD_LAYER_FAILURE"):
            return "it does not speak TLS"
        case ssl.SSLError(reason=str() as reason):
            return _words(reason)
        case OSError(errno=errno.EMFILE | errno.ENFILE):
            return "this process has too many open files"
        case ConnectionAbortedError():
            return f"it took longer than {HANDSHAKE_TIMEOUT:g} seconds"
        case _:
            return "it closed the connection"


class _Object(ssl.SSLObject):
    """The side of a connection that this process is. The event loops drop what is to be sent when a handshake fails, so
    its error takes it along."""

    outgoing: ssl.MemoryBIO

    def do_handshake(self) -> None:
        """Raises `ssl.SSLError`, also where more has to be received first."""
        try:
            super().do_handshake()
        except ssl.SSLWantReadError:
            raise
        except ssl.SSLError as error:
            vars(error)["alert"] = NO_TLS if error.reason == "HTTP_REQUEST" else self.outgoing.read()
            raise


class _Context(ssl.SSLContext):
    """Makes such objects."""

    sslobject_class = _Object

    def wrap_bio(self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, *args: Any, **more: Any) -> ssl.SSLObject:
        """A new one."""
        tls_object = super().wrap_bio(incoming, outgoing, *args, **more)
        assert isinstance(tls_object, _Object)
        tls_object.outgoing = outgoing
        return tls_object


class Failures:
    """Handshakes that failed: all are counted, and each kind is logged once in a while."""

    def __init__(self, count: Callable[[], object], now: Callable[[], float] = time.monotonic) -> None:
        self._count, self._now = count, now
        self._logged: dict[tuple[str, str], float] = {}

    def add(self, host: str, error: BaseException) -> None:
        """A handshake of a host has failed."""
        self._count()
        failure, now = (host, _reason(error)), self._now()
        if now - self._logged.get(failure, float("-inf")) < QUIET_INTERVAL:
            return
        if len(self._logged) >= MAX_REMEMBERED:
            self._logged.clear()
        self._logged[failure] = now
        log.warning("TLS handshake with %s failed: %s", *failure)


def _two_sockets(transport: asyncio.BaseTransport) -> tuple[socket.socket, socket.socket]:
    """Of a connection: one for its handshake, which closes it when it fails, and one for what is to be sent then.

    Raises `OSError` where the process has too many.
    """
    peer = transport.get_extra_info("socket")
    return peer.dup(), peer.dup()


class Secured(Bounded):
    """A connection that begins with a handshake."""

    certificates: ClassVar[Certificates]
    failures: ClassVar[Failures]

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self._handshake: asyncio.Task[None] | None = None

    def connection_made(self, transport: Any) -> None:
        """First without encryption: its place is taken by a transport with it, which comes after the handshake."""
        if self._handshake is not None:
            certificate = transport.get_extra_info("peercert")
            self.app_state = {**self.app_state, CLIENT: read_client(certificate) if certificate else None}
            super().connection_made(transport)
            return
        host = str((transport.get_extra_info("peername") or ("an unknown host",))[0])
        transport.set_protocol(asyncio.Protocol())
        try:
            handshake = self._shake_hands(host, *_two_sockets(transport))
        except OSError as error:
            self.failures.add(host, error)
            return
        finally:
            transport.abort()
        self._handshake = self.loop.create_task(handshake)
        self.tasks.add(self._handshake)
        self._handshake.add_done_callback(self.tasks.discard)
        self.connections.add(self)
        self._enter(Phase.HANDSHAKE)
        self._make_room()

    def _make_room(self) -> None:
        """Handshakes that take long make room for other handshakes first."""
        shaking = [x for x in self.connections if isinstance(x, Secured) and x.phase is Phase.HANDSHAKE]
        if self.limit_concurrency is not None and len(shaking) > max(1, self.limit_concurrency // HANDSHAKE_SHARE):
            min(shaking, key=lambda x: x.since).drop()
        super()._make_room()

    async def _shake_hands(self, host: str, first: socket.socket, second: socket.socket) -> None:
        try:
            await self.loop.connect_accepted_socket(
                lambda: self,
                first,
                ssl=self.certificates.context,
                ssl_handshake_timeout=HANDSHAKE_TIMEOUT,
                ssl_shutdown_timeout=SHUTDOWN_TIMEOUT,
            )
        except OSError as error:
            self.failures.add(host, error)
            with suppress(OSError):
                second.send(vars(error).get("alert", b""))
        finally:
            second.close()
            if self.transport is None:
                self.connections.discard(self)

    def drop(self) -> None:
        """End the connection at once."""
        if self.transport is None and self._handshake is not None:
            self._handshake.cancel()
        super().drop()

    def shutdown(self) -> None:
        """The server ends."""
        if self.transport is None:
            self.drop()
        else:
            super().shutdown()


def secured(certificates: Certificates, failures: Failures) -> type[Bounded]:
    """The class of connections that are encrypted, for `uvicorn.Config`, which needs no other setting."""
    return type("Secured", (Secured,), {"certificates": certificates, "failures": failures})
