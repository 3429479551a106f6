"""What a test explorer lists and runs: the commands `fsm.tests` and `fsm.test`. Systems are run by `fsm.verify`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.budget import Budget, LimitError
from fsmdsl.editing.document import placed
from fsmdsl.explore import Played, play
from fsmdsl.explore.narrative import story
from fsmdsl.lsp.edits import NotDoneError
from fsmdsl.lsp.positions import path_of
from fsmdsl.lsp.state import QUICK_SECONDS, State
from fsmdsl.parse.parts import in_file
from fsmdsl.report.data import Data
from fsmdsl.report.exploration import played
from fsmdsl.report.stepping import stepping
from fsmdsl.source import Span


def on_tests(state: State, uri: Any = None, *_: Any) -> list[Data]:
    """The systems and scenarios of a file, or of all files: `{uri, module, tests: {kind, name, title, range}[]}` each.

    Read from the text alone: a file with errors has its tests, too.
    """
    paths = state.desk.paths if uri is None else [path_of(uri)] if isinstance(uri, str) else []
    return [x for path in paths if (x := _listed(state, path))["tests"]]


def _listed(state: State, path: str) -> Data:
    document = state.desk.document(path)
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
        place = _place(state, in_file(member.name.span))
        yield {"kind": kind, "name": member.name.text, "title": title, "range": place["range"]}


def on_test(state: State, uri: Any = None, name: Any = None, *_: Any) -> Data:
    """A scenario played: what `fsm test --format json` prints for it, with the run as `text`, `stepping` and
    `sources`; where it fails, also `failure`: `{uri, range, message, notes}`."""
    if not isinstance(uri, str) or state.document(uri) is None:
        raise NotDoneError("the first argument is the address of a spec")
    model = state.analysis(uri).model
    if model is None:
        raise NotDoneError("the specs have errors; fix those first")
    path = path_of(uri)
    scenarios = [x for x in model.scenarios.values() if x.span.source.name == path]
    found = next((x for x in scenarios if name in (x.name, x.qualified)), None)
    if found is None:
        known = ", ".join(f"`{x.name}`" for x in scenarios) or "none"
        raise NotDoneError(f"there is no scenario `{name}`; there are {known}")
    try:
        with Budget(QUICK_SECONDS):
            done = play(model, found)
    except LimitError as error:
        raise NotDoneError(f"`{found.name}`: {error}; `fsm test` plays it with other limits") from None
    return _played(state, model, done)


def _played(state: State, model: m.Model, done: Played) -> Data:
    title = f"{done.scenario.name} {done.scenario.title}".rstrip()
    run = stepping(done.trace, "run", title, "passed" if done.passed else "failed")
    answer: Data = {**played(done), "text": "\n".join(story(done.trace)), "heading": title, "stepping": run}
    answer["sources"] = sources(state, model, run)
    if done.failure is not None:
        failure = placed(done.failure)
        answer["failure"] = {**_place(state, failure.span), "message": failure.message, "notes": list(failure.notes)}
    return answer


def sources(state: State, model: m.Model, run: Mapping[str, Any]) -> list[Data | None]:
    """For each step of a run (the data of a stepper) where its first transition is written: `{uri, range}`; None where
    none is followed."""
    machines = [x["machine"] for x in run["instances"]]
    return [_source(state, model, machines, x["followed"]) for x in run["steps"]]


def _source(state: State, model: m.Model, machines: list[str], followed: list[list[int]]) -> Data | None:
    known = [(machines[instance], index) for instance, index in followed if machines[instance] in model.machines]
    if not known:
        return None
    machine, index = known[0]
    return _place(state, in_file(model.machines[machine].transitions[index].span))


def _place(state: State, span: Span) -> Data:
    """A place in a file as it stands, as the protocol has it, as plain data."""
    path = span.source.name
    found = state.lines(path).range(span.start, span.end)
    ends = {"start": found.start, "end": found.end}
    return {
        "uri": state.uri(path),
        "range": {name: {"line": x.line, "character": x.character} for name, x in ends.items()},
    }
