"""What a test explorer lists and runs: the commands `fsm.tests` and `fsm.test`. Systems are run by `fsm.verify`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.editor.editing.document import placed
from fsmdsl.editor.lsp.edits import NotDoneError
from fsmdsl.editor.lsp.positions import path_of
from fsmdsl.editor.lsp.runs import analysis_of, place, sources, steps
from fsmdsl.editor.lsp.state import QUICK_SECONDS, State
from fsmdsl.report.data import Data
from fsmdsl.report.exploration import played
from fsmdsl.report.stepping import stepping
from fsmdsl.runs.narrative import story
from fsmdsl.search import Played, play
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.budget import Budget, LimitError


def on_tests(state: State, uri: Any = None, *_: Any) -> list[Data]:
    """The systems and scenarios of a file, or of all files: `{uri, module, tests: {kind, name, title, range}[]}` each.

    Read from the text alone: a file with errors has its tests, too.
    """
    paths = state.open_documents.paths if uri is None else [path_of(uri)] if isinstance(uri, str) else []
    return [x for path in paths if (x := _scenarios(state, path))["tests"]]


def _scenarios(state: State, path: str) -> Data:
    document = state.open_documents.document(path)
    members: Sequence[s.ModuleMember] = () if document is None else document.module.members
    return {
        "uri": state.uri(path),
        "module": "" if document is None else document.name,
        "tests": [x for member in members for x in _test(state, member)],
    }


def _test(state: State, member: s.ModuleMember) -> Iterator[Data]:
    match member:
        case s.SystemDecl():
            kind, title = "system", ""
        case s.ScenarioDecl():
            kind, title = "scenario", member.title.text if member.title is not None else ""
        case _:
            return
    if member.name.text:
        here = in_file(member.name.span)
        where = place(state, here.source.name, here.start, here.end)
        yield {"kind": kind, "name": member.name.text, "title": title, "range": where["range"]}


async def on_test(state: State, uri: Any = None, name: Any = None, *_: Any) -> Data:
    """A scenario played: what `fsm test --format json` prints for it, with the run as `text`, `stepping` and
    `sources`; where it fails also `diagrams` and `failure`: `{uri, range, message, notes}`."""
    model = analysis_of(state, uri).model
    if model is None:
        raise NotDoneError("the specs have errors; fix those first")
    path = path_of(uri)
    scenarios = [x for x in model.scenarios.values() if x.span.source.name == path]
    scenario = next((x for x in scenarios if name in (x.name, x.qualified)), None)
    if scenario is None:
        names = ", ".join(f"`{x.name}`" for x in scenarios) or "none"
        raise NotDoneError(f"there is no scenario `{name}`; there are {names}")
    try:
        with Budget(QUICK_SECONDS):
            done = play(model, scenario)
    except LimitError as error:
        raise NotDoneError(f"`{scenario.name}`: {error}; `fsm test` plays it with other limits") from None
    return await _played(state, model, done)


async def _played(state: State, model: m.Model, done: Played) -> Data:
    title = f"{done.scenario.name} {done.scenario.title}".rstrip()
    run = stepping(done.trace, "run", title, "passed" if done.passed else "failed")
    answer: Data = {**played(done), "heading": title, "text": "\n".join(story(done.trace))}
    if done.failure is None:
        return {**answer, "stepping": run, "sources": sources(state, model, run)}
    failure = placed(done.failure)
    where = place(state, failure.span.source.name, failure.span.start, failure.span.end)
    failure_data = {**where, "message": failure.message, "notes": list(failure.notes)}
    return {**answer, **await steps(state, model, run), "failure": failure_data}
