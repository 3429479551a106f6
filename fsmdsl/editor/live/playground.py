"""The live page without a server: its questions answered by Python inside the browser (Pyodide), in a worker.

Files are in the file system that such a Python has in memory. There are no processes and no threads: Graphviz runs
beside it, so a diagram takes two questions (`diagram`, then `drawn`), and an exploration runs in a worker of its own.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from shutil import rmtree
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from fsmdsl.editor.live import explorer
from fsmdsl.editor.live.documents import RefusedError
from fsmdsl.editor.live.pictures import Sketch, as_text, sketch
from fsmdsl.editor.live.questions import QUESTIONS, Data, Live, job, machine_of, refusal, word
from fsmdsl.editor.live.runs import GoneError
from fsmdsl.runs.verdicts.verdict import Means
from fsmdsl.text.budget import resident
from fsmdsl.text.files.read import UnreadableError, check_size

FOLDER = "specs"

MEMORY = 1 << 30
"""Bytes that an exploration may take: a browser grants a page 2 to 4 GiB."""

MAX_FILES = 100

_NAME = re.compile(r"(?:\w[\w-]*/){0,8}\w[\w-]*\.fsm", re.ASCII)

README = """\
# A project from the fsmdsl playground

    pip install 'fsmdsl[fast,svg]'
    fsm check specs      # what is wrong, without running anything
    fsm test specs       # run the scenarios
    fsm verify specs     # every state of the systems
    fsm draw specs       # diagrams
    fsm generate specs   # Python classes
    fsm serve specs      # this page, on your machine
"""


class Playground:
    """A project, and what a page knows of it."""

    def __init__(self, folder: str = FOLDER) -> None:
        self._folder = folder
        self._live = Live([folder])
        self._sketches: dict[str, tuple[Sketch, Data]] = {}

    def answer(self, name: str, question: str) -> str:
        """The answer to a question of the page, both as JSON: a status as HTTP has them, and what there is to say."""
        own: dict[str, Callable[[Data], Data]] = {
            "open": self._open, "project": self._project, "zip": self._zip,
            "diagram": self._diagram, "drawn": self._drawn, "job": self._job,
        }  # fmt: skip
        try:
            request = json.loads(question)
            answer = own[name](request) if name in own else QUESTIONS[name](self._live, request)
            return json.dumps([200, answer])
        except Exception as error:
            return json.dumps(list(refusal(error)))

    def _open(self, request: Data) -> Data:
        """A project in the place of the one before: `files`, texts by name below the folder. They may come from a link
        that anybody has made. Where one is refused, the project before stays."""
        files = request.get("files")
        if not isinstance(files, dict) or not 1 <= len(files) <= MAX_FILES:
            raise RefusedError(f"a project must have 1 to {MAX_FILES} files")
        data = {name: _checked(name, text) for name, text in files.items()}
        rmtree(self._folder, ignore_errors=True)
        for name, content in data.items():
            path = Path(self._folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        self._live = Live([self._folder])
        return {}

    def _diagram(self, request: Data) -> Data:
        """`dot` for Graphviz and a `key` under which `drawn` takes its SVG; or that all is as it was."""
        machine = machine_of(self._live, request)
        picture = sketch(machine, with_legend=bool(request.get("legend", True)))
        if picture.key == request.get("known"):
            return {"machine": machine.qualified, "key": picture.key, "same": True}
        self._sketches = dict([*self._sketches.items(), (picture.key, (picture, as_text(machine, "", None)))][-32:])
        return {"machine": machine.qualified, "key": picture.key, "dot": picture.text}

    def _drawn(self, request: Data) -> Data:
        """What Graphviz has drawn as the page shows it; without `svg`, Mermaid text and the `message` why."""
        key = word(request, "key")
        if key not in self._sketches:
            raise GoneError("this picture is no longer available; request it again")
        picture, text = self._sketches[key]
        if "svg" not in request:
            return {**text, "message": word(request, "message")}
        return picture.answer(picture.drawn(word(request, "svg")), whole=bool(request.get("whole")))

    def _project(self, request: Data) -> Data:
        """The texts of all files, by name below the folder."""
        return {"files": self._texts()}

    def _texts(self) -> dict[str, str]:
        return {str(Path(d.name).relative_to(self._folder)): d.text for d in self._live.documents.every(anew=True)}

    def _zip(self, request: Data) -> Data:
        """The project as an archive, in base 64."""
        buffer = BytesIO()
        with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
            for name, text in {"README.md": README, **{f"specs/{x}": y for x, y in self._texts().items()}}.items():
                archive.writestr(ZipInfo(f"fsm-project/{name}"), text.encode("utf-8"), ZIP_DEFLATED)
        return {"zip": b64encode(buffer.getvalue()).decode("ascii")}

    def _job(self, request: Data) -> Data:
        """What `explore` is to be called with, in another worker."""
        return job(self._live, request)


def _checked(name: str, text: object) -> bytes:
    if not _NAME.fullmatch(name) or len(name) > 200:
        raise RefusedError(f"`{name}` is not the name of a file in a project: letters, digits, `_`, `-`, then `.fsm`")
    if not isinstance(text, str):
        raise RefusedError(f"`{name}` must be a string")
    try:
        check_size(text)
        return text.encode("utf-8")
    except (UnreadableError, ValueError) as error:
        raise RefusedError(f"`{name}`: {error}") from error


def explore(request: str, tell: Callable[[str, str], None]) -> None:
    """Explore for a `job` as JSON; `tell` gets the events of `explorer.answer`, their contents as JSON."""
    explorer.answer(
        json.loads(request),
        lambda event, content: tell(event, json.dumps(content)),
        resident() + MEMORY,
        Means(compiled=False),
    )
