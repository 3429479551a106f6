"""What a page sends to `fsm serve`: whatever it is, it has an answer, and that is never 500."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from door import DOOR
from hypothesis import strategies as st

from fsmdsl.draw.formats import TEXTS
from fsmdsl.editor.live.app import application
from fsmdsl.editor.live.verifying import Explorations
from fuzz.asking import ask, read
from fuzz.bodies import constant, objects
from fuzz.target import Target
from fuzz.texts import texts

TOKEN = "token"
HEADERS = (("host", "127.0.0.1:80"), ("x-fsm-token", TOKEN))


async def _no_process(self: Explorations, job: dict[str, Any]) -> AsyncIterator[str]:
    """What would be sent to a process, instead of a process."""
    line = json.dumps(job)
    assert "\n" not in line
    yield f"event: result\ndata: {json.dumps(json.loads(line))}\n\n"


@cache
def _served() -> tuple[Path, Any]:
    Explorations.events = _no_process  # type: ignore[method-assign]
    folder = Path(mkdtemp(prefix="fuzz-page-"))
    (folder / "door.fsm").write_text(DOOR)
    return folder, application([str(folder)], TOKEN, 80)


def _check(asked: list[dict[str, str]]) -> None:
    folder, app = _served()
    try:
        asyncio.run(_ask(folder, app, asked))
    finally:
        for path in folder.iterdir():
            if path.name != "door.fsm":
                path.unlink()
        if (folder / "door.fsm").read_bytes() != DOOR.encode():
            (folder / "door.fsm").write_text(DOOR)


async def _ask(folder: Path, app: Any, asked: list[dict[str, str]]) -> None:
    last = ""
    for x in asked:
        body = x["body"].replace("FOLDER", str(folder)).replace("LAST", last)
        status, answer = await ask(app, f"/api/{x['route']}", body, HEADERS)
        assert status < 500, (x["route"], status, answer[:2000])
        if x["route"] == "verify" and status == 200:
            assert answer.startswith(b"event: ")
            continue
        told = read(answer)
        assert isinstance(told, dict)
        assert status == 200 or isinstance(told["error"], str)
        last = told.get("id", last)


_file = constant("FOLDER/door.fsm", "FOLDER/new.fsm", "FOLDER/../door.fsm", "/etc/passwd", "door.fsm")
_typed = st.one_of(
    st.just("{}"),
    texts().map(lambda x: json.dumps({"FOLDER/door.fsm": x})),
    constant({"FOLDER/door.fsm": DOOR}, {"FOLDER/door.fsm": "\ud800"}, {"\ud800": "a"}),
)
_at = st.one_of(st.integers(-3, 400).map(str), st.just("0"))
_thing = constant("door.Door", "door.One", "One", "")
_flag = constant(True, False)
_run = {"id": st.just('"LAST"'), "at": _at}
_TRACE = '{"system": "door.One", "steps": [{"step": "door.push", "changes": {}}], "values": {}}'
_steps = constant(["door.push"], ["door.push", "\ud800"], [1], "door.push", [])
QUESTIONS: dict[str, dict[str, st.SearchStrategy[str]]] = {
    "files": {},
    "read": {"name": _file},
    "write": {"name": _file, "text": texts().map(json.dumps), "base": constant("", "0" * 32)},
    "create": {"beside": _file, "name": constant("more", "door", "../x", ""), "text": texts().map(json.dumps)},
    "format": {"text": texts().map(json.dumps)},
    "export": {"texts": _typed, "machine": _thing, "form": constant(*TEXTS, "svg")},
    "analysis": {"texts": _typed, "file": _file, "documented": _flag},
    "diagram": {"texts": _typed, "machine": _thing, "known": constant("", "x"), "legend": _flag, "documented": _flag},
    "complete": {"texts": _typed, "file": _file, "at": _at},
    "hover": {"texts": _typed, "file": _file, "at": _at},
    "start": {
        "texts": _typed,
        "system": _thing,
        "trace": st.sampled_from([_TRACE, "null"]),
        "at": _at,
        "steps": _steps,
    },
    "take": {**_run, "number": _at, "text": constant("door.push", "")},
    "move": _run,
    "why": {**_run, "text": constant("push", "door.push", "")},
    "save-run": {**_run, "name": constant("thrice", "door", "../x", "")},
    "verify": {"texts": _typed, "system": _thing, "documented": _flag, "seconds": _at, "states": _at},
}


def _question(route: str) -> st.SearchStrategy[dict[str, str]]:
    return objects(QUESTIONS[route]).map(lambda body: {"route": route, "body": body})


page = Target("page", st.lists(st.sampled_from(sorted(QUESTIONS)).flatmap(_question), min_size=1, max_size=6), _check)
