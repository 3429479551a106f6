"""What a page asks, and the answers, whichever way a question comes: over HTTP (`app`) or from the page itself, in a
browser (`playground`).

Questions and answers are values that JSON knows. `QUESTIONS` has all but `verify`, whose answer is a stream.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsmdsl import model as m
from fsmdsl.draw.formats import TEXTS
from fsmdsl.editor.live.documents import ConflictError, Document, Documents, RefusedError
from fsmdsl.editor.live.language import Language
from fsmdsl.editor.live.loading import texts_of
from fsmdsl.editor.live.pictures import diagram, exported
from fsmdsl.editor.live.runs import GoneError, Runs
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.files.read import UnreadableError, check_size
from fsmdsl.text.source import Source

Data = dict[str, Any]

MAX_SECONDS = 3600.0
MAX_STATES = 1_000_000_000
LARGEST = 2**53
"""Maximum absolute value of numbers in a request: JavaScript represents integers exactly up to this one."""


class MisuseError(Exception):
    """A question that the page would not ask."""


class Live:
    """What answers need: which files there are, and the runs that pages walk through."""

    def __init__(self, paths: list[str]) -> None:
        self.documents = Documents(paths)
        self.language = Language(self.documents)
        self.runs = Runs()

    def model(self, request: Data, name: str) -> m.Model:
        """The model that has what the page means. Raises `GoneError`."""
        model = self.language.model(typed(request), name, documented=documented(request))
        if model is None:
            raise GoneError(f"there is no `{name}` in this text, or the text has errors; fix them first")
        return model


Answer = Callable[[Live, Data], Data]


def refusal(error: Exception) -> tuple[int, Data]:
    """The answer where there is none, as an HTTP status and a sentence."""
    match error:
        case ConflictError():
            return 409, {"error": str(error), "now": None if error.now is None else _document(error.now)}
        case RefusedError() | GoneError() | MisuseError():
            return 400, {"error": str(error)}
        case RecursionError():
            return 400, {"error": "this spec is nested too deeply; name the inner parts with `let`"}
        case _:
            return 500, {"error": f"internal error: {type(error).__name__}: {error}"}


def job(live: Live, request: Data) -> Data:
    """The question `verify` as `explorer` takes it. Raises `MisuseError`."""
    return {
        "texts": texts_of(live.documents, typed(request)),
        "system": word(request, "system"),
        "as_documented": documented(request),
        "seconds": _seconds(request),
        "states": max(1, min(number(request, "states", 10_000_000), MAX_STATES)),
    }


# Parts of questions --------------------------------------------------------------------------------------------------


def typed(request: Data) -> dict[str, str]:
    """What was typed and is in no file, by file. Raises `MisuseError`."""
    texts = request.get("texts", {})
    if not isinstance(texts, dict) or not all(isinstance(x, str) for x in texts.values()):
        raise MisuseError("`texts` must map file names to strings")
    for name, text in texts.items():
        try:
            check_size(text)
        except UnreadableError as error:
            raise MisuseError(f"`{name}`: {error}") from error
    return texts


def documented(request: Data) -> bool:
    """Are amendments left out?"""
    return bool(request.get("documented"))


def word(request: Data, name: str) -> str:
    """A part of a question that is a text. Raises `MisuseError`."""
    value = request.get(name)
    if not isinstance(value, str):
        raise MisuseError(f"`{name}` is missing")
    return value


def number(request: Data, name: str, default: int = 0) -> int:
    """A part of a question that is a whole number. Raises `MisuseError`."""
    value = request.get(name, default)
    if type(value) is not int or abs(value) > LARGEST:
        raise MisuseError(f"`{name}` must be a whole number of at most {LARGEST}")
    return value


def _seconds(request: Data) -> float:
    value = request.get("seconds") or 60
    if type(value) not in (int, float) or value != value:
        raise MisuseError("`seconds` must be a number")
    return float(max(0.1, min(value, MAX_SECONDS)))


# Files ---------------------------------------------------------------------------------------------------------------


def _document(d: Document) -> Data:
    return {"name": d.name, "text": d.text, "version": d.version}


def _files(live: Live, request: Data) -> Data:
    return {"files": [{"name": d.name, "version": d.version} for d in live.documents.every(anew=True)]}


def _read(live: Live, request: Data) -> Data:
    return _document(live.documents.read(word(request, "name")))


def _write(live: Live, request: Data) -> Data:
    written = live.documents.write(word(request, "name"), word(request, "text"), word(request, "base"))
    return {"name": written.name, "version": written.version}


def _create(live: Live, request: Data) -> Data:
    """A new file beside one that there is."""
    beside, name = word(request, "beside"), word(request, "name")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise MisuseError("a file's name can contain only letters, digits and `_`, and cannot begin with a digit")
    document = live.documents.create(Path(beside).parent, name, word(request, "text"))
    return {"name": document.name, "version": document.version}


# Text ----------------------------------------------------------------------------------------------------------------


def _analysis(live: Live, request: Data) -> Data:
    return live.language.analysis(typed(request), word(request, "file"), documented=documented(request))


def machine_of(live: Live, request: Data) -> m.Machine:
    """The machine that a question is about. Raises `GoneError`, `MisuseError`."""
    name = word(request, "machine")
    machine = live.model(request, name).machines.get(name)
    if machine is None:
        raise GoneError(f"`{name}` is not a machine")
    return machine


def _diagram(live: Live, request: Data) -> Data:
    machine, page_key = machine_of(live, request), request.get("known")
    drawn = diagram(
        machine,
        page_key if isinstance(page_key, str) else None,
        with_legend=bool(request.get("legend", True)),
        whole=bool(request.get("whole")),
    )
    return {"machine": machine.qualified, **drawn}


def _export(live: Live, request: Data) -> Data:
    """A machine in one of the languages for diagrams."""
    machine, form = machine_of(live, request), word(request, "form")
    text = exported(machine, form)
    if text is None:
        raise MisuseError(f"`form` must be one of {', '.join(TEXTS)}")
    return {"text": text}


def _complete(live: Live, request: Data) -> Data:
    return live.language.complete(typed(request), word(request, "file"), number(request, "at"))


def _hover(live: Live, request: Data) -> Data:
    return live.language.hover(typed(request), word(request, "file"), number(request, "at"))


def _format(live: Live, request: Data) -> Data:
    """A text as `fsm fmt` writes it; null where it has errors."""
    text = word(request, "text")
    typed({"texts": {"": text}})
    try:
        return {"text": format_source(parse(Source("typed", text)))}
    except ValueError:
        return {"text": None}


# Runs ----------------------------------------------------------------------------------------------------------------


def _start(live: Live, request: Data) -> Data:
    """A run of a system, or of a machine by itself."""
    kind = "system" if "system" in request else "machine"
    name = word(request, kind)
    model = live.model(request, name)
    steps = request.get("steps") or []
    if not isinstance(steps, list) or not all(isinstance(x, str) for x in steps):
        raise MisuseError("`steps` must be a list of strings")
    return live.runs.start(model, kind, name, request.get("trace"), number(request, "at"), steps)


def _take(live: Live, request: Data) -> Data:
    return live.runs.take(word(request, "id"), number(request, "at"), number(request, "number"), word(request, "text"))


def _move(live: Live, request: Data) -> Data:
    return live.runs.move(word(request, "id"), number(request, "at"))


def _why(live: Live, request: Data) -> Data:
    return {"told": live.runs.why(word(request, "id"), number(request, "at"), word(request, "text"))}


def _save_run(live: Live, request: Data) -> Data:
    """The run as a scenario in a new file beside the spec."""
    name = word(request, "name")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise MisuseError("a scenario's name can contain only letters, digits and `_`, and cannot begin with a digit")
    script, file = live.runs.script(word(request, "id"), number(request, "at"), name)
    document = live.documents.create(Path(file).parent, name, script.text)
    return {"name": document.name, "version": document.version, "cut": script.cut}


QUESTIONS: dict[str, Answer] = {
    "files": _files, "read": _read, "write": _write, "create": _create, "format": _format, "analysis": _analysis,
    "diagram": _diagram, "export": _export, "complete": _complete, "hover": _hover, "start": _start, "take": _take,
    "move": _move, "why": _why, "save-run": _save_run,
}  # fmt: skip
