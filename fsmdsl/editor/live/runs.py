"""Runs that pages step through. The server keeps the last `MAX_RUNS`; a page whose run was dropped starts again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from secrets import token_urlsafe
from typing import Any

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.editor.live.pictures import bare
from fsmdsl.editor.live.session_view import here, view
from fsmdsl.report.as_scenario import Script, as_scenario
from fsmdsl.report.chart import chart
from fsmdsl.runs.simulation import (
    NoSuchError,
    ReplayError,
    Session,
    begin,
    called,
    choices,
    chosen,
    replayed,
    subject,
    why_not,
)
from fsmdsl.step import TooManyValuesError, Universe, enabled
from fsmdsl.step.describe import describe, fault_message

Data = dict[str, Any]

MAX_RUNS = 100
"""Maximum number of runs that the server keeps."""

MAX_CHART_STEPS = 300
"""Maximum number of steps of a run that is drawn as a sequence diagram."""


class GoneError(Exception):
    """A run is not kept any more, or cannot be walked as asked; the message says why."""


@dataclass(frozen=True, slots=True)
class Run:
    """A session, and the file that declares what it walks through."""

    session: Session
    file: str


class Runs:
    """By a name that only the page knows."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, Run] = OrderedDict()

    def start(
        self, model: m.Model, kind: str, what: str, trace: Data | None, at: int, steps: Sequence[str] = ()
    ) -> Data:
        """A new run of a `system` or `machine`, or one along a trace that an exploration has found, or one that takes
        `steps` as far as they are possible. Raises `GoneError`."""
        try:
            around = subject(model, **{kind: what})
            if trace is None:
                session = _along(begin(model, around), steps).moved(at)
            else:
                session = replayed(Universe(model, around), trace).moved(at)
        except (NoSuchError, ReplayError) as error:
            raise GoneError(str(error)) from error
        name = token_urlsafe(12)
        self._keep(name, Run(session, around.span.source.name))
        return {"id": name, **_view(name, session)}

    def take(self, name: str, at: int, number: int, text: str) -> Data:
        """Take a step that was offered at a place of the run. Raises `GoneError`."""
        run = self._run(name)
        session = run.session.moved(at).settled()
        choice = next((c for c in choices(session).choices if c.number == number), None)
        if choice is None or choice.text != text:
            raise GoneError(f"`{text}` is no longer possible here")
        session = chosen(session, choice)
        self._keep(name, replace(run, session=session))
        return _view(name, session)

    def move(self, name: str, at: int) -> Data:
        """What is so at a place of the run, which stays as it is. Raises `GoneError`."""
        return here(self._run(name).session.moved(at))

    def why(self, name: str, at: int, text: str) -> list[str]:
        """Why something is not possible at a place of the run. Raises `GoneError`."""
        session = self._run(name).session.moved(at).settled()
        return why_not(session.universe, session.world, text)

    def script(self, name: str, at: int, scenario: str) -> tuple[Script, str]:
        """The run up to a place as a scenario, and the file that declares its system. Raises `GoneError`."""
        run = self._run(name)
        return as_scenario(run.session.moved(at).trace, scenario), run.file

    def _run(self, name: str) -> Run:
        try:
            self._runs.move_to_end(name)
            return self._runs[name]
        except KeyError as error:
            raise GoneError("this run is no longer available; start it again") from error

    def _keep(self, name: str, run: Run) -> None:
        self._runs[name] = run
        self._runs.move_to_end(name)
        while len(self._runs) > MAX_RUNS:
            self._runs.popitem(last=False)


def _along(session: Session, steps: Sequence[str]) -> Session:
    """The steps with these texts, one after the other, up to the first that is not possible."""
    for text in steps:
        universe, world = session.universe, session.world
        try:
            step = next((x for x in enabled(universe, world) if describe(universe, x, world) == text), None)
        except TooManyValuesError:
            return session
        if step is None:
            return session
        session = session.took(step)
    return session


def _view(name: str, session: Session) -> Data:
    title = called(session.universe.system, session.universe.model)
    drawn = None
    if 0 < len(session.entries) <= MAX_CHART_STEPS:
        drawn = bare(as_svg(chart(title, session.whole)))
    begins = session.universe.fault
    return {
        **view(session, name, title),
        "machines": list(dict.fromkeys(x.qualified for x in session.universe.machines)),
        "chart": drawn,
        "impossible": None if begins is None else fault_message(session.universe, begins),
    }
