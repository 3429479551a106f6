"""Connections with limits: each phase of a request has a timeout, and the number of connections is bounded.

uvicorn bounds how long an idle connection is kept, and how many there are; a client that sends the headers or the body
of a request slowly, or never reads the answer, is waited for without end, and counts. Here it is not waited for, and
when there is no room for another connection, the one that has been receiving for the longest time has to go, and where
there is none, the one that has been idle for the longest time.
Only connections whose requests are being answered, and whose clients read the answer, keep their place.

The allocator serves with the same class, and its image has no other module of the toolkit: nothing of `fsmdsl` may be
imported here.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from enum import Enum, auto
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

TIMED_OUT = (
    b"HTTP/1.1 408 Request Timeout\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: 34\r\n\r\nthe request did not arrive in time"
)

MALFORMED = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n"
    b"content-length: 30\r\n\r\nInvalid HTTP request received."
)


def bearable(record: logging.LogRecord) -> bool:
    """A filter for uvicorn's log: an answer that ended because the server does is no fault."""
    return record.exc_info is None or not isinstance(record.exc_info[1], asyncio.CancelledError)


class Server(uvicorn.Server):
    """Ends in its own time after a signal, however often it comes: uvicorn leaves off in the middle at the second."""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has come."""
        self.should_exit = True


class Phase(Enum):
    """What a connection waits for."""

    HANDSHAKE = auto()
    """Only where connections are encrypted, which is done elsewhere; so is the timeout."""
    HEADERS = auto()
    BODY = auto()
    ANSWER = auto()
    IDLE = auto()
    """The next request."""


SECONDS = {Phase.HEADERS: 10.0, Phase.BODY: 30.0}
"""Seconds that a client may take for each phase. For bodies, this is longer than the timeout of an application that has
its own."""
MAX_BUFFERED = 64 * 1024
"""Maximum number of bytes of headers that are incomplete."""
MAX_PARSED = 16 * 1024
"""Maximum number of bytes that are parsed at a time: headers that arrive at once are never incomplete. So headers are
limited to the sum of both."""
UNREAD = 60.0
"""Seconds after which a client that reads nothing of its answer is disconnected."""


class Unambiguous:
    """Refuses a request with `Transfer-Encoding` and `Content-Length`, and closes its connection.

    A proxy on the way may have gone by the other one, and seen another request behind it.

    Source: RFC 9112, 6.1.
    """

    def __init__(self, app: Callable[..., Any]) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        if scope["type"] == "http" and {b"transfer-encoding", b"content-length"} <= {x for x, _ in scope["headers"]}:
            text = b"a request must not have both Transfer-Encoding and Content-Length"
            headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
            headers.append((b"content-length", b"%d" % len(text)))
            await send({"type": "http.response.start", "status": 400, "headers": headers})
            await send({"type": "http.response.body", "body": text})
        else:
            await self._app(scope, receive, send)


class Bounded(H11Protocol):
    """A connection, for `uvicorn.Config(http=Bounded, ws="none")`; `limit_concurrency` is the number of them."""

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.app = Unambiguous(self.app)
        self.conn = h11.Connection(h11.SERVER, MAX_BUFFERED)
        self.phase = Phase.ANSWER
        self.since = 0.0
        self._ends: asyncio.TimerHandle | None = None
        self._stalled: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept a connection. If there are too many, close another one."""
        super().connection_made(transport)
        self._enter(Phase.HEADERS)
        self._make_room()

    def _make_room(self) -> None:
        limit = self.limit_concurrency
        while limit is not None and len(self.connections) >= limit:
            going = [x for x in self.connections if isinstance(x, Bounded) and x is not self]
            going = [x for x in going if x.phase is not Phase.ANSWER or x.stalls or x.transport.is_closing()]
            if not going:
                return  # it is answered that there is no room
            min(going, key=lambda x: (x.phase is Phase.IDLE, x.since)).drop()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._enter(Phase.ANSWER)
        self._unset_stalled()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """The request may go on to its next phase."""
        for begin in range(0, len(data), MAX_PARSED):
            if not self.transport.is_closing():
                super().data_received(data[begin : begin + MAX_PARSED])
        self._look()

    def send_400_response(self, msg: str) -> None:
        """A request cannot be read. If it is being answered already, because its body alone is wrong, it is no more.

        h11 refuses the text of this answer where the request is a HEAD.
        """
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(MALFORMED)
        self.transport.close()

    def on_response_complete(self) -> None:
        """The next request may begin."""
        super().on_response_complete()
        self._look()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        super().pause_writing()
        if self._stalled is None:
            self._stalled = self.loop.call_later(UNREAD, self.drop)

    def resume_writing(self) -> None:
        """It has gone on reading."""
        super().resume_writing()
        self._unset_stalled()

    @property
    def stalls(self) -> bool:
        """Whether an answer waits for its client to read."""
        return self._stalled is not None

    def drop(self) -> None:
        """End the connection at once."""
        self.connections.discard(self)
        if self.transport is not None:
            self.transport.abort()

    def _look(self) -> None:
        if self.conn.their_state is h11.SEND_BODY:
            self._enter(Phase.BODY)
        elif self.conn.their_state is not h11.IDLE:
            self._enter(Phase.ANSWER)
        elif self.timeout_keep_alive_task is not None:
            self._enter(Phase.IDLE)
        else:
            self._enter(Phase.HEADERS)

    def _enter(self, phase: Phase) -> None:
        """A phase that goes on has begun before: who sends a byte now and then gains nothing."""
        if phase is self.phase:
            return
        self.phase, self.since = phase, self.loop.time()
        if self._ends is not None:
            self._ends.cancel()
            self._ends = None
        if phase in SECONDS:
            self._ends = self.loop.call_later(SECONDS[phase], self._over)

    def _over(self) -> None:
        if self.transport.is_closing():
            return
        if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
            self.transport.write(TIMED_OUT)
        self.transport.close()

    def _unset_stalled(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
            self._stalled = None
