"""The routes of the page: requests and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from fsmdsl import model as m
from fsmdsl.files.read import UnreadableError, check_size
from fsmdsl.live.documents import ConflictError, Document, Documents, RefusedError
from fsmdsl.live.guard import Guard
from fsmdsl.live.language import Language
from fsmdsl.live.loading import texts_of
from fsmdsl.live.pictures import diagram
from fsmdsl.live.runs import GoneError, Runs
from fsmdsl.live.verifying import Explorations

Data = dict[str, Any]
Answer = Callable[["Live", Data], Data]
Handler = Callable[[Request], Awaitable[Response]]

MOST_SECONDS = 3600.0
MOST_STATES = 1_000_000_000
LARGEST = 2**53
"""No number that a page sends is larger: it is the last whole one of JavaScript."""


class MisuseError(Exception):
    """A question that the page would not ask."""


class Json(Response):
    """An answer as JSON, in ASCII: a text may hold halves of characters, which UTF-8 cannot."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        """Compact. Raises `ValueError` for what JSON has no number for."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


class Live:
    """What a server knows: which files it serves, and the runs that pages walk through."""

    def __init__(self, paths: list[str]) -> None:
        self.documents = Documents(paths)
        self.language = Language(self.documents)
        self.runs = Runs()
        self.explorations = Explorations()

    def model(self, asked: Data, name: str) -> m.Model:
        """The model that has what the page means. Raises `GoneError`."""
        found = self.language.model(_typed(asked), name, documented=_documented(asked))
        if found is None:
            raise GoneError(f"there is no `{name}` in this text, or the text has errors; fix them first")
        return found


def application(paths: list[str], token: str, port: int) -> Starlette:
    """The whole server; `Guard` stands before every route. `state.end()` ends what would keep it from ending."""
    live = Live(paths)
    questions: dict[str, Answer] = {
        "files": _files, "read": _read, "write": _write, "analysis": _analysis, "diagram": _diagram,
        "complete": _complete, "hover": _hover, "start": _start, "take": _take, "move": _move,
        "why": _why, "save-run": _save_run,
    }  # fmt: skip
    routes: list[Route | Mount] = [Route("/", _page)]
    routes += [Route(f"/api/{name}", _answering(live, f), methods=["POST"]) for name, f in questions.items()]
    routes.append(Route("/api/verify", _verifying(live), methods=["POST"]))
    routes.append(Mount("/shared", StaticFiles(packages=[("fsmdsl.report", "static")])))
    routes.append(Mount("/static", StaticFiles(packages=[("fsmdsl.live", "static")])))
    app = Starlette(routes=routes, middleware=[Middleware(Guard, token=token, port=port)])
    app.state.end = live.explorations.end
    return app


async def _page(request: Request) -> Response:
    page = (files("fsmdsl.live") / "static" / "index.html").read_text("utf-8")
    return HTMLResponse(page.replace("{{ nonce }}", request.scope["fsm.nonce"]))


def _answering(live: Live, answer: Answer) -> Handler:
    """A question as JSON, answered in a thread of its own."""

    async def respond(request: Request) -> Response:
        return Json(await run_in_threadpool(answer, live, await _asked(request)))

    return _told(respond)


def _told(respond: Handler) -> Handler:
    """An error is answered in a sentence: a page must never be left without an answer."""

    async def told(request: Request) -> Response:
        try:
            return await respond(request)
        except ConflictError as error:
            now = None if error.now is None else _document(error.now)
            return Json({"error": str(error), "now": now}, 409)
        except (RefusedError, GoneError, MisuseError) as error:
            return Json({"error": str(error)}, 400)
        except RecursionError:
            return Json({"error": "this spec is nested too deeply; name the inner parts with `let`"}, 400)
        except Exception as error:
            return Json({"error": f"a mistake of fsm itself, not yours: {type(error).__name__}: {error}"}, 500)

    return told


async def _asked(request: Request) -> Data:
    try:
        asked = await request.json()
    except ValueError as error:
        raise MisuseError("this is not JSON") from error
    except RecursionError as error:
        raise MisuseError("this JSON is nested too deeply") from error
    if not isinstance(asked, dict):
        raise MisuseError("this is not an object")
    return asked


def _typed(asked: Data) -> dict[str, str]:
    typed = asked.get("texts", {})
    if not isinstance(typed, dict) or not all(isinstance(x, str) for x in typed.values()):
        raise MisuseError("`texts` are texts by file")
    for name, text in typed.items():
        try:
            check_size(text)
        except UnreadableError as error:
            raise MisuseError(f"`{name}`: {error}") from error
    return typed


def _documented(asked: Data) -> bool:
    return bool(asked.get("documented"))


def _word(asked: Data, name: str) -> str:
    value = asked.get(name)
    if not isinstance(value, str):
        raise MisuseError(f"`{name}` is missing")
    return value


def _number(asked: Data, name: str, default: int = 0) -> int:
    value = asked.get(name, default)
    if not isinstance(value, int) or abs(value) > LARGEST:
        raise MisuseError(f"`{name}` is not a whole number of at most {LARGEST}")
    return value


def _seconds(asked: Data) -> float:
    value = asked.get("seconds") or 60
    if not isinstance(value, int | float) or value != value:
        raise MisuseError("`seconds` is not a number")
    return float(max(0.1, min(value, MOST_SECONDS)))


# Files ---------------------------------------------------------------------------------------------------------------


def _document(d: Document) -> Data:
    return {"name": d.name, "text": d.text, "version": d.version}


def _files(live: Live, asked: Data) -> Data:
    return {"files": [{"name": d.name, "version": d.version} for d in live.documents.every(anew=True)]}


def _read(live: Live, asked: Data) -> Data:
    return _document(live.documents.read(_word(asked, "name")))


def _write(live: Live, asked: Data) -> Data:
    written = live.documents.write(_word(asked, "name"), _word(asked, "text"), _word(asked, "base"))
    return {"name": written.name, "version": written.version}


# Text ----------------------------------------------------------------------------------------------------------------


def _analysis(live: Live, asked: Data) -> Data:
    return live.language.told(_typed(asked), _word(asked, "file"), documented=_documented(asked))


def _diagram(live: Live, asked: Data) -> Data:
    name = _word(asked, "machine")
    machine = live.model(asked, name).machines.get(name)
    if machine is None:
        raise GoneError(f"`{name}` is no machine")
    known = asked.get("known")
    drawn = diagram(machine, known if isinstance(known, str) else None, with_legend=bool(asked.get("legend", True)))
    return {"machine": machine.qualified, **drawn}


def _complete(live: Live, asked: Data) -> Data:
    return live.language.complete(_typed(asked), _word(asked, "file"), _number(asked, "at"))


def _hover(live: Live, asked: Data) -> Data:
    return live.language.hover(_typed(asked), _word(asked, "file"), _number(asked, "at"))


# Runs ----------------------------------------------------------------------------------------------------------------


def _start(live: Live, asked: Data) -> Data:
    """A run of a system, or of a machine by itself."""
    kind = "system" if "system" in asked else "machine"
    name = _word(asked, kind)
    model = live.model(asked, name)
    trace = asked.get("trace")
    return live.runs.start(model, kind, name, trace, _number(asked, "at"))


def _take(live: Live, asked: Data) -> Data:
    at, number = _number(asked, "at"), _number(asked, "number")
    return live.runs.take(_word(asked, "id"), at, number, _word(asked, "text"))


def _move(live: Live, asked: Data) -> Data:
    return live.runs.move(_word(asked, "id"), _number(asked, "at"))


def _why(live: Live, asked: Data) -> Data:
    return {"told": live.runs.why(_word(asked, "id"), _number(asked, "at"), _word(asked, "text"))}


def _save_run(live: Live, asked: Data) -> Data:
    """The run as a scenario in a new file beside the spec."""
    name = _word(asked, "name")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise MisuseError("a scenario's name is letters, digits and `_`, and does not begin with a digit")
    script, file = live.runs.script(_word(asked, "id"), _number(asked, "at"), name)
    made = live.documents.create(Path(file).parent, name, script.text)
    return {"name": made.name, "version": made.version, "cut": script.cut}


# Explorations --------------------------------------------------------------------------------------------------------


def _verifying(live: Live) -> Handler:
    async def respond(request: Request) -> Response:
        asked = await _asked(request)
        job = {
            "texts": await run_in_threadpool(texts_of, live.documents, _typed(asked)),
            "system": _word(asked, "system"),
            "as_documented": _documented(asked),
            "seconds": _seconds(asked),
            "states": max(1, min(_number(asked, "states", 10_000_000), MOST_STATES)),
        }
        return StreamingResponse(live.explorations.events(job), media_type="text/event-stream")

    return _told(respond)
