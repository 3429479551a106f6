"""Graphs as plain data."""

from __future__ import annotations

from fsmdsl.draw.graph import Edge, Graph, Label, Node
from fsmdsl.report.data import Data


def drawing(name: str, graph: Graph) -> Data:
    """What `fsm draw --format json` prints for a machine."""
    return {
        "name": name,
        "title": graph.name,
        "doc": graph.doc,
        "nodes": [_node(x) for x in graph.nodes],
        "edges": [_edge(x) for x in graph.edges],
    }


def _node(x: Node) -> Data:
    return {
        "id": x.id,
        "kind": x.kind,
        "name": x.name,
        "flags": sorted(x.flags),
        "doc": x.tooltip,
        "inside": [_label(y) for y in x.inside],
        "children": [_node(y) for y in x.children],
    }


def _edge(x: Edge) -> Data:
    return {
        "id": x.id,
        "source": x.source,
        "target": x.target,
        "line": x.line,
        "labels": [_label(y) for y in x.labels],
        "transitions": list(x.transitions),
    }


def _label(x: Label) -> Data:
    return {"name": x.name, "trigger": x.trigger, "guard": x.guard, "line": x.line, "doc": x.tooltip}
