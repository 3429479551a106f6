"""`fsm serve`: the live page."""

from __future__ import annotations

import os
import signal
import socket
import sys
from contextlib import suppress
from importlib.util import find_spec
from secrets import token_urlsafe
from typing import Any

from fsmdsl.cli import usage
from fsmdsl.cli.common import existing, paths_argument
from fsmdsl.cli.messages import misuse, say

LOOPBACK = "127.0.0.1"
MAX_CONNECTIONS = 128
"""Connections at a time."""
GRACE = 1.0
"""Seconds to finish what is under way."""


@usage.command("serve")
@paths_argument
@usage.option(
    "--port",
    type=usage.integer(0, 65535),
    default=8765,
    show_default=True,
    help="Listen on this port (0: any free port).",
)
@usage.option("--open", "open_it", is_flag=True, help="Open the page in a browser.")
def command(paths: tuple[str, ...], port: int, open_it: bool) -> None:
    """Serve a web page for editing, drawing, verifying and simulating specs. Only this machine can access it.

    The printed address contains a token. Anyone who knows it can read and write these specs.
    """
    missing = [x for x in ("starlette", "uvicorn") if find_spec(x) is None]
    if missing:
        misuse(f"the page needs {' and '.join(f'`{x}`' for x in missing)}; run `pip install 'fsmdsl[serve]'`")
    names = existing(paths)
    listening = _bound(port)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    port = listening.getsockname()[1]
    token = token_urlsafe(18)
    address = f"http://{LOOPBACK}:{port}/#token={token}"
    say(f"serving {' '.join(names)} at", "", f"    {address}", "", "Ctrl-C ends it")
    sys.stdout.flush()
    if open_it:
        import click

        click.launch(address)
    _serve(names, token, port, listening)


def _bound(port: int) -> socket.socket:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        misuse(f"cannot listen on port {port}: {reason}; choose another with `--port`, or `--port 0` for any")
    # A browser that opens the address at once waits until everything is loaded, instead of being refused.
    listening.listen(128)
    return listening


def _serve(paths: list[str], token: str, port: int, listening: socket.socket) -> None:
    """Until a signal ends it."""
    import asyncio
    import logging

    import uvicorn

    from fsmdsl.editor.live.app import application
    from fsmdsl.editor.live.connections import Bounded, Server, bearable

    app = application(paths, token, port)

    class Page(Server):
        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            app.state.end()
            with suppress(TimeoutError):
                await asyncio.wait_for(super().shutdown(sockets), GRACE)
            _end()

    logging.getLogger("uvicorn.error").addFilter(bearable)
    settings = uvicorn.Config(
        app,
        http=Bounded,
        ws="none",
        limit_concurrency=MAX_CONNECTIONS,
        log_level="warning",
        access_log=False,
        server_header=False,
    )
    Page(settings).run(sockets=[listening])


def _end(*_: Any) -> None:
    """At once, whatever other threads do: nothing has to be saved."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    os._exit(0)
