"""What the extension asks for beyond the protocol: `fsm/diagram`, and the commands `fsm.verify`, `fsm.draw`,
`fsm.trace`, `fsm.systems`. `testable` has `fsm.tests` and `fsm.test`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from lsprotocol import types as t
from pygls.exceptions import JsonRpcInvalidParams

from fsmdsl import model as m
from fsmdsl.editor.editing import Analysis
from fsmdsl.editor.editing.drawing import at_cursor, machine_at
from fsmdsl.editor.editing.findings import Explored, Findings, Mark
from fsmdsl.editor.lsp.edits import NotDoneError
from fsmdsl.editor.lsp.positions import path_of
from fsmdsl.editor.lsp.runs import analysis_of, place, sources, steps, svg
from fsmdsl.editor.lsp.state import State
from fsmdsl.report.data import Data, document

LARGEST = 2**31 - 1
"""The largest number of the protocol."""


async def on_diagram(state: State, params: Any) -> Data:
    """The machine at a place as SVG: `{title, svg, machine, state?, transitions?, message?, stale?}`.

    States have the ids `state-NAME`, edges the classes `transition-INDEX`.
    """
    where = t.TextDocumentPositionParams(
        t.TextDocumentIdentifier(str(_field(_field(params, "textDocument"), "uri"))),
        t.Position(_number(_field(params, "position"), "line"), _number(_field(params, "position"), "character")),
    )
    path = path_of(where.text_document.uri)
    if state.open_documents.document(path) is None:
        return {"title": "", "svg": None, "machine": None, "message": "there is no such file"}
    analysis = state.open_documents.analysis(path)
    offset = state.lines(path).offset(where.position)
    machine = machine_at(analysis, path, offset)
    if machine is None:
        why = "fix the errors first" if analysis.model is None else "there is no machine in this file"
        return {"title": "", "svg": None, "machine": None, "message": why}
    state_name, rows = at_cursor(machine, analysis, path, offset)
    answer: Data = {"title": machine.display, "machine": machine.qualified, "transitions": list(rows)}
    if state_name is not None:
        answer["state"] = state_name
    if analysis.model is None:
        answer["stale"] = True
    return answer | await svg(state, machine)


def _field(params: Any, name: str) -> Any:
    """A part of parameters that the protocol does not know the shape of."""
    value = params.get(name) if isinstance(params, dict) else getattr(params, name, None)
    if value is None:
        raise JsonRpcInvalidParams(f"`{name}` is missing")
    return value


def _number(params: Any, name: str) -> int:
    value = _field(params, name)
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise JsonRpcInvalidParams(f"`{name}` is not a number from 0 to {LARGEST:,}")
    return value


async def on_draw(state: State, uri: Any = None, machine: Any = None, *_: Any) -> Data:
    """A machine by its name: as `fsm/diagram`."""
    analysis = analysis_of(state, uri)
    model = analysis.model or analysis.earlier
    machines = [x for x in model.machines.values() if machine in (x.name, x.qualified)] if model is not None else []
    if not machines:
        raise NotDoneError(_missing(analysis, "machine", machine))
    answer: Data = {"title": machines[0].display, "machine": machines[0].qualified}
    return answer | await svg(state, machines[0])


async def on_verify(state: State, uri: Any = None, system: Any = None, *_: Any) -> Data:
    """A system explored: what `fsm verify --format json` prints, the same as `text`, and `violations`: for each verdict
    null, or `{uri, range, story, sources}` of what is violated."""
    explored, findings = await _explored(state, uri, system)
    marks = [_mark(state, x) for x in findings.marks if x.is_published]
    by_verdict = {
        x.verdict: x for x in findings.marks if x.system == f"{explored.data['module']}.{explored.data['name']}"
    }
    analysis = analysis_of(state, uri)
    model = analysis.model or analysis.earlier
    violations = [_violation(state, model, explored, n, by_verdict) for n in range(len(explored.data["verdicts"]))]
    content = {"systems": [explored.data], "diagnostics": marks, "text": explored.text, "violations": violations}
    return document("verify", content)


def _violation(
    state: State, model: m.Model | None, explored: Explored, n: int, by_verdict: Mapping[int | None, Mark]
) -> Data | None:
    """Where it is, and its run as text and as places; of the verdict at this place."""
    mark, run = by_verdict.get(n), explored.runs.get(n)
    if mark is None:
        return None
    places = [] if run is None else sources(state, model, run)
    return {**place(state, mark.path, mark.start, mark.end), "story": list(mark.story), "sources": places}


def _mark(state: State, x: Mark) -> Data:
    lines = state.lines(x.path)
    start, end = lines.position(x.start), lines.position(x.end)
    return {
        "code": x.code,
        "severity": str(x.severity),
        "message": x.message,
        "file": x.path,
        "line": start.line + 1,
        "column": start.character + 1,
        "end_line": end.line + 1,
        "end_column": end.character + 1,
        "notes": list(x.remarks),
    }


async def on_trace(state: State, uri: Any = None, system: Any = None, prop: Any = None, *_: Any) -> Data:
    """The verdict on a property (by its name, or as a report shows it) as `fsm verify` prints it, with its trace.

    Where a run breaks it, also `title`, `stepping` (what `report/static/stepper.js` shows), `diagrams` for it, and
    `sources`: where each step's transition is written.
    """
    explored = (await _explored(state, uri, system))[0]
    for n, v in enumerate(explored.data["verdicts"]):
        name = v["title"]
        if prop in (v["name"], name, f"{v['kind']} {v['name']}"):
            run = explored.runs.get(n)
            if run is None:
                return dict(v)
            analysis = analysis_of(state, uri)
            stepping = await steps(state, analysis.model or analysis.earlier, run)
            return {**v, "title": f"{explored.name}: {name}", **stepping}
    names = ", ".join(dict.fromkeys(f"`{v['name']}`" for v in explored.data["verdicts"]))
    raise NotDoneError(f"`{system}` has no property `{prop}`; it has {names}")


def on_systems(state: State, uri: Any = None, *_: Any) -> list[str]:
    """The systems of a file, by name."""
    analysis = analysis_of(state, uri)
    model = analysis.model or analysis.earlier
    path = path_of(uri)
    return [] if model is None else [x.name for x in model.systems.values() if x.span.source.name == path]


async def _explored(state: State, uri: Any, system: Any) -> tuple[Explored, Findings]:
    analysis = analysis_of(state, uri)
    if analysis.model is None:
        raise NotDoneError("the specs have errors; fix those first")
    names = [x.qualified for x in analysis.model.systems.values() if system in (x.name, x.qualified)]
    if not names:
        raise NotDoneError(_missing(analysis, "system", system))
    try:
        findings = await state.explored(analysis, names[0])
    except asyncio.CancelledError:
        raise NotDoneError("another system is verified now") from None
    if names[0] not in findings.systems:
        raise NotDoneError("the specs have changed; try again")
    return findings.systems[names[0]], findings


def _missing(analysis: Analysis, kind: str, name: Any) -> str:
    model = analysis.model or analysis.earlier
    declarations = () if model is None else (model.systems if kind == "system" else model.machines).values()
    names = ", ".join(f"`{x.name}`" for x in declarations)
    return f"there is no {kind} `{name}`; " + (f"there are {names}" if names else f"the file has no {kind}")
