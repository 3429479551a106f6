"""The diagram beside the text: the machine at a place, with what is at the place marked."""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.draw.dot import dot
from fsmdsl.draw.graph import Mark, Overlay, graph_of
from fsmdsl.draw.svg import picture
from fsmdsl.editor.editing.analysis import Analysis
from fsmdsl.syntax.parse.incremental import in_file
from fsmdsl.text.diagnostics import Diagnostic


@dataclass(frozen=True, slots=True)
class Drawn:
    """A machine (qualified) as SVG; none, and why, where it could not be drawn. `state` and `transitions` (by their
    indexes, as in the classes `transition-3` of the picture) are what the place is in; `stale`: as the machine was
    before there were errors."""

    title: str
    machine: str | None
    svg: str | None = None
    state: str | None = None
    transitions: tuple[int, ...] = ()
    message: str | None = None
    stale: bool = False


def machine_at(analysis: Analysis, path: str, offset: int) -> m.Machine | None:
    """The machine that a place is in, else the nearest before it, else the first of the file."""
    model = analysis.model or analysis.earlier
    if model is None:
        return None
    decls = [x for n in analysis.resolved.names for x in n.machines.values() if x.decl.span.source.name == path]
    spans = {x.qualified: in_file(x.decl.span) for x in decls}
    starts = sorted((span.start, q) for q, span in spans.items() if q in model.machines)
    before = [q for start, q in starts if start <= offset]
    name = before[-1] if before else starts[0][1] if starts else None
    return None if name is None else model.machines[name]


def at_cursor(machine: m.Machine, analysis: Analysis, path: str, offset: int) -> tuple[str | None, tuple[int, ...]]:
    """The state whose name is at a place, and the transitions that were written on its line."""
    meanings = [u.meaning for u in analysis.uses_at(path, offset)]
    state = next((x.name for x in meanings if x.kind == "state" and x.owner == machine.qualified), None)
    spans = {t.index: in_file(t.span) for t in machine.transitions if t.span.source.name == path}
    rows = tuple(n for n, span in spans.items() if span.start <= offset <= span.end)
    return state, rows


@dataclass
class Pictures:
    """Diagrams, kept as long as their text would be the same."""

    cache: dict[str, str | Diagnostic]

    def svg(self, machine: m.Machine, followed: Mapping[int, int | None] | None = None) -> str | Diagnostic:
        """The machine drawn, in a process of its own; what a search never followed is marked if that is known."""
        marks = {n: Mark("unseen") for n, count in (followed or {}).items() if count == 0}
        graph = graph_of(machine, Overlay(transitions=marks))
        text = dot(graph)
        if text not in self.cache:
            drawn = picture(graph, "svg")
            if len(self.cache) >= MAX_DIAGRAMS:
                self.cache.pop(next(iter(self.cache)))
            self.cache[text] = drawn if isinstance(drawn, Diagnostic) else drawn.decode("utf-8")
        return self.cache[text]


MAX_DIAGRAMS = 64
"""Maximum number of cached diagrams."""


def drawn(pictures: Pictures, analysis: Analysis, path: str, offset: int) -> Drawn:
    """The machine at a place."""
    machine = machine_at(analysis, path, offset)
    if machine is None:
        why = "fix the errors first" if analysis.model is None else "there is no machine in this file"
        return Drawn("", None, message=why)
    state, rows = at_cursor(machine, analysis, path, offset)
    svg = pictures.svg(machine)
    if isinstance(svg, Diagnostic):
        why = f"{svg.message}: {svg.advice}" if svg.advice else svg.message
        return Drawn(machine.display, machine.qualified, None, state, rows, why)
    return Drawn(machine.display, machine.qualified, svg, state, rows, None, analysis.model is None)
