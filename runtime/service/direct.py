"""Requests of which there are many, at a fifth of the cost: each thread has a connection of its own, which stays open.

A client for everything shares its connections between threads, looks at each of them before each request, and builds
objects for what hardly differs from one request to the next. Here is only what a POST with a short answer needs. Who
uses it has a client for everything, too, and takes that one where this one does not know how to go on.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from select import POLLIN, poll
from threading import Lock, local
from urllib.parse import urlsplit


class NoAnswerError(Exception):
    """The server has not answered, or not understandably; perhaps it has done what it was asked all the same."""


class Direct:
    """Requests to one server, from any thread; no proxy is used."""

    def __init__(self, server: str, context: ssl.SSLContext, timeout: float) -> None:
        """`server`: its address, `https://host:port/path`. `timeout`: seconds for each step of a request."""
        parts = urlsplit(server)
        self._encrypted = parts.scheme == "https"
        self._host, self._port, self._prefix = parts.hostname or "", parts.port, parts.path.rstrip("/")
        self._context = context
        self._timeout = timeout
        self._mine = local()
        self._lock = Lock()
        self._all: list[HTTPConnection] = []

    def send(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: dict[str, str],
        before: Callable[[], object] = lambda: None,
    ) -> tuple[int, bytes, str]:
        """Status and body of the answer, and its header Retry-After, empty where it has none.

        Raises `NoAnswerError`, and what `before` raises, which is called when the connection is there and before
        anything is sent.
        """
        connection = self._connection()
        try:
            if connection.sock is None:
                connection.connect()
            before()
            connection.request(method, f"{self._prefix}/{path}", body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read(), answer.getheader("Retry-After", "")
        except (HTTPException, OSError) as error:
            connection.close()
            raise NoAnswerError(f"{type(error).__name__}: {error}") from error

    def _connection(self) -> HTTPConnection:
        """The one of this thread. One that the server has ended meanwhile can be read from, and is begun anew."""
        connection: HTTPConnection | None = getattr(self._mine, "connection", None)
        if connection is None:
            connection = self._mine.connection = self._connect()
            with self._lock:
                self._all.append(connection)
        elif connection.sock is not None:
            idle = poll()
            idle.register(connection.sock, POLLIN)
            if idle.poll(0):
                connection.close()
        return connection

    def _connect(self) -> HTTPConnection:
        """Connects with its first request."""
        if self._encrypted:
            return HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
        return HTTPConnection(self._host, self._port, timeout=self._timeout)

    def close(self) -> None:
        """Ends all connections."""
        with self._lock:
            for connection in self._all:
                connection.close()
