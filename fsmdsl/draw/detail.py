"""How much a picture says of each transition: the rows of crowded states folded, everything, or labels alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

from fsmdsl.dataclasses import replace
from fsmdsl.draw.arrows import Line
from fsmdsl.draw.graph import Graph, Label, Mark, Node

Detail = Literal["folded", "full", "labels"]

MAX_ROWS = 6
"""Maximum number of rows inside a state; with more, the last one stands for the rest."""


def detailed(graph: Graph, detail: Detail = "folded") -> Graph:
    """The graph with less in it. No transition is lost: what is not shown stays in tooltips and indexes."""
    match detail:
        case "full":
            return graph
        case "folded":
            return replace(graph, nodes=tuple(map(_folded, graph.nodes)))
        case "labels":
            nodes = tuple(map(_with_names_only, graph.nodes))
            return replace(graph, nodes=nodes, edges=tuple(replace(e, labels=names(e.labels)) for e in graph.edges))


def _folded(node: Node) -> Node:
    children = tuple(map(_folded, node.children))
    inside = node.inside
    if len(inside) > MAX_ROWS:
        inside = (*inside[: MAX_ROWS - 1], _rest(inside[MAX_ROWS - 1 :]))
    return replace(node, inside=inside, children=children)


def _rest(labels: Sequence[Label]) -> Label:
    amended = sum(x.line == "amended" for x in labels)
    text = f"… {len(labels)} more" + (f", {amended} amended" if amended else "")
    return _joined(labels, replace(labels[0], name="", trigger=text, guard="", line="plain"))


def _with_names_only(node: Node) -> Node:
    return replace(node, inside=names(node.inside), children=tuple(map(_with_names_only, node.children)))


def names(labels: Iterable[Label]) -> tuple[Label, ...]:
    """The document's labels, or the triggers of rows without one, in one text for each style."""
    styles: dict[tuple[Line, Mark | None], list[Label]] = defaultdict(list)
    for label in labels:
        styles[label.line, label.mark].append(label)
    return tuple(_joined(same, replace(same[0], name=_text(same), trigger="", guard="")) for same in styles.values())


def _text(labels: Iterable[Label]) -> str:
    return ", ".join(dict.fromkeys(x.name or x.trigger or f"[{x.guard}]" for x in labels))


def _joined(labels: Sequence[Label], text: Label) -> Label:
    """One label for several; `text` is the first of them, with the text of all. Its mark is one that all share."""
    marks = {x.mark for x in labels}
    return replace(
        text,
        tooltip="\n".join(dict.fromkeys(x.tooltip for x in labels)),
        transitions=tuple(dict.fromkeys(t for x in labels for t in x.transitions)),
        mark=marks.pop() if len(marks) == 1 else None,
    )
