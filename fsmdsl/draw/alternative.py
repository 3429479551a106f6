"""The content of a diagram as lines of text, for screen readers."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.draw.graph import Edge, Graph, Node
from fsmdsl.draw.labels import titled, written
from fsmdsl.draw.text import clean


def alternative(graph: Graph) -> str:
    """A line for each state and for each row: `Free to Used: e0 take(by)`."""
    return "\n".join(map(clean, (*_states(graph.nodes), *_rows(graph))))


def _states(nodes: tuple[Node, ...], around: str = "") -> Iterator[str]:
    for node in nodes:
        if node.kind in ("state", "any"):
            flags = ", ".join(sorted(node.flags))
            about = "; ".join(filter(None, (flags, f"in {around}" if around else "")))
            yield f"State {titled(node)}" + (f" ({about})" if about else "")
            yield from (f"{titled(node)}, inside: {written(label)}" for label in node.inside)
        yield from _states(node.children, titled(node))


def _rows(graph: Graph) -> Iterator[str]:
    names = {node.id: titled(node) for node in graph.every() if node.kind in ("state", "any")}
    into: dict[str, list[str]] = {}
    for edge in graph.edges:
        if edge.into_junction:
            into.setdefault(edge.target, []).append(names[edge.source])
    for edge in graph.edges:
        yield from _row(edge, names, into)


def _row(edge: Edge, names: dict[str, str], into: dict[str, list[str]]) -> Iterator[str]:
    target = names.get(edge.target)
    if edge.into_junction or target is None:
        return
    if edge.source in names or edge.source in into:
        source = names.get(edge.source) or ", ".join(into[edge.source])
        yield from (f"{source} to {target}: {written(label)}" for label in edge.labels)
    else:
        yield f"Begins in {target}"
