"""HTTP/1.1 for one thread: each request is answered at once, or with a stream that others write to.

A general-purpose server spends more time on a request than the API server behind it. Bodies have a Content-Length.
"""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

MAX_BACKLOG = 32 << 20
"""Bytes that a client may leave unread on a stream."""


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body. Raises `ValueError`."""
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Response:
    """A whole answer."""

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Stream:
    """An answer that goes on until it is closed. `begin` is called with it when its head has been sent."""

    begin: Callable[[Stream], None]
    on_close: Callable[[], None] = lambda: None
    transport: asyncio.Transport | None = None

    def write(self, data: bytes) -> None:
        """Sends a chunk. A client that does not read is cut off (from its sources: a slow watcher is ended)."""
        if self.transport is None or self.transport.is_closing():
            return
        if self.transport.get_write_buffer_size() > MAX_BACKLOG:
            self.transport.abort()
            return
        self.transport.write(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        """Ends the answer; the connection can be used again."""
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(b"0\r\n\r\n")
        self.close()

    def close(self) -> None:
        """Nobody writes any more."""
        self.transport = None
        on_close, self.on_close = self.on_close, lambda: None
        on_close()


Handler = Callable[[Request], Response | Stream]


class Connection(asyncio.Protocol):
    """Of one client; requests are answered in order."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._received = bytearray()
        self._stream: Stream | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._stream is not None:
            self._stream.close()
        self._transport = None

    def data_received(self, data: bytes) -> None:
        self._received += data
        while self._transport is not None and self._next():
            pass

    def _next(self) -> bool:
        """Answers the first request, if all of it is here, and no stream is open."""
        if self._stream is not None and self._stream.transport is not None:
            return False
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return False
        first, *lines = self._received[:end].decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (x.partition(":") for x in lines)}
        length = int(headers.get("content-length", 0))
        if len(self._received) < end + 4 + length:
            return False
        body = bytes(self._received[end + 4 : end + 4 + length])
        del self._received[: end + 4 + length]
        method, target, _ = first.split(" ", 2)
        path, _, query = target.partition("?")
        request = Request(method, unquote(path), dict(parse_qsl(query, keep_blank_values=True)), headers, body)
        self._answer(request)
        return True

    def _answer(self, request: Request) -> None:
        assert self._transport is not None
        try:
            answer = self._handler(request)
        except Exception:
            traceback.print_exc()
            answer = Response(500, b'{"kind":"Status","status":"Failure","code":500,"message":"see the log"}')
        match answer:
            case Response():
                head = [
                    f"HTTP/1.1 {answer.status} {HTTPStatus(answer.status).phrase}",
                    "Content-Type: application/json",
                    f"Content-Length: {len(answer.body)}",
                    *(f"{name}: {value}" for name, value in answer.headers.items()),
                ]
                self._transport.write("\r\n".join(head).encode() + b"\r\n\r\n" + answer.body)
            case Stream():
                self._stream = answer
                answer.transport = self._transport
                self._transport.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                answer.begin(answer)


async def serve(handler: Handler, host: str, port: int) -> None:
    """Until the process ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Connection(handler), host, port, backlog=1024)
    async with server:
        await server.serve_forever()
