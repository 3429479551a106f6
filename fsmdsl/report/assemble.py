"""The page from what was found: everything drawn, counted and put in its place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.draw.dot import dot
from fsmdsl.draw.svg import finished
from fsmdsl.report.anchors import anchor
from fsmdsl.report.attention import attention
from fsmdsl.report.counts import Counts
from fsmdsl.report.coverage import covered, explored, logged
from fsmdsl.report.machines import diagram, machine_view
from fsmdsl.report.repairs import Table, repairs_view
from fsmdsl.report.space import layout, space_view
from fsmdsl.report.state_counts import Census
from fsmdsl.report.systems import inline, system_view
from fsmdsl.report.views import LocksView, ModuleView, RepairsView, Report, ScenarioView
from fsmdsl.search import Exploration, Played
from fsmdsl.step import Universe
from fsmdsl.text.diagnostics import Diagnostic

Draw = Callable[[Sequence[tuple[str, str]]], list["str | Diagnostic"]]
"""Graphviz: texts in its language and the format wanted of each; see `draw.svg.rendered_together`."""


def assemble(
    title: str,
    model: m.Model,
    diagnostics: Sequence[Diagnostic],
    explorations: Sequence[tuple[Exploration, Census]],
    played: Sequence[Played],
    draw: Draw,
    version: str = "",
    *,
    counts: Counts | None = None,
    tables: Sequence[Table] = (),
) -> tuple[Report, list[Diagnostic]]:
    """The report, and what could not be drawn. `counts`: how often rows have happened in a log. `tables`: of repairs,
    for the systems that have some."""
    drawing = _Drawing(model, explorations, draw)
    ids = {x.system.qualified: anchor(x.system.qualified) for x, _ in explorations}
    ids |= {x.scenario.qualified: f"{anchor(x.scenario.module)}-scenarios" for x in played}
    repairs = {x.system: repairs_view(x) for x in tables}
    modules = [_module(model, x, drawing, explorations, played, ids, counts or {}, repairs) for x in model.modules]
    return Report(title, modules, diagnostics, attention(modules, diagnostics), version), drawing.problems


class _Drawing:
    """All pictures that need Graphviz, drawn together: it takes longer to start than to draw."""

    def __init__(self, model: m.Model, explorations: Sequence[tuple[Exploration, Census]], draw: Draw) -> None:
        self.graphs = {x.qualified: diagram(x) for x in model.machines.values()}
        spaces = {
            x.system.qualified: layout(Universe(model, x.system), counted)
            for x, counted in explorations
            if counted.drawable
        }
        machines = [(dot(g, fixed_text=True), "svg") for g in self.graphs.values()]
        drawn = draw([*machines, *((text, "plain") for text in spaces.values())])
        problems = [x for x in drawn if isinstance(x, Diagnostic)]
        self.problems = list({x.message: x for x in problems}.values())
        done = dict(zip([*self.graphs, *((x, "") for x in spaces)], drawn, strict=True))
        self._drawn: Mapping[object, str] = {k: x for k, x in done.items() if isinstance(x, str)}

    def machine(self, x: m.Machine) -> str:
        """The diagram, or nothing where it could not be drawn."""
        svg = self._drawn.get(x.qualified)
        return "" if svg is None else inline(finished(svg, self.graphs[x.qualified], title="State diagram of"))

    def space(self, x: m.System) -> str:
        """Where the states of a system are, as Graphviz tells it; or nothing."""
        return self._drawn.get((x.qualified, ""), "")


def _module(
    model: m.Model,
    x: m.Module,
    drawing: _Drawing,
    explorations: Sequence[tuple[Exploration, Census]],
    played: Sequence[Played],
    ids: Mapping[str, str],
    counts: Counts,
    repairs: Mapping[str, RepairsView],
) -> ModuleView:
    machines = []
    for y in x.machines:
        by_systems = explored(y, [x for x, _ in explorations])
        reached = {"explored": by_systems, "covered": covered(y, played), "logged": logged(y, counts)}
        machines.append(machine_view(model, y, drawing.graphs[y.qualified], drawing.machine(y), reached, ids))
    systems = []
    for exploration, counted in explorations:
        if exploration.system.module == x.name:
            plain = drawing.space(exploration.system)
            name = f"{anchor(exploration.system.qualified)}-space"
            space = space_view(Universe(model, exploration.system), counted, plain, name) if plain else None
            systems.append(system_view(model, exploration, space, repairs.get(exploration.system.qualified)))
    return ModuleView(
        anchor(x.name),
        x.name,
        x.doc,
        [(d.title, d.location or "") for d in x.documents],
        machines,
        systems,
        [_scenario(y, {z.scenario.qualified: z for z in played}) for y in x.scenarios],
        [(c.name, f"{c.order}, at most {c.bound}", _leads_to(c)) for c in x.channels],
        [_locks(y) for y in x.locks],
    )


def _leads_to(c: m.Channel) -> str:
    receiver = c.receiver.rpartition(".")[2]
    return f"each {receiver}" if c.each else receiver


def _scenario(x: m.Scenario, done: Mapping[str, Played]) -> ScenarioView:
    name = f"{anchor(x.module)}-scenario-{anchor(x.name)}"
    system = "" if x.system.span == x.span else x.system.name
    if x.qualified not in done:
        return ScenarioView(name, x.name, x.title, "unknown", "it was not played to the end", system)
    failure = done[x.qualified].failure
    outcome, detail = ("passes", "") if failure is None else ("fails", failure.message)
    return ScenarioView(name, x.name, x.title, outcome, detail, system)


def _locks(x: m.Locks) -> LocksView:
    pairs = [(_lock(p.outer), _lock(p.inner), p.amended or "") for p in x.pairs]
    return LocksView(x.name, x.doc, pairs, [(o.name, _takes(o.holds), o.doc) for o in x.operations])


def _lock(x: m.LockUse) -> str:
    name = f"child {x.name}" if x.child else x.name
    return name if x.mode == "any" else f"{x.mode}({name})"


def _takes(holds: Iterable[m.Hold]) -> str:
    """`write(A) { write(B) }, read(C)`: each lock with what is taken under it."""
    return ", ".join(_lock(h.lock) + (f" {{ {_takes(h.inside)} }}" if h.inside else "") for h in holds)
