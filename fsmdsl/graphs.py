"""Machines, and the states of systems, as graphs of networkx: for dominators, cuts, Markov chains and the rest of it.

    from fsmdsl.graphs import machine, states

Needs the extra `graphs`. The graph of a machine has its leaves as nodes, and a row, from each state that it leaves, as
an edge. The graph of a system has a node for each reachable state, by number (0 is the first), and an edge for each
step.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from fsmdsl import model as m
from fsmdsl.core.hierarchy import Hierarchy
from fsmdsl.interop.export.escape import xml_text
from fsmdsl.report.stepping import values_of
from fsmdsl.runs.space import visits
from fsmdsl.step import FaultError, Followed, Universe
from fsmdsl.step.describe import describe, fault_message, words

if TYPE_CHECKING:
    import networkx as nx

MAX_STATES = 10_000
"""States of a system, unless more are asked for: networkx takes about a kilobyte for each, and time in proportion."""


class TooManyStatesError(Exception):
    """A system has more states than were asked for. A part of its graph would answer most questions wrongly."""


def machine(machine: m.Machine) -> nx.MultiDiGraph[str]:
    """A machine as its text has it: what guards and values allow is not looked at.

    Nodes are the states an instance can be in, with `display`, `initial`, `final`, `resting` and `parent` (its
    composite, or None). Edges have as key the row's index in the text, and `label`, `trigger`, `guard` (text, or None),
    `internal` (does it stay where it is?) and `amended` (the reason, or None). A row of a composite is an edge from
    each state in it. Takes time in proportion to the edges.
    """
    graph: nx.MultiDiGraph[str] = _networkx().MultiDiGraph(name=machine.qualified)
    hierarchy = Hierarchy(machine)
    first = next((hierarchy.entered[s.name] for s in machine.states if s.initial and s.parent is None), None)
    for s in machine.leaves:
        about_state = {"initial": s.name == first, "final": s.final, "resting": s.resting}
        graph.add_node(s.name, display=s.display, **about_state, parent=s.parent)
    for t in machine.transitions:
        about = {
            "label": t.name,
            "trigger": t.shown_trigger,
            "guard": None if t.guard is None else words(t.guard),
            "internal": t.target is None,
            "amended": t.amended,
        }
        for leaf in hierarchy.inside[t.source]:
            graph.add_edge(leaf, hierarchy.arrival(t) or leaf, key=t.index, **about)
    return graph


def states(model: m.Model, system: m.System, most: int = MAX_STATES) -> nx.MultiDiGraph[int]:
    """Every reachable state of a system, found by the definition of the language, breadth first.

    Nodes have `depth` (the fewest steps from the start), `values` (each state and field as the author would write it,
    by `instance` or `instance.field`) and `failing` (steps that fail there, with the kind of the fault). Edges have
    `step`, as the author would write it, and `rows`: (machine, index) of the transitions that the step follows. Raises
    `TooManyStatesError` where there are more states than `most`, and `FaultError` where there is no first state.
    """
    universe = Universe(model, system)
    if universe.fault is not None:
        raise FaultError(universe.fault.cause, universe.fault.instance, universe.fault.span)
    graph: nx.MultiDiGraph[int] = _networkx().MultiDiGraph(name=system.qualified)
    for n, world in enumerate(universe.starts):
        graph.add_node(n, depth=0, values=_values(universe, world), failing={})
    for visit in visits(universe, most):
        at, node = visit.number, graph.nodes[visit.number]
        if visit.unknown is not None:
            node["failing"]["what can happen"] = str(visit.unknown)
        for fault in visit.unoffered:
            node["failing"][f"the environment: {fault_message(universe, fault)}"] = fault.kind
        for arc in visit.arcs:
            step = describe(universe, arc.step, visit.world)
            if arc.result.fault is not None:
                node["failing"][step] = arc.result.fault.kind
                continue
            if arc.target is None:
                raise TooManyStatesError(f"{system.qualified} has more than {most:,} states")
            if arc.target not in graph:
                values = _values(universe, arc.result.world)
                graph.add_node(arc.target, depth=node["depth"] + 1, values=values, failing={})
            followed = (h for h in arc.result.cascade if isinstance(h, Followed))
            rows = tuple((universe.machines[h.instance].qualified, h.transition) for h in followed)
            graph.add_edge(at, arc.target, step=step, rows=rows)
    return graph


def node_link(graph: nx.MultiDiGraph[Any]) -> str:
    """A graph as JSON, with everything in it; `networkx.node_link_graph(…, edges="edges")` reads it."""
    return json.dumps(_networkx().node_link_data(graph, edges="edges"), indent=1, ensure_ascii=False) + "\n"


def graphml(graph: nx.MultiDiGraph[Any]) -> str:
    """A graph as GraphML, for Gephi, yEd, Cytoscape and others. It knows no lists and no attributes in attributes.

    So the values of a state are attributes `values.g0` and `values.g0.size`, steps that fail are a text, and rows are
    names of machines, each with the index of a row. What is none is left out.
    """
    plain = _networkx().MultiDiGraph(**graph.graph)
    for node, about in graph.nodes(data=True):
        values = {f"values.{place}": x for place, x in about.get("values", {}).items()}
        failing = "; ".join(f"{step}: {kind}" for step, kind in about.get("failing", {}).items())
        own = {key: x for key, x in about.items() if key not in ("values", "failing")}
        plain.add_node(node, **_plain({**own, **values, "failing": failing or None}))
    for a, b, key, about in graph.edges(keys=True, data=True):
        rows = ", ".join(f"{machine} {row}" for machine, row in about.get("rows", ()))
        plain.add_edge(a, b, key=key, **_plain({**about, "rows": rows or None}))
    written: Iterable[str] = _networkx().generate_graphml(plain)
    return "".join(f"{x}\n" for x in ('<?xml version="1.0" encoding="UTF-8"?>', *written))


def _plain(about: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is none; texts are on one line, and hold nothing that XML forbids."""
    return {
        key: xml_text(" ".join(x.split())) if isinstance(x, str) else x for key, x in about.items() if x is not None
    }


def _values(universe: Universe, world: Any) -> dict[str, str]:
    return {".".join(x for x in place if x): value for place, value in values_of(universe, world)}


def _networkx() -> Any:
    try:
        import networkx
    except ImportError as error:
        raise ImportError("graphs need networkx: pip install 'fsmdsl[graphs]'") from error
    return networkx
