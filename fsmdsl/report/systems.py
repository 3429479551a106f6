"""A system as the page shows it: what was explored, the verdicts and their evidence, runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.draw.sequence_svg import as_svg
from fsmdsl.report.anchors import anchor
from fsmdsl.report.chart import violation
from fsmdsl.report.columns import columns
from fsmdsl.report.exploration import explored_part, never_followed_by_machine, unfollowed_rows
from fsmdsl.report.stepping import of_verdict
from fsmdsl.report.views import GroupView, RepairsView, SpaceView, SystemView, VerdictView
from fsmdsl.runs.narrative import story
from fsmdsl.runs.verdicts.verdict import SOME_FAIL, share_beyond
from fsmdsl.runs.violation_groups import Group, violation_groups
from fsmdsl.search import Exploration, Verdict, lines
from fsmdsl.step import Universe
from fsmdsl.step.describe import words


def system_view(
    model: m.Model, x: Exploration, space: SpaceView | None, repairs: RepairsView | None = None
) -> SystemView:
    """Everything about one system."""
    universe = Universe(model, x.system)
    verdicts = [_verdict(universe, n, v) for n, v in enumerate(x.verdicts)]
    return SystemView(
        anchor(x.system.qualified),
        x.system.name,
        x.system.doc,
        _instances(x.system),
        x.states,
        x.transitions,
        x.depth,
        x.seconds,
        _basis(x),
        verdicts,
        [_group(g, verdicts) for g in violation_groups(x, model)],
        never_followed_by_machine(x, model),
        sum(row.is_shipped for row in unfollowed_rows(x, model)),
        x.note or "",
        inline(columns(x.levels)) if len(x.levels) > 1 else "",
        space,
        x.beyond,
        repairs,
    )


def _instances(system: m.System) -> list[tuple[str, str, str]]:
    counts = Counter[str]()
    for group in system.groups:
        counts[group.machine] += group.count
    return [(str(n), machine.rpartition(".")[2], anchor(machine)) for machine, n in counts.items()]


def _basis(x: Exploration) -> str:
    likes = f", up to symmetry of {' and '.join(x.reduced)}" if x.reduced else ""
    reached = f"every state within the bound{share_beyond(x.beyond)}" if x.beyond else "every reachable state"
    failures = SOME_FAIL if x.fails else ""
    return f"{x.stopped}: explored {explored_part(x)}" if x.stopped else f"{reached}{likes}{failures}"


def _group(g: Group, verdicts: Sequence[VerdictView]) -> GroupView:
    """The violations of a group, each with a title that tells it from the others."""
    first, *others = (replace(verdicts[member.verdict], title=member.title) for member in g.members)
    return GroupView(g.heading, g.details, first, others)


def _verdict(universe: Universe, n: int, v: Verdict) -> VerdictView:
    """Violations with their sequence diagram; witnesses without, for they are many."""
    place = f"{anchor(universe.system.qualified)}-run-{n}"
    text_lines, drawn = [""], ""
    if v.trace is not None and v.outcome == "violated":
        text_lines, drawn = story(v.trace), inline(as_svg(violation(v.label, v), f"{place}-"))
    elif v.trace is not None:
        text_lines = lines(v.trace)
    return VerdictView(
        v.name,
        v.kind,
        v.label,
        v.outcome,
        v.basis,
        place,
        _formula(universe, v),
        v.explanation,
        "\n".join(text_lines),
        drawn,
        None if v.trace is None else of_verdict(universe, v, place),
    )


def _formula(universe: Universe, v: Verdict) -> str:
    """The formula, as the author wrote it."""
    system = universe.system
    formulas: Mapping[str, m.Expr] = {}
    match v.kind:
        case "invariant" if v.machine is not None:
            own = universe.model.machines[v.machine]
            formulas = {f"{own.name}: {i.name}": i.condition for i in own.invariants}
        case "invariant":
            formulas = {i.name: i.condition for i in system.invariants}
        case "reachable":
            formulas = {r.name: r.condition for r in system.reachables}
        case "property":
            temporal = next((p for p in system.properties if p.name == v.name), None)
            if temporal is None:
                return ""
            formula = temporal.formula
            if isinstance(formula, m.Recovers):
                return f"recovers on {', '.join(formula.fields)}" if formula.fields else "recovers"
            under = " and ".join(f.span.quote for f in temporal.under)
            return f"{words(formula)} under {under}" if under else words(formula)
        case "refinement" if system.refines is not None:
            return "; ".join(span.quote for span in system.refines.rows)
        case _:
            pass
    return words(formulas[v.name]) if v.name in formulas else ""


def inline(svg: str) -> str:
    """The `<svg>` element alone, as it stands in a page."""
    return svg[svg.index("<svg") :]
