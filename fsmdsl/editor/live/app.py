"""The routes of the page: its files, and over HTTP the questions of `questions`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from fsmdsl.editor.live.guard import Guard
from fsmdsl.editor.live.questions import QUESTIONS, Answer, Data, Live, MisuseError, job, refusal
from fsmdsl.editor.live.verifying import Explorations

Handler = Callable[[Request], Awaitable[Response]]


class Json(Response):
    """An answer as JSON, in ASCII: a text may hold halves of characters, which UTF-8 cannot."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Compact. Raises `ValueError` for what JSON has no number for."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


def application(paths: list[str], token: str, port: int) -> Starlette:
    """The whole server; `Guard` stands before every route. `state.end()` ends what would keep it from ending."""
    live = Live(paths)
    explorations = Explorations()
    routes: list[Route | Mount] = [Route("/", _page)]
    routes += [Route(f"/api/{name}", _answering(live, f), methods=["POST"]) for name, f in QUESTIONS.items()]
    routes.append(Route("/api/verify", _verifying(live, explorations), methods=["POST"]))
    routes.append(Mount("/shared", StaticFiles(packages=[("fsmdsl.report", "static")])))
    routes.append(Mount("/static", StaticFiles(packages=[("fsmdsl.editor.live", "static")])))
    app = Starlette(routes=routes, middleware=[Middleware(Guard, token=token, port=port)])
    app.state.end = explorations.end
    return app


async def _page(request: Request) -> Response:
    page = (files("fsmdsl.editor.live") / "static" / "index.html").read_text("utf-8")
    return HTMLResponse(page.replace("{{ nonce }}", request.scope["fsm.nonce"]))


def _answering(live: Live, answer: Answer) -> Handler:
    """A question as JSON, answered in a thread of its own."""

    async def respond(request: Request) -> Response:
        return Json(await run_in_threadpool(answer, live, await _question(request)))

    return _guarded(respond)


def _guarded(respond: Handler) -> Handler:
    """An error becomes an answer with a sentence: a page must never be left without one."""

    async def guarded(request: Request) -> Response:
        try:
            return await respond(request)
        except Exception as error:
            status, content = refusal(error)
            return Json(content, status)

    return guarded


async def _question(request: Request) -> Data:
    try:
        question = await request.json()
    except ValueError as error:
        raise MisuseError("this is not JSON") from error
    except RecursionError as error:
        raise MisuseError("this JSON is nested too deeply") from error
    if not isinstance(question, dict):
        raise MisuseError("this is not an object")
    return question


def _verifying(live: Live, explorations: Explorations) -> Handler:
    async def respond(request: Request) -> Response:
        question = await _question(request)
        return StreamingResponse(
            explorations.events(await run_in_threadpool(job, live, question)), media_type="text/event-stream"
        )

    return _guarded(respond)
