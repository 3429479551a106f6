"""Specs in a notebook: load them, and what a cell returns shows itself.

    from fsmdsl.notebook import load

    specs = load("specs/hived")
    specs.machine("Cell")               # a diagram
    specs.check()                       # what is wrong
    specs.verify("PreemptionSmall")     # what holds, and the run to what does not

Every object has three forms, of which a notebook takes the best that it can show: SVG, where it is one picture and can
be drawn; Markdown, with diagrams as Mermaid; plain text.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fsmdsl import check as checks
from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.draw.detail import detailed
from fsmdsl.draw.formats import BY_NAME
from fsmdsl.draw.graph import graph_of
from fsmdsl.draw.mermaid import mermaid
from fsmdsl.draw.sequence import Sequence as Chart
from fsmdsl.draw.sequence import as_mermaid
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.draw.svg import picture
from fsmdsl.model.workspace import load as load_files
from fsmdsl.report import compare as versions
from fsmdsl.report.chart import chart, violation
from fsmdsl.report.compare.as_markdown import as_markdown
from fsmdsl.report.compare.render_text import lines
from fsmdsl.report.exploration import details, never_followed_lines, summary
from fsmdsl.report.formats.check_results import from_check
from fsmdsl.report.formats.gather import from_verify
from fsmdsl.report.formats.markdown import cell, fenced, markdown, text
from fsmdsl.report.frames import frames, tally
from fsmdsl.runs.narrative import story
from fsmdsl.runs.replay import simplest
from fsmdsl.search import Exploration, Limits, Played, Verdict, diagnostics, explore, play
from fsmdsl.syntax.settings import given_settings
from fsmdsl.text.diagnostics import Diagnostic, Severity, did_you_mean, ordered

T = TypeVar("T")


class SpecError(Exception):
    """Specs that cannot be used; the message is what `fsm check` prints. A notebook shows that, and no traceback."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(frames(diagnostics))
        self.diagnostics = tuple(diagnostics)

    def _render_traceback_(self) -> list[str]:
        """What IPython prints instead of a traceback."""
        return str(self).splitlines()


class Displayable:
    """An object that a notebook displays as text, Markdown or SVG."""

    def text(self) -> str:
        """For a terminal."""
        raise NotImplementedError

    def markdown(self) -> str:
        """For a notebook that can draw Mermaid, and for documents."""
        raise NotImplementedError

    def svg(self) -> str | None:
        """For any notebook; None where it is no single picture, or there is nothing to draw it with."""
        return None

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(
        self, include: Collection[str] | None = None, exclude: Collection[str] | None = None
    ) -> dict[str, str]:
        """All forms; a notebook may say which it wants."""
        renderers = {"text/plain": self.text, "text/markdown": self.markdown, "image/svg+xml": self.svg}
        forms = (form for form in renderers if (not include or form in include) and form not in (exclude or ()))
        return {form: content for form in forms if (content := renderers[form]()) is not None}


def load(*paths: Path | str, as_documented: bool = False, sizes: Mapping[str, object] | None = None) -> Specs:
    """Read specs: files, or folders with all in them. `sizes` replace sizes and parameters of systems: `{"groups": 4}`.
    Raises `SpecError` where something in them is wrong, `ValueError` for a size that there is not."""
    settings = given_settings(f"{name}={value}" for name, value in (sizes or {}).items())
    loaded = load_files(paths or ["specs"], as_documented=as_documented, settings=settings)
    if loaded.model is None:
        raise SpecError([d for d in loaded.diagnostics if d.severity is Severity.ERROR])
    if loaded.unanswered:
        raise ValueError("; ".join(loaded.unanswered.values()))
    return Specs(loaded.model, loaded.root_modules)


@dataclass(frozen=True, repr=False)
class Specs(Displayable):
    """Everything that was loaded."""

    model: m.Model
    root_modules: frozenset[str]
    """The modules that were named, apart from those that came by import."""

    def machine(self, name: str) -> Drawing:
        """The diagram of a machine, by its name or `module.Name`."""
        return Drawing(_lookup("machine", name, self.model.machines))

    def graph(self, name: str) -> Any:
        """A machine as a `MultiDiGraph` of networkx: see `fsmdsl.graphs.machine`."""
        from fsmdsl import graphs

        return graphs.machine(_lookup("machine", name, self.model.machines))

    def states(self, name: str, most: int = 10_000) -> Any:
        """The states of a system as a `MultiDiGraph` of networkx: see `fsmdsl.graphs.states`."""
        from fsmdsl import graphs

        return graphs.states(self.model, _lookup("system", name, self.model.systems), most)

    def check(self) -> Findings:
        """What is wrong, or may be."""
        return Findings(tuple(ordered(checks.check(self.model))))

    def verify(self, *names: str, states: int | None = None, seconds: float | None = None) -> Answers:
        """Explore systems, all if none is named, and say what holds; each up to so many states and seconds."""
        systems = [_lookup("system", name, self.model.systems) for name in names] or list(self.model.systems.values())
        limits = Limits(states, seconds)
        return Answers(self.model, tuple(simplest(explore(self.model, x, limits), self.model) for x in systems))

    def scenario(self, name: str) -> Run:
        """A worked example, played."""
        played = play(self.model, _lookup("scenario", name, self.model.scenarios))
        return Run(f"{played.scenario.qualified}: {played.scenario.title}", played)

    def diff(self, newer: Specs) -> Changes:
        """What has changed from these specs to newer ones."""
        return Changes(versions.compare(self.model, newer.model))

    def text(self) -> str:
        """A line for each machine and system."""
        return "\n".join(f"{kind:<8} {name}: {what}" for kind, name, what in self._rows())

    def markdown(self) -> str:
        """The same as a table."""
        rows = (f"| {kind} | {cell(f'`{name}`')} | {cell(what)} |" for kind, name, what in self._rows())
        return "\n".join(["| | | |", "| --- | --- | --- |", *rows])

    def _rows(self) -> list[tuple[str, str, str]]:
        mine = [x for x in self.model.modules if x.name in self.root_modules]
        machines = ((y.qualified, len(y.states), len(y.transitions)) for x in mine for y in x.machines)
        systems = ((y.qualified, ", ".join(i.name for i in y.instances)) for x in mine for y in x.systems)
        rows = [("machine", name, f"{states} states, {rows} transitions") for name, states, rows in machines]
        return [*rows, *(("system", name, instances) for name, instances in systems)]


def _lookup(kind: str, name: str, declarations: Mapping[str, T]) -> T:
    """By qualified name, else by the name alone."""
    matches = [x for qualified, x in declarations.items() if name in (qualified, qualified.rpartition(".")[2])]
    if not matches:
        suggestion = did_you_mean(name, [x.rpartition(".")[2] for x in declarations])
        advice = suggestion or f"there are {', '.join(declarations) or 'none'}"
        raise ValueError(f"there is no {kind} `{name}`; {advice}")
    return matches[0]


@dataclass(frozen=True, repr=False)
class Drawing(Displayable):
    """A machine as a diagram."""

    machine: m.Machine

    def text(self) -> str:
        """Its transitions."""
        rows = (f"  {t.name}: {t.source} -> {t.target or t.source}" for t in self.machine.transitions)
        return "\n".join([f"machine {self.machine.qualified}", *rows])

    def markdown(self) -> str:
        """Mermaid."""
        return fenced(mermaid(detailed(BY_NAME["mermaid"].graph(self.machine))).rstrip(), "mermaid")

    def svg(self) -> str | None:
        """By Graphviz, where that is installed."""
        drawn = picture(detailed(graph_of(self.machine)), "svg")
        return None if isinstance(drawn, Diagnostic) else drawn.decode("utf-8")


@dataclass(frozen=True, repr=False)
class Findings(Displayable):
    """Diagnostics; notes are shown too."""

    diagnostics: tuple[Diagnostic, ...]

    def text(self) -> str:
        """As `fsm check` prints them."""
        return f"{frames(self.diagnostics)}{tally(self.diagnostics) or 'clean'}"

    def markdown(self) -> str:
        """As in a pull request."""
        return markdown(from_check(self.diagnostics, self.diagnostics, (), tally(self.diagnostics) or "clean"))


@dataclass(frozen=True, repr=False)
class Answers(Displayable):
    """What exploring systems has found. `runs` are those to what is violated, each of which shows itself."""

    model: m.Model = field(repr=False)
    explored: tuple[Exploration, ...]

    @property
    def runs(self) -> tuple[Run, ...]:
        """Counterexamples, the simplest there are."""
        violated = ((x, v) for x in self.explored for v in x.violations)
        return tuple(Run(f"{x.system.qualified}: {v.label}", v) for x, v in violated if v.trace is not None)

    def text(self) -> str:
        """As `fsm verify` prints it."""
        return "\n".join(
            line
            for x in self.explored
            for line in (summary(x), *details(x, self.model), *never_followed_lines(x, self.model))
        )

    def markdown(self) -> str:
        """As in a pull request."""
        return markdown(from_verify(self.explored, self.model, diagnostics(*self.explored), {}))


@dataclass(frozen=True, repr=False)
class Run(Displayable):
    """A run, step by step."""

    title: str
    shown: Verdict | Played

    def text(self) -> str:
        """With all that each step causes."""
        trace = self.shown.trace
        assert trace is not None
        return "\n".join([self.title, *story(trace), *self._why()])

    def markdown(self) -> str:
        """The text, and a sequence diagram."""
        parts = [f"**{text(self.title)}**", fenced("\n".join(self.text().splitlines()[1:]), "text")]
        return "\n\n".join([*parts, fenced(as_mermaid(self._chart()).rstrip(), "mermaid")])

    def svg(self) -> str:
        """A sequence diagram."""
        return as_svg(self._chart())

    def _why(self) -> Sequence[str]:
        if isinstance(self.shown, Verdict):
            return self.shown.explanation
        return () if self.shown.failure is None else (self.shown.failure.message,)

    def _chart(self) -> Chart:
        if isinstance(self.shown, Verdict):
            return violation(self.title, self.shown)
        return chart(self.title, self.shown.trace, "; ".join(self._why()))


@dataclass(frozen=True, repr=False)
class Changes(Displayable):
    """A difference of two versions."""

    difference: versions.Difference

    def text(self) -> str:
        """As `fsm diff` prints it."""
        return "\n".join(lines(self.difference, "old", "new"))

    def markdown(self) -> str:
        """As in a pull request."""
        return as_markdown(self.difference, "old", "new")
