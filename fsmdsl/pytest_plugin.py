"""Specs as tests: pytest collects `*.fsm` files, with an item for the checks, each scenario and each property.

It is found by itself where fsmdsl is installed; `-p no:fsm` turns it off. Nothing of the toolkit is imported before the
first spec is collected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from fsmdsl import model as m
    from fsmdsl.model.workspace import Loaded
    from fsmdsl.search import Exploration, Verdict
    from fsmdsl.text.source import Span


class WrongError(Exception):
    """What a spec's item fails with: text that says it all."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Register the options of the plugin."""
    group = parser.getgroup("fsm", "state machine specs")
    group.addoption("--fsm-as-documented", action="store_true", help="ignore amendments in specs")
    group.addoption(
        "--fsm-follow-links", action="store_true", help="also follow links that point outside the current folder"
    )
    parser.addini("fsm_max_states", "maximum number of states to explore per system", default="")
    parser.addini("fsm_max_seconds", "time limit in seconds for the exploration of each system", default="")


def pytest_collect_file(parent: pytest.Collector, file_path: Path) -> pytest.Collector | None:
    """A spec; one of a folder of studies only where that is named."""
    if file_path.suffix != ".fsm" or _passed_over(parent.session, file_path):
        return None
    return SpecFile.from_parent(parent, path=file_path)


def _passed_over(session: pytest.Session, path: Path) -> bool:
    from fsmdsl.model.workspace import STUDY_FOLDER

    for inner in (path, *path.parents):
        if session.isinitpath(inner):
            return False
        if inner.name == STUDY_FOLDER:
            return True
    return False


class SpecFile(pytest.File):
    """One `.fsm` file, with what it imports."""

    @cached_property
    def loaded(self) -> Loaded:
        """What was read."""
        from fsmdsl.model.workspace import load

        options = {name: self.config.getoption(f"fsm_{name}") for name in ("as_documented", "follow_links")}
        return load([self.path], **options)

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The checks, the scenarios, and the systems with what is asked of them."""
        yield SpecItem.of(self, "check", 0, self._check)
        model = self.loaded.model
        if model is None:
            return
        for scenario in (x for x in model.scenarios.values() if x.module in self.loaded.root_modules):
            yield SpecItem.of(self, scenario.name, _line(scenario.span), _playing(model, scenario))
        for system in (x for x in model.systems.values() if x.module in self.loaded.root_modules):
            yield SystemCollector.from_parent(self, name=system.name, system=system)

    def _check(self) -> None:
        from fsmdsl.check import check
        from fsmdsl.report.frames import frames
        from fsmdsl.text.diagnostics import Severity, ordered

        own = str(self.path)
        diagnostics = list(self.loaded.diagnostics)
        if self.loaded.model is not None:
            diagnostics += (d for d in check(self.loaded.model) if d.span.source.name == own)
        serious = [d for d in ordered(diagnostics) if d.severity >= Severity.WARNING]
        if serious:
            raise WrongError(frames(serious))


def _playing(model: m.Model, scenario: m.Scenario) -> Callable[[], None]:
    def run() -> None:
        from fsmdsl.report.frames import frame
        from fsmdsl.search import lines, play

        done = play(model, scenario)
        if done.failure is not None:
            raise WrongError("\n".join([scenario.title, *lines(done.trace), frame(done.failure)]))

    return run


class SystemCollector(pytest.Collector):
    """A system, explored once, when the first of its items runs."""

    def __init__(self, system: m.System, **rest: Any) -> None:
        super().__init__(**rest)
        self.system = system

    @property
    def model(self) -> m.Model:
        """The model of the file."""
        assert isinstance(self.parent, SpecFile), "collected by one"
        assert self.parent.loaded.model is not None, "otherwise nothing would have been collected"
        return self.parent.loaded.model

    def collect(self) -> Iterator[pytest.Item]:
        """An item for each question, in the order of `fsm verify`."""
        from fsmdsl.runs.search_result import questions
        from fsmdsl.step import Universe

        by_key = {q.key: q for q in questions(Universe(self.model, self.system)) if q.kind != "premise"}
        for q in by_key.values():
            run = self._asking(q.kind, q.name, q.key.machine or None)
            yield SpecItem.of(self, f"{q.kind} {q.name}", _line(q.declaration.span), run)
        line = _line(self.system.span)
        yield SpecItem.of(self, "no step fails", line, self._asking("fault"))
        yield SpecItem.of(self, "no deadlock", line, self._asking("deadlock"))
        for p in self.system.properties:
            yield SpecItem.of(self, f"property {p.name}", _line(p.span), self._asking("property", p.name))
        other = self.system.refines
        if other is not None:
            yield SpecItem.of(self, f"refines {other.path}", _line(other.span), self._asking("refinement"))

    @cached_property
    def explored(self) -> Exploration:
        """Everything that can happen in it, as far as the limits go."""
        from fsmdsl.runs.replay import simplest
        from fsmdsl.search import Limits, explore

        states, seconds = (self._limit(name) for name in ("fsm_max_states", "fsm_max_seconds"))
        limits = Limits(None if states is None else int(states), seconds)
        return simplest(explore(self.model, self.system, limits), self.model)

    def _limit(self, name: str) -> float | None:
        text = str(self.config.getini(name))
        try:
            return float(text) if text else None
        except ValueError:
            raise pytest.UsageError(f"{name} must be a number, not {text!r}") from None

    def _asking(self, kind: str, name: str | None = None, machine: str | None = None) -> Callable[[], None]:
        def run() -> None:
            answers = [
                v for v in self.explored.verdicts if v.kind == kind and v.machine == machine and name in (None, v.name)
            ]
            assert answers, "every question has an answer"
            self._judge([v for v in answers if v.outcome != "holds"])

        return run

    def _judge(self, against: list[Verdict]) -> None:
        from fsmdsl.dataclasses import replace
        from fsmdsl.report.exploration import details

        if against:
            # Of all that the exploration has found, this item tells what it is about.
            lines = details(replace(self.explored, verdicts=tuple(against), note=None), self.model)
            raise WrongError("\n".join(lines))


class SpecItem(pytest.Item):
    """Something that a spec claims."""

    def __init__(self, line: int, run: Callable[[], None], **rest: Any) -> None:
        super().__init__(**rest)
        self.line = line
        self._run = run

    @classmethod
    def of(cls, parent: pytest.Collector, name: str, line: int, run: Callable[[], None]) -> SpecItem:
        """One of a file or system; `line` counts from 0."""
        item: SpecItem = cls.from_parent(parent, name=name, line=line, run=run)
        return item

    def runtest(self) -> None:
        """Raises `WrongError` where the claim is wrong, or could not be decided."""
        self._run()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any) -> Any:
        """The text alone: where in pytest it was raised is of no interest."""
        if not isinstance(excinfo.value, WrongError):
            return super().repr_failure(excinfo, *args)
        representation = excinfo.getrepr(style="value")
        if (place := representation.reprcrash) is not None:
            # The summary says this alone; where `CI` is set, pytest would repeat the whole run there.
            place.path, place.lineno = str(self.path), self.line + 1
            place.message = str(excinfo.value).strip().partition("\n")[0]
        return representation

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where the claim stands."""
        return self.path, self.line, self.nodeid.partition("::")[2].replace("::", " ")


def _line(span: Span) -> int:
    """Counted from 0."""
    return span.source.position(span.start)[0] - 1
