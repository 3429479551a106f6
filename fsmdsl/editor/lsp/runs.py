"""Runs and diagrams as answers: for `commands`, which verifies systems, and `testable`, which plays scenarios."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from fsmdsl import model as m
from fsmdsl.editor.editing import Analysis
from fsmdsl.editor.lsp.edits import NotDoneError
from fsmdsl.editor.lsp.state import State
from fsmdsl.report.data import Data
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.diagnostics import Diagnostic


def analysis_of(state: State, uri: Any) -> Analysis:
    """What is known of the file that the first argument of a command names. Raises `NotDoneError`."""
    if not isinstance(uri, str) or state.document(uri) is None:
        raise NotDoneError("the first argument is the address of a spec")
    return state.analysis(uri)


async def svg(state: State, machine: m.Machine) -> Data:
    """Drawn in a process of its own, while other requests are answered."""
    loop = asyncio.get_running_loop()
    drawn = await loop.run_in_executor(None, partial(state.pictures.svg, machine))
    if isinstance(drawn, Diagnostic):
        return {"svg": None, "message": f"{drawn.message}: {drawn.advice}" if drawn.advice else drawn.message}
    return {"svg": drawn}


async def steps(state: State, model: m.Model | None, run: Mapping[str, Any]) -> Data:
    """A run (the data of a stepper) with the diagrams of its machines, without those that cannot be drawn, and its
    `sources`."""
    by_name = {} if model is None else model.machines
    machines = [by_name[name] for name in dict.fromkeys(x["machine"] for x in run["instances"]) if name in by_name]
    drawn = {x.qualified: (await svg(state, x))["svg"] for x in machines}
    pictures = {name: {"svg": picture, "prefix": ""} for name, picture in drawn.items() if picture is not None}
    return {"stepping": run, "diagrams": pictures, "sources": sources(state, model, run)}


def sources(state: State, model: m.Model | None, run: Mapping[str, Any]) -> list[Data | None]:
    """For each step of a run where its first transition is written: `{uri, range}`; None where none is followed."""
    by_name = {} if model is None else model.machines
    machines = [x["machine"] for x in run["instances"]]
    followed = [
        next(((machines[i], t) for i, t in x["followed"] if machines[i] in by_name), None) for x in run["steps"]
    ]
    spans = [None if x is None else in_file(by_name[x[0]].transitions[x[1]].span) for x in followed]
    return [None if x is None else place(state, x.source.name, x.start, x.end) for x in spans]


def place(state: State, path: str, start: int, end: int) -> Data:
    """A place in a file as it stands: `{uri, range}`, as plain data."""
    span = state.lines(path).range(start, end)
    ends = {"start": span.start, "end": span.end}
    return {
        "uri": state.uri(path),
        "range": {name: {"line": x.line, "character": x.character} for name, x in ends.items()},
    }
