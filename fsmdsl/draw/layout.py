"""Hints for Graphviz: which edges are kept straight, and how to reach composites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fsmdsl.draw.graph import Edge, Graph, Node


@dataclass(frozen=True)
class Layout:
    """`ends` of a composite are the leaves where DOT has edges from it begin and edges to it end. `spine` are the edges
    (by id) that are kept straight. `broken` are labelled edges at composites, by the composite around both ends.
    `fixed_text`: widths of text come from us alone."""

    ends: Mapping[str, tuple[str, str]]
    spine: frozenset[str]
    broken: Mapping[str | None, Sequence[Edge]]
    fixed_text: bool


def layout(graph: Graph, *, fixed_text: bool) -> Layout:
    """The layout of a graph."""
    ends = dict(_ends(graph.nodes))
    home = enclosing(graph)
    broken: dict[str | None, list[Edge]] = defaultdict(list)
    for edge in graph.edges:
        if edge.labels and (edge.source in ends or edge.target in ends):
            broken[home[edge.id]].append(edge)
    return Layout(ends, frozenset(_spine(graph)), broken, fixed_text)


def enclosing(graph: Graph) -> dict[str, str | None]:
    """For each edge the innermost composite around both of its ends, by id; None: the machine."""
    around = dict(_around(graph.nodes, ()))
    return {edge.id: _common(around[edge.source], around[edge.target]) for edge in graph.edges}


def _common(left: tuple[str, ...], right: tuple[str, ...]) -> str | None:
    return next((outer for outer in reversed(left) if outer in right), None)


def _ends(nodes: Iterable[Node]) -> Iterator[tuple[str, tuple[str, str]]]:
    for node in nodes:
        if node.children:
            leaves = list(_leaves(node))
            yield node.id, (leaves[-1], leaves[0])
            yield from _ends(node.children)


def _leaves(node: Node) -> Iterator[str]:
    if node.kind == "state" and not node.children:
        yield node.id
    for child in node.children:
        yield from _leaves(child)


def _around(nodes: Iterable[Node], outer: tuple[str, ...]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in nodes:
        yield node.id, outer
        yield from _around(node.children, (*outer, node.id))


def _spine(graph: Graph) -> Iterator[str]:
    """To each state where a life goes on, the edge from the state nearest before it in the text: documents list states
    in the order of a life, so this is the usual one."""
    place = {node.id: n for n, node in enumerate(graph.every()) if node.kind == "state"}
    ends = {node.id for node in graph.every() if node.flags & {"error", "final"}}
    nearest: dict[str, Edge] = {}
    for edge in graph.edges:
        forward = place.get(edge.source, len(place)) < place.get(edge.target, -1)
        if not forward or edge.line == "crash" or edge.target in ends:
            continue
        if edge.target not in nearest or place[nearest[edge.target].source] < place[edge.source]:
            nearest[edge.target] = edge
    return (edge.id for edge in nearest.values())
