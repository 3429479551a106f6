"""The page and what it asks for, as routes of a web application."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Protocol

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from runtime.view.feed import FrameFeed
from runtime.view.recording import difference

STATIC = Path(__file__).parent / "static"
FILES = {
    "view.css": "text/css",
    "view.js": "text/javascript",
    "cells.js": "text/javascript",
    "gangs.js": "text/javascript",
    "answers.js": "text/javascript",
    "selection.js": "text/javascript",
    "tenants.js": "text/javascript",
    "usage.js": "text/javascript",
    "AffinityGroup.svg": "image/svg+xml",
}
POLL_INTERVAL = 0.25
"""Seconds between two reads of the feed."""
MAX_PAGES = 32
"""Maximum number of open pages: each holds a connection."""
MAX_REQUEST_BYTES = 4096
"""Maximum number of bytes of a request."""

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Controls(Protocol):
    """What can be told to a simulation; see `paced`."""

    @property
    def pace(self) -> float: ...
    @property
    def paused(self) -> bool: ...
    @property
    def ended(self) -> bool: ...
    def control(self, *, pace: float | None = None, paused: bool | None = None) -> None: ...


class Pages:
    """What is to be seen of one cluster."""

    def __init__(self, feed: FrameFeed, scene: Callable[[], dict[str, Any]], controls: Controls | None = None) -> None:
        self._feed = feed
        self._scene = scene
        self._controls = controls
        self._watching = 0

    def routes(self, at: str = "") -> list[Route]:
        """All below one path, which begins with a slash; none is the root."""
        files = [Route(f"{at}/{name}", _file(name, kind)) for name, kind in FILES.items()]
        views = [
            Route(f"{at}/", _file("view.html", "text/html")),
            Route(f"{at}/scene", self.scene),
            Route(f"{at}/stream", self.stream),
        ]
        controls = [] if self._controls is None else [Route(f"{at}/control", self.control, methods=["POST"])]
        return [*views, *files, *controls]

    async def scene(self, _: Request) -> Response:
        """What stays."""
        scene = await run_in_threadpool(self._scene)
        return JSONResponse({**scene, "simulation": self._controls is not None}, headers=HEADERS)

    async def stream(self, request: Request) -> Response:
        """What changes, as server-sent events; everything first."""
        if self._watching >= MAX_PAGES:
            return PlainTextResponse(f"{MAX_PAGES} pages are already open\n", status_code=503)
        headers = {**HEADERS, "X-Accel-Buffering": "no"}  # a proxy must not keep it back
        return StreamingResponse(self._changes(request), media_type="text/event-stream", headers=headers)

    async def _changes(self, request: Request) -> AsyncIterator[str]:
        last_frame, remark, last_how = None, 0, None
        self._watching += 1
        try:
            while not self._feed.over() and not await request.is_disconnected():
                frame = await run_in_threadpool(self._feed.last)
                remarks = self._feed.remarks(remark)
                how = self._how()
                if frame is not None and (frame is not last_frame or remarks or how != last_how):
                    change = await run_in_threadpool(difference, last_frame, frame)
                    remark = remarks[-1].number if remarks else remark
                    entries = [[x.time, x.text] for x in remarks]
                    yield f"data: {json.dumps({**change, 'remarks': entries, 'how': how}, separators=(',', ':'))}\n\n"
                    last_frame, last_how = frame, how
                await asyncio.sleep(POLL_INTERVAL)
        finally:
            self._watching -= 1

    def _how(self) -> dict[str, Any] | None:
        x = self._controls
        return None if x is None else {"pace": x.pace, "paused": x.paused, "ended": x.ended}

    async def control(self, request: Request) -> Response:
        """`{"pace": …, "paused": …}`, either of them. Only from the page itself."""
        assert self._controls is not None, "there is no such route otherwise"
        origin = request.headers.get("origin")
        if origin is not None and origin != f"{request.url.scheme}://{request.headers.get('host')}":
            return PlainTextResponse("only the page itself may do that\n", status_code=403)
        try:
            command = json.loads((await request.body())[:MAX_REQUEST_BYTES])
            pace, paused = command.get("pace"), command.get("paused")
            self._controls.control(
                pace=None if pace is None else float(pace), paused=None if paused is None else bool(paused)
            )
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            return PlainTextResponse(f"{error}\n", status_code=400)
        return JSONResponse(self._how(), headers=HEADERS)


def _file(name: str, kind: str) -> Callable[[Request], Any]:
    async def answer(_: Request) -> Response:
        return FileResponse(STATIC / name, media_type=kind, headers=HEADERS)

    return answer


def application(pages: Pages, hosts: list[str]) -> Starlette:
    """The pages alone, for those who come by one of these names: a page of another site cannot pretend to be ours."""
    return Starlette(routes=pages.routes(), middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)])
