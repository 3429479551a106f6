"""Composites inside composites replaced by the states in them, for formats that cannot nest them.

Mermaid draws the states of an inner composite outside of it when an arrow crosses its border, so there the outermost
level of composites is kept, and a state of an inner one is called `Placed / Waiting`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl.dataclasses import replace
from fsmdsl.draw.graph import Edge, Graph, Label, Node


def flattened(graph: Graph) -> Graph:
    """The graph with composites at the outermost level alone. Arrows of an inner composite begin at each state in it,
    and end at the state that it begins in. Take a graph without junctions."""
    starts = {edge.source: edge.target for edge in graph.edges}
    inner = {n.id: n for outer in graph.nodes for child in outer.children for n in _composites(child)}
    if not inner:
        return graph
    dropped = {child.id for n in inner.values() for child in n.children if child.kind == "start"}
    nodes = tuple(replace(n, children=tuple(_flat(n.children))) if n.children else n for n in graph.nodes)
    edges = (edge for edge in graph.edges if edge.source not in dropped)
    return replace(graph, nodes=nodes, edges=tuple(x for edge in edges for x in _rewired(edge, inner, starts)))


def _composites(node: Node) -> Iterator[Node]:
    if node.children:
        yield node
        for child in node.children:
            yield from _composites(child)


def _flat(nodes: tuple[Node, ...], name: str = "", inside: tuple[Label, ...] = ()) -> Iterator[Node]:
    """The leaves; `name` and the internal transitions `inside` are those of the inner composites around them."""
    for node in nodes:
        if node.children:
            yield from _flat(node.children, f"{name}{node.name} / ", (*inside, *node.inside))
        elif node.kind != "start" or not name:
            yield replace(node, name=f"{name}{node.name}", inside=(*node.inside, *inside))


def _rewired(edge: Edge, inner: Mapping[str, Node], starts: Mapping[str, str]) -> Iterator[Edge]:
    target = _entered(edge.target, inner, starts)
    for source in _leaves(inner[edge.source]) if edge.source in inner else [edge.source]:
        changed = (source, target) != (edge.source, edge.target)
        yield replace(edge, id=f"{edge.id}-{source}", source=source, target=target) if changed else edge


def _entered(target: str, inner: Mapping[str, Node], starts: Mapping[str, str]) -> str:
    """The leaf that an arrow to a composite enters."""
    while target in inner:
        start = next((child.id for child in inner[target].children if child.kind == "start"), None)
        target = starts[start] if start is not None else next(_leaves(inner[target]))
    return target


def _leaves(node: Node) -> Iterator[str]:
    for child in node.children:
        if child.children:
            yield from _leaves(child)
        elif child.kind == "state":
            yield child.id
