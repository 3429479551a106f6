"""Handshakes: with whatever a client shows, others are served, and the client and the log learn what is wrong."""

from __future__ import annotations

import errno
import logging
import os
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from authorities import Authority, Pair, needed, openssl, self_signed, trusting

from runtime.errors import UserError
from runtime.service import tls
from runtime.service.access import CLIENT
from runtime.service.tls import QUIET_INTERVAL, Certificates, Failures, Files, load, secured

pytestmark = needed

LIMIT = 40


@pytest.fixture(params=["asyncio", pytest.param("uvloop", marks=pytest.mark.full(reason="the other event loop"))])
def loop(request: pytest.FixtureRequest) -> str:
    """That of a machine without uvloop, and that of the allocator's image."""
    if request.param == "uvloop":
        pytest.importorskip("uvloop", reason="SKIPPED: Windows has no uvloop")
    return str(request.param)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def files(authority: Authority) -> Files:
    pair = authority.issue("localhost")
    return Files(pair.certificate, pair.key, authority.certificate)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds that no test waits for, also on a busy machine."""
    monkeypatch.setattr(tls, "HANDSHAKE_TIMEOUT", 60.0)
    monkeypatch.setattr(tls, "SHUTDOWN_TIMEOUT", 60.0)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the name of the client, and the length of the body."""
    length, more = 0, True
    while more:
        message = await receive()
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    client = scope["state"][CLIENT]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    body = f"{scope['scheme']} {client.name if client else 'nobody'} {length}"
    await send({"type": "http.response.body", "body": body.encode()})


class Served:
    """A server in a thread, on any free port."""

    def __init__(self, loop: str, certificates: Certificates) -> None:
        self.count = 0
        self.certificates = certificates
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        self.port = self._listener.getsockname()[1]
        config = uvicorn.Config(
            application, http=secured(certificates, Failures(self._failed)), ws="none", limit_concurrency=LIMIT,
            log_config=None, lifespan="off", timeout_graceful_shutdown=1, loop=loop,
        )  # fmt: skip
        self.server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._run)
        self._ended = False
        self._thread.start()

    def _run(self) -> None:
        self.server.run([self._listener])
        self._ended = True

    def _failed(self) -> None:
        self.count += 1

    def end(self) -> None:
        self.server.should_exit = True
        self._thread.join(60)
        assert self._ended, "in good order"

    def ask(self, context: ssl.SSLContext, content: bytes = b"") -> str:
        """On a new connection."""
        with httpx.Client(verify=context, timeout=30) as client:
            return client.post(f"https://127.0.0.1:{self.port}/", content=content).text

    def raw(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def told(self, sent: bytes) -> bytes:
        """What comes for bytes that are no TLS, until the connection ends, which it must."""
        with self.raw() as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            return received(client)


def received(client: socket.socket) -> bytes:
    told = b""
    while True:
        try:
            got = client.recv(65536)
        except ConnectionError:
            return told
        if not got:
            return told
        told += got


@contextmanager
def serving(loop: str, files: Files) -> Iterator[Served]:
    served = Served(loop, Certificates(files))
    try:
        yield served
    finally:
        served.end()


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Of the service; there must be no tracebacks of anybody."""
    assert [x for x in caplog.records if x.exc_info or x.levelno > logging.WARNING] == []
    return [x.getMessage() for x in caplog.records if x.name == tls.__name__]


def first_warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """As soon as there are any: a failure is logged after it was counted, and after the client knows of it."""
    until(lambda: warnings(caplog))
    return warnings(caplog)


def failure(served: Served, context: ssl.SSLContext) -> str:
    """What a client whose handshake is refused learns of it."""
    with pytest.raises((httpx.TransportError, ssl.SSLError)) as caught:
        served.ask(context)
    return str(caught.value)


def modern(context: ssl.SSLContext) -> None:
    context.minimum_version = ssl.TLSVersion.TLSv1_3


def old(context: ssl.SSLContext) -> None:
    context.maximum_version = ssl.TLSVersion.TLSv1_2


# What clients show ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [modern, old])
def test_a_valid_certificate_says_who_asks_and_none_is_nobody(
    loop: str, files: Files, authority: Authority, version: Callable[[ssl.SSLContext], None]
) -> None:
    client = authority.issue("somebody", "a", "b", usage="clientAuth")
    with serving(loop, files) as served:
        for shown, name in ((client, "somebody"), (None, "nobody")):
            context = trusting(authority.certificate, shown)
            version(context)
            assert served.ask(context, b"x" * 300_000) == f"https {name} 300000"
        assert served.count == 0


def invalid(authority: Authority, folder: Path) -> dict[str, tuple[Pair, str, str]]:
    """By what is wrong: a certificate, what the client is told, and what the log says."""
    other = Authority(folder / "other", "other")
    bad = "its certificate is rejected: "
    return {
        "of another authority": (other.issue("x"), "unknown ca", f"{bad}unable to get local issuer certificate"),
        "self-signed": (self_signed(folder, "self"), "unknown ca", f"{bad}self-signed certificate"),
        "expired": (
            authority.issue("x", last="20210101000000Z"), "certificate expired", f"{bad}certificate has expired",
        ),
        "not yet valid": (
            authority.issue("x", first="20900101000000Z"), "bad certificate", f"{bad}certificate is not yet valid",
        ),
        "of a server": (
            authority.issue("x", usage="serverAuth"), "unsupported certificate",
            f"{bad}unsuitable certificate purpose",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("version", [modern, old])
def test_a_certificate_that_is_not_valid_ends_the_handshake_with_the_reason(
    loop: str,
    files: Files,
    authority: Authority,
    tmp_path: Path,
    version: Callable[[ssl.SSLContext], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    good = trusting(authority.certificate)
    with serving(loop, files) as served, httpx.Client(verify=good, timeout=30) as open_before:
        address = f"https://127.0.0.1:{served.port}/"
        open_before.get(address)
        for n, (pair, alert, reason) in enumerate(invalid(authority, tmp_path).values(), 1):
            context = trusting(authority.certificate, pair)
            version(context)
            told = failure(served, context).lower().replace("_", " ")
            assert alert in told, reason
            assert warnings(caplog)[-1] == f"TLS handshake with 127.0.0.1 failed: {reason}"
            assert served.count == n
            assert open_before.get(address).text == "https nobody 0"
            assert served.ask(good) == "https nobody 0"


def test_a_huge_chain_is_refused(
    loop: str, files: Files, authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    pair = authority.issue("x")
    chain = tmp_path / "chain"
    chain.write_text(pair.certificate.read_text() * 400)
    with serving(loop, files) as served:
        failure(served, trusting(authority.certificate, Pair(chain, pair.key)))
        until(lambda: served.count)
        assert first_warnings(caplog) == ["TLS handshake with 127.0.0.1 failed: excessive message size"]
        assert served.ask(trusting(authority.certificate)) == "https nobody 0"


def test_a_client_that_does_not_trust_the_server_is_noted(
    loop: str, files: Files, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = Authority(tmp_path / "other")
    with serving(loop, files) as served:
        assert "CERTIFICATE_VERIFY_FAILED" in failure(served, trusting(other.certificate))
        until(lambda: served.count)
        assert first_warnings(caplog) == ["TLS handshake with 127.0.0.1 failed: tlsv1 alert unknown ca"]


# What is no TLS -------------------------------------------------------------------------------------------------------


def test_what_is_no_tls_is_refused(
    loop: str, files: Files, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    hello = client_hello()
    with serving(loop, files) as served:
        plain = served.told(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert plain.startswith(b"HTTP/1.0 400 Bad Request\r\n")
        assert plain.endswith(b"this port requires HTTPS\n")
        for n in range(1, len(hello), 7):
            served.told(hello[:n] + b"\xff" * 64 + hello[n + 64 :])
        for garbage in (b"\0" * 5, b"\x16\x03\x01\xff\xff" + b"x" * 70_000, os.urandom(3000), b"\x80\x2e\x01\x00\x02"):
            served.told(garbage)
        old_version = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        old_version.check_hostname, old_version.verify_mode = False, ssl.CERT_NONE
        old_version.set_ciphers("ALL:@SECLEVEL=0")
        with pytest.warns(DeprecationWarning, match="TLSv1_1"):
            old_version.minimum_version = old_version.maximum_version = ssl.TLSVersion.TLSv1_1
        assert "PROTOCOL_VERSION" in failure(served, old_version)
        with served.raw() as client:
            client.close()
        until(lambda: any("closed the connection" in x for x in warnings(caplog)))
        reasons = {x.removeprefix("TLS handshake with 127.0.0.1 failed: ") for x in warnings(caplog)}
        assert {
            "it sent plain HTTP, but this port requires HTTPS", "it does not speak TLS",
            "it supports no version from TLS 1.2", "it closed the connection",
        } <= reasons  # fmt: skip
        assert served.ask(trusting(authority.certificate)) == "https nobody 0"


def client_hello() -> bytes:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(incoming, outgoing, server_hostname="localhost")
    with pytest.raises(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


def test_garbage_inside_a_connection_ends_it(
    loop: str, files: Files, authority: Authority, caplog: pytest.LogCaptureFixture
) -> None:
    context = trusting(authority.certificate)
    with serving(loop, files) as served:
        for sent in (b"x" * 100, b"\x17\x03\x03\x00\x20" + b"y" * 32, b"\x15\x03\x03\x00\x02\x02\x28", b"\x16" * 9):
            plain = served.raw()
            with context.wrap_socket(plain.dup(), server_hostname="localhost"), plain:
                plain.sendall(sent)
                plain.shutdown(socket.SHUT_WR)
                received(plain)
        assert served.ask(context) == "https nobody 0"
        assert warnings(caplog) == []


def test_no_connection_is_negotiated_again(loop: str, files: Files, authority: Authority) -> None:
    with serving(loop, files) as served:
        command = ["openssl", "s_client", "-connect", f"127.0.0.1:{served.port}", "-tls1_2", "-CAfile"]
        done = subprocess.run(
            [*command, authority.certificate], input="R\n", capture_output=True, text=True, timeout=60
        )
        assert "no renegotiation" in done.stderr
        assert served.ask(trusting(authority.certificate)) == "https nobody 0"


@pytest.mark.parametrize("version", [modern, old])
def test_a_session_is_resumed_by_the_same_client_until_there_are_new_certificates(
    loop: str, tmp_path: Path, version: Callable[[ssl.SSLContext], None]
) -> None:
    """It brings back the certificate that was shown first."""
    first, second, volume = Authority(tmp_path / "first"), Authority(tmp_path / "second"), Volume(tmp_path / "volume")
    volume.write_pair(first.issue("localhost"), first)
    context = trusting(first.certificate, first.issue("x"))
    version(context)

    def ask(session: ssl.SSLSession | None) -> tuple[str, bool, ssl.SSLSession | None]:
        with context.wrap_socket(served.raw(), server_hostname="localhost", session=session) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            answer = received(client).decode()
            return answer, bool(client.session_reused), client.session

    with serving(loop, volume.files) as served:
        body, reused, session = ask(None)
        assert ("https x 0" in body, reused) == (True, False)
        body, reused, session = ask(session)
        assert ("https x 0" in body, reused) == (True, True)
        pair = first.issue("localhost")
        volume.write(pair.certificate.read_bytes(), pair.key.read_bytes(), second.certificate.read_bytes())
        served.certificates.check()
        with pytest.raises(ssl.SSLError, match="ALERT_UNKNOWN_CA"):
            ask(session)


# Clients that take their time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("sent", [b"", client_hello()[:50], client_hello()], ids=["nothing", "a part", "the first"])
def test_handshakes_that_never_end_keep_nobody_out(loop: str, files: Files, authority: Authority, sent: bytes) -> None:
    """60 of them, where there is room for 40 connections."""
    with serving(loop, files) as served, ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(served.raw()).sendall(sent)
        for _ in range(5):
            assert served.ask(trusting(authority.certificate)) == "https nobody 0"
        assert len(served.server.server_state.connections) <= LIMIT // tls.HANDSHAKE_SHARE + 1


def test_a_handshake_has_its_time_however_often_a_byte_comes(
    loop: str, files: Files, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tls, "HANDSHAKE_TIMEOUT", 2.0)
    hello = client_hello()
    with serving(loop, files) as served, served.raw() as client:
        client.settimeout(0.1)
        for n in range(len(hello)):
            try:
                client.sendall(hello[n : n + 1])
                if not client.recv(1000):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            pytest.fail("it is waited for without end")
        until(lambda: not served.server.server_state.connections)
        assert first_warnings(caplog) == ["TLS handshake with 127.0.0.1 failed: it took longer than 2 seconds"]


def test_connections_whose_end_is_not_confirmed_keep_nobody_out(loop: str, files: Files, authority: Authority) -> None:
    """A server that closes waits for the client to say so, too."""
    context = trusting(authority.certificate)
    with serving(loop, files) as served, ExitStack() as stack:
        for _ in range(60):
            client = stack.enter_context(context.wrap_socket(served.raw(), server_hostname="localhost"))
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
        for _ in range(5):
            assert served.ask(context) == "https nobody 0"


def test_the_server_ends_while_a_handshake_is_under_way(
    loop: str, files: Files, caplog: pytest.LogCaptureFixture
) -> None:
    with serving(loop, files) as served, served.raw() as client:
        until(lambda: served.server.server_state.connections)
        served.end()
        assert received(client) == b""
    assert warnings(caplog) == []


def test_a_lack_of_sockets_ends_a_connection_and_nothing_else(
    loop: str, files: Files, authority: Authority, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def lacking(transport: object) -> tuple[socket.socket, socket.socket]:
        raise OSError(errno.EMFILE, "Too many open files")

    with serving(loop, files) as served:
        with monkeypatch.context() as patched:
            patched.setattr(tls, "_two_sockets", lacking)  # before the server can accept the connection
            with served.raw() as client:
                assert received(client) == b""
        assert first_warnings(caplog) == ["TLS handshake with 127.0.0.1 failed: this process has too many open files"]
        assert served.ask(trusting(authority.certificate)) == "https nobody 0"


def test_the_same_failure_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    failures = Failures(lambda: None, lambda: now[0])
    for _ in range(3):
        failures.add("a", ConnectionResetError())
    failures.add("b", ConnectionResetError())
    failures.add("a", ConnectionAbortedError())
    assert len(warnings(caplog)) == 3
    now[0] = QUIET_INTERVAL
    failures.add("a", ConnectionResetError())
    assert len(warnings(caplog)) == 4


# Files ----------------------------------------------------------------------------------------------------------------


class Volume:
    """A secret of Kubernetes, mounted: files are links into a folder that is exchanged as a whole."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._versions = folder, 0
        folder.mkdir()
        self.files = Files(folder / "tls.crt", folder / "tls.key", folder / "ca.crt")

    def write(self, certificate: bytes, key: bytes, authority: bytes) -> None:
        self._versions += 1
        version = self.folder / f"..{self._versions}"
        version.mkdir()
        for name, content in (("tls.crt", certificate), ("tls.key", key), ("ca.crt", authority)):
            (version / name).write_bytes(content)
            if not (self.folder / name).is_symlink():
                (self.folder / name).symlink_to(f"..data/{name}")
        (self.folder / "..data_tmp").symlink_to(version.name)
        os.replace(self.folder / "..data_tmp", self.folder / "..data")

    def write_pair(self, pair: Pair, authority: Authority) -> None:
        self.write(pair.certificate.read_bytes(), pair.key.read_bytes(), authority.certificate.read_bytes())


def test_new_certificates_are_used_for_new_connections(loop: str, tmp_path: Path) -> None:
    first, second = Authority(tmp_path / "first", "first"), Authority(tmp_path / "second", "second")
    volume = Volume(tmp_path / "volume")
    volume.write_pair(first.issue("localhost"), first)
    known = trusting(first.certificate, first.issue("x"))
    with serving(loop, volume.files) as served, httpx.Client(verify=known, timeout=30) as client:
        address = f"https://127.0.0.1:{served.port}/"
        assert client.get(address).text == "https x 0"
        volume.write_pair(second.issue("localhost"), second)
        assert client.get(address).text == "https x 0"
        served.certificates.check()
        assert client.get(address).text == "https x 0", "a connection goes on"
        assert served.ask(trusting(second.certificate, second.issue("y"))) == "https y 0"
        assert "CERTIFICATE_VERIFY_FAILED" in failure(served, known)
        assert "unknown ca" in failure(served, trusting(second.certificate, first.issue("x"))).lower().replace("_", " ")


def test_new_certificates_that_cannot_be_used_change_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    authority, volume = Authority(tmp_path / "authority"), Volume(tmp_path / "volume")
    pair, other = authority.issue("localhost"), authority.issue("localhost")
    volume.write_pair(pair, authority)
    caplog.set_level(logging.INFO)
    certificates = Certificates(volume.files)
    context = certificates.context
    certificate, key, trusted = pair.certificate.read_bytes(), pair.key.read_bytes(), authority.certificate.read_bytes()
    openssl("ec", "-in", pair.key, "-aes128", "-passout", "pass:secret", "-out", tmp_path / "encrypted")
    broken = {
        "the key does not belong to the certificate": (certificate, other.key.read_bytes(), trusted),
        "tls.crt holds no certificates in PEM format": (b"", key, trusted),
        "the key is not one in PEM format": (certificate, certificate, trusted),
        "ca.crt holds no certificates in PEM format": (certificate, key, b"nothing"),
        "is encrypted: store it without a password": (certificate, (tmp_path / "encrypted").read_bytes(), trusted),
    }
    for n, (reason, contents) in enumerate(broken.items(), 1):
        volume.write(*contents)
        certificates.check()
        certificates.check()
        errors = [x.getMessage() for x in caplog.records if x.levelno == logging.ERROR]
        assert len(errors) == n, "once"
        assert "the new certificates cannot be used; the previous ones stay in use: " in errors[-1]
        assert reason in errors[-1]
        assert certificates.context is context
    volume.write_pair(other, authority)
    certificates.check()
    assert certificates.context is not context
    assert caplog.records[-1].getMessage() == "the certificates have changed; new connections use the new ones"
    (volume.folder / "..data").unlink()
    certificates.check()
    assert "tls.crt cannot be read: No such file or directory" in caplog.records[-1].getMessage()


def test_files_that_change_while_they_are_read_are_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    authority, volume = Authority(tmp_path / "authority"), Volume(tmp_path / "volume")
    first, second, third = (authority.issue("localhost") for _ in range(3))
    volume.write_pair(first, authority)
    certificates = Certificates(volume.files)
    context = certificates.context

    def swapped(files: Files) -> ssl.SSLContext:
        monkeypatch.undo()
        volume.write_pair(third, authority)
        raise UserError("the key does not belong to the certificate")

    monkeypatch.setattr(tls, "load", swapped)
    volume.write_pair(second, authority)
    certificates.check()
    assert certificates.context is context
    assert caplog.records == [], "it is not known yet whether they are wrong"
    certificates.check()
    assert certificates.context is not context


def test_files_that_cannot_be_used_are_named(tmp_path: Path, authority: Authority) -> None:
    pair = authority.issue("localhost")
    with pytest.raises(UserError, match=r"none cannot be read: No such file or directory"):
        load(Files(tmp_path / "none", pair.key, None))
    with pytest.raises(UserError, match=r"none cannot be read: No such file or directory"):
        load(Files(pair.certificate, tmp_path / "none", None))
    with pytest.raises(UserError, match=r"none cannot be read: No such file or directory"):
        load(Files(pair.certificate, pair.key, tmp_path / "none"))


def test_a_context_does_not_ask_for_certificates_of_clients_without_authorities(authority: Authority) -> None:
    pair = authority.issue("localhost")
    context = load(Files(pair.certificate, pair.key, None))
    assert context.verify_mode is ssl.CERT_NONE
    assert context.minimum_version is ssl.TLSVersion.TLSv1_2
