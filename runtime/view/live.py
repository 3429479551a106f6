"""The pages of a simulation, served from a thread while it runs."""

from __future__ import annotations

import socket
from threading import Thread

import uvicorn

from fsmdsl.editor.live.connections import Bounded
from runtime.errors import UserError
from runtime.view.feed import FrameFeed
from runtime.view.paced import Paced
from runtime.view.pages import Pages, application

LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 128
"""Maximum number of connections at a time."""


class Live:
    """A page on this machine alone. Raises `UserError` where the port is taken."""

    def __init__(self, pace: float, port: int = 0) -> None:
        """`pace`: virtual seconds in a second, to begin with. `port` 0: any."""
        feed = FrameFeed()
        self.paced = Paced(feed, pace)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((LOOPBACK, port))
            self._socket.listen()
        except OSError as error:
            raise UserError(f"port {port} of {LOOPBACK} cannot be used: {(error.strerror or '').lower()}") from error
        app = application(Pages(feed, self.paced.scene, self.paced), [LOOPBACK, "localhost"])
        config = uvicorn.Config(
            app, http=Bounded, ws="none", limit_concurrency=MAX_CONNECTIONS, log_level="warning", lifespan="off",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._server = uvicorn.Server(config)
        feed.over = lambda: self._server.should_exit
        self._thread = Thread(target=self._server.run, args=([self._socket],), name="view", daemon=True)
        self._thread.start()

    @property
    def address(self) -> str:
        """Where to look."""
        return f"http://{LOOPBACK}:{self._socket.getsockname()[1]}/"

    def close(self) -> None:
        """Stops serving."""
        self._server.should_exit = True
        self._thread.join(5)
