"""Slow headers, slow bodies, answers that nobody reads, too many connections: others are still served."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx
import pytest

pytest.importorskip("uvicorn", reason="SKIPPED: connections need the extra `serve`")

import uvicorn

from fsmdsl.editor.live import connections
from fsmdsl.editor.live.connections import Phase

LIMIT = 50


@pytest.fixture(params=["asyncio", pytest.param("uvloop", marks=pytest.mark.full(reason="the other event loop"))])
def loop(request: pytest.FixtureRequest) -> str:
    """That of the page, and that of the allocator's image."""
    if request.param == "uvloop":
        pytest.importorskip("uvloop", reason="SKIPPED: Windows has no uvloop")
    return str(request.param)


async def application(scope: Any, receive: Any, send: Any) -> None:
    """Reads the body, and answers with its length; at /long with much. At /early and /begun it answers, or begins to,
    before it reads."""
    length, more = 0, True
    if scope["path"] in ("/early", "/begun"):
        await send({"type": "http.response.start", "status": 404, "headers": []})
        await send({"type": "http.response.body", "body": b"no", "more_body": scope["path"] == "/begun"})
        if scope["path"] == "/early":
            return
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        length += len(message.get("body", b""))
        more = message.get("more_body", False)
    if scope["path"] == "/wait":
        await asyncio.sleep(3600)
    if scope["path"] == "/begun":
        await send({"type": "http.response.body", "body": b"more"})
        return
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(400 if scope["path"] == "/long" else 0):
        await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
    await send({"type": "http.response.body", "body": str(length).encode()})


@contextmanager
def serving(loop: str) -> Iterator[tuple[int, uvicorn.Server]]:
    """A real server in a thread, on any free port."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=1024)
    config = uvicorn.Config(
        application, http=connections.Bounded, ws="none", limit_concurrency=LIMIT, log_config=None, lifespan="off",
        timeout_graceful_shutdown=1, loop=loop,
    )  # fmt: skip
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    try:
        yield listening.getsockname()[1], server
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds that a test can wait."""
    monkeypatch.setattr(connections, "SECONDS", {Phase.HEADERS: 2.0, Phase.BODY: 2.0})
    monkeypatch.setattr(connections, "UNREAD", 2.0)


def connected(port: int, sent: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.sendall(sent)
    return made


def ended(client: socket.socket) -> bytes:
    """What comes until the connection ends, which it must."""
    told = b""
    while True:
        try:
            got = client.recv(65536)
        except ConnectionError:
            return told
        if not got:
            return told
        told += got


def until(condition: Callable[[], object]) -> None:
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)


START = b"POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
PHASES = {"nothing": b"", "headers": START + b"X-Slow: ", "body": START + b"Content-Length: 100\r\n\r\nab"}


@pytest.mark.parametrize("phase", PHASES)
def test_of_connections_that_never_end_their_request_others_are_not_kept(loop: str, phase: str) -> None:
    """The review: 60 of them make a service with 50 connections unavailable."""
    connections.SECONDS.update({Phase.HEADERS: 60.0, Phase.BODY: 60.0})
    with serving(loop) as (port, server), ExitStack() as stack:
        for _ in range(60):
            stack.enter_context(connected(port, PHASES[phase]))
        for _ in range(5):
            assert httpx.post(f"http://127.0.0.1:{port}/", content=b"abc", timeout=30).text == "3"
        assert len(server.server_state.connections) <= LIMIT


@pytest.mark.parametrize("phase", PHASES)
def test_each_phase_has_its_time_however_often_a_byte_comes(loop: str, phase: str) -> None:
    with serving(loop) as (port, _), connected(port, PHASES[phase]) as client:
        begun, told = time.monotonic(), b""
        client.settimeout(0.2)
        while time.monotonic() - begun < 30:
            try:
                if phase != "nothing":
                    client.sendall(b"a")
                got = client.recv(1000)
            except TimeoutError:
                continue
            except ConnectionError:
                break
            told += got
            if not got:
                break
        assert 1 < time.monotonic() - begun < 20
        assert told.startswith(b"HTTP/1.1 408 ") or told == b""


def test_a_second_request_on_a_connection_has_the_same_time(loop: str) -> None:
    with serving(loop) as (port, _), connected(port, START + b"Content-Length: 1\r\n\r\na") as client:
        assert client.recv(1000).startswith(b"HTTP/1.1 200")
        client.sendall(START)
        assert b"408" in ended(client)


def test_an_answer_that_nobody_reads_ends(loop: str) -> None:
    with serving(loop) as (port, server), connected(port, b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n"):
        until(lambda: len(server.server_state.connections) == 1)
        until(lambda: not server.server_state.connections)


def test_who_is_being_answered_keeps_the_place_and_the_next_one_is_told(loop: str) -> None:
    with serving(loop) as (port, server), ExitStack() as stack:
        waiting = [
            stack.enter_context(connected(port, b"GET /wait HTTP/1.1\r\nHost: x\r\n\r\n")) for _ in range(LIMIT - 1)
        ]
        until(lambda: len(server.server_state.tasks) == LIMIT - 1)
        for _ in range(3):
            assert httpx.get(f"http://127.0.0.1:{port}/", timeout=30).status_code == 503
        assert len(server.server_state.tasks) >= LIMIT - 1
        waiting[0].close()
        until(lambda: len(server.server_state.connections) < LIMIT - 1)


def test_headers_have_a_size(loop: str) -> None:
    with serving(loop) as (port, _), connected(port, b"GET / HTTP/1.1\r\nHost: x\r\nX: ") as client:
        try:
            client.sendall(b"y" * 200_000)
        except ConnectionError:
            return
        assert ended(client)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431", b"")


@pytest.mark.parametrize("path", ["/", "/early", "/begun"])
@pytest.mark.parametrize("later", [False, True])
def test_a_body_that_is_wrong_ends_its_request_alone(
    loop: str, path: str, later: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether it is being answered already or not."""
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n".encode()
    with serving(loop) as (port, _), connected(port, head if later else head + b"zz\r\n") as client:
        if later:
            assert path == "/" or client.recv(12) == b"HTTP/1.1 404"
            client.sendall(b"zz\r\n")
        assert ended(client)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 404", b"") or later
        assert httpx.post(f"http://127.0.0.1:{port}/", content=b"abc", timeout=30).text == "3"
    assert [x.getMessage() for x in caplog.records if x.levelname in ("ERROR", "CRITICAL")] == []


def status_of(port: int, request: bytes) -> bytes:
    """The first line of the answer; empty where the connection ends without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
        try:
            client.sendall(request)
            return client.makefile("rb").readline().strip()
        except ConnectionError:
            return b""


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "in pieces"])
def test_headers_are_limited(loop: str, at_once: bool) -> None:
    """However many bytes of them arrive at a time."""
    with serving(loop) as (port, _):
        for size, statuses in ((40_000, {b"HTTP/1.1 200 OK"}), (100_000, {b"HTTP/1.1 400 Bad Request", b""})):
            head = b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * size
            if at_once:
                assert status_of(port, head + b"\r\n\r\n") in statuses
                continue
            with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
                client.sendall(head)
                time.sleep(0.2)
                try:
                    client.sendall(b"\r\n\r\n")
                    assert client.makefile("rb").readline().strip() in statuses
                except ConnectionError:
                    assert b"" in statuses


def test_a_length_and_pieces_are_refused(loop: str) -> None:
    """A proxy may have gone by the other one: what follows on the connection is no request of its client."""
    with serving(loop) as (port, _):
        both = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        smuggled = b"GET /long HTTP/1.1\r\nHost: x\r\n\r\n"
        with socket.create_connection(("127.0.0.1", port), timeout=30) as client:
            client.sendall(both + smuggled)
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        assert answer.startswith(b"HTTP/1.1 400 Bad Request")
        assert answer.count(b"HTTP/1.1 ") == 1
        assert b"must not have both Transfer-Encoding and Content-Length" in answer


def test_a_long_body_arrives_whole(loop: str) -> None:
    """It is parsed in pieces, as headers are."""
    with serving(loop) as (port, _):
        body = b"x" * 3_000_001
        assert httpx.post(f"http://127.0.0.1:{port}/", content=body).text == str(len(body))
