"""A machine as the page shows it: diagram, table, state × event table, coverage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.check.event_table import completeness
from fsmdsl.check.machine_graph import Shape
from fsmdsl.draw.detail import detailed
from fsmdsl.draw.graph import Graph, graph_of
from fsmdsl.model.workspace import shipped
from fsmdsl.report.anchors import anchor
from fsmdsl.report.coverage import Reach, on_diagram
from fsmdsl.report.data import row
from fsmdsl.report.views import CellView, MachineView, ReachView, RowView

_CELLS = {"handled": "handled", "if": "guarded", "ignored": "ignored", "waits": "waiting", "fault": "unhandled"}


def diagram(machine: m.Machine) -> Graph:
    """The graph of a machine with ids that no other element of the page has."""
    return detailed(graph_of(machine, prefix=prefix(machine)))


def prefix(machine: m.Machine) -> str:
    """What the ids in the diagram of a machine begin with."""
    return f"{anchor(machine.qualified)}-"


def machine_view(
    model: m.Model, machine: m.Machine, graph: Graph, svg: str, reached: Mapping[str, Reach], ids: Mapping[str, str]
) -> MachineView:
    """`reached` has what was `explored`, `covered` by scenarios and `logged`; `ids` are the places of systems and
    scenarios on the page, by qualified name."""
    name = anchor(machine.qualified)
    shape = Shape(machine)
    rows = [_row(f"{name}-row-{n}", line, reached) for n, line in enumerate(shape.lines)]
    overlays = {k: on_diagram(machine, graph, x, prefix(machine)) for k, x in reached.items() if x.where}
    events, matrix = _matrix(model, shape, rows)
    return MachineView(
        name,
        machine.name,
        machine.display,
        machine.doc,
        svg,
        rows,
        events,
        matrix,
        list(_amended(machine, rows)),
        len(machine.amendments),
        _alternatives(model, machine),
        _reach(machine, reached["explored"], ids),
        _reach(machine, reached["covered"], ids),
        _reach(machine, reached["logged"], ids),
        overlays,
        shipped(machine.span.source.name),
    )


def _amended(machine: m.Machine, rows: Sequence[RowView]) -> Iterator[tuple[str, str]]:
    """What amendments add or change, each with the reason."""
    elements: list[tuple[str, str | None]] = [(f"state {x.name}", x.amended) for x in machine.states]
    data: tuple[m.Param | m.Field | m.Let, ...] = (*machine.params, *machine.fields, *machine.lets)
    elements += [(x.name, x.amended) for x in data]
    elements += [(f"event {x.name}", x.amended) for x in machine.events]
    elements += [(f"action {x.name}", x.amended) for x in machine.actions]
    elements += [(f"{r.label}: {', '.join(r.sources)} → {r.target or 'stays'}", r.amended or None) for r in rows]
    elements += [(f"on {x.kind}({x.state})", x.amended) for x in machine.hooks]
    elements += [(f"ignore {x.event} in {x.state}", x.amended) for x in machine.ignores]
    elements += [(x.name if x.is_named else x.condition.span.quote, x.amended) for x in machine.invariants]
    yield from ((what, why) for what, why in elements if why is not None)
    others = dict.fromkeys(machine.amendments).keys() - {why for _, why in elements}
    yield from (("–", why) for why in machine.amendments if why in others)  # of priorities, which have no reason


def _alternatives(model: m.Model, machine: m.Machine) -> list[tuple[str, str, str]]:
    """Of the repairs of a machine, those that do not apply."""
    every = (x for module in model.modules if module.name == machine.module for x in module.alternatives)
    return [
        (x.name or "", x.reason, f"`{x.instead}` also replaces `{x.row}`, and comes first")
        for x in every
        if x.machine == machine.name
    ]


def _reach(machine: m.Machine, x: Reach, ids: Mapping[str, str]) -> ReachView:
    followed, entered = (sum(n > 0 for n in counts.values()) for counts in (x.transitions, x.states))
    where = [(ids.get(name, ""), name.rpartition(".")[2]) for name in x.where]
    return ReachView(followed, len(machine.transitions), entered, len(x.states), where, x.exact)


def _row(name: str, line: Sequence[m.Transition], reached: Mapping[str, Reach]) -> RowView:
    first, explored = line[0], reached["explored"]
    indexes = [t.index for t in line]
    texts = row(first)
    wild = all(t.wild for t in line) and len(line) > 1
    never = [t.source for t in line if explored.where and explored.certain and not explored.transitions[t.index]]
    return RowView(
        id=name,
        label=texts["label"],
        sources=["*"] if wild else list(dict.fromkeys(t.source for t in line)),
        target=first.target or "",
        trigger=texts["trigger"] or "",
        guard=_one_line(texts["guard"] or ""),
        effects=_effects(first),
        doc=first.doc,
        amended=first.amended or "",
        transitions=indexes,
        explored=_often(explored, indexes),
        covered=_often(reached["covered"], indexes),
        logged=_often(reached["logged"], indexes),
        never=never,
        place=str(first.span),
    )


def _often(x: Reach, transitions: Sequence[int]) -> str:
    count = x.of(transitions) if x.where else None
    return "" if count is None else x.text(count)


def _effects(t: m.Transition) -> str:
    """As the author wrote them, line by line."""
    if not t.effects:
        return ""
    text = t.effects[0].span.to(t.effects[-1].span).text
    return "\n".join(line for line in map(_one_line, text.splitlines()) if line)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _matrix(
    model: m.Model, shape: Shape, rows: Sequence[RowView]
) -> tuple[Sequence[str], list[tuple[str, list[CellView]]]]:
    table = completeness(model, shape.machine)
    row_of = {t: (r.id, r.label) for r in rows for t in r.transitions}

    def cell(event: str, state: str) -> CellView:
        labels = dict.fromkeys(row_of[t.index] for t in shape.selection.candidates(state, event))
        return CellView(_CELLS[table.cells[(event, state)]], list(labels))

    return table.events, [(state, [cell(event, state) for event in table.events]) for state in table.states]
