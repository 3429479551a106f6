"""Graph to DOT. The text alone is a result; `svg` has Graphviz lay it out.

Colours: everything neutral is `INK`, or `INK` made translucent, which `restyle` turns into the colour of the text of the
page; the others are readable on white and on black. None of them says anything that shape or line does not say too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING, Literal

from fsmdsl.draw.graph import Edge, Flag, Graph, Label, Line, Mark, Node, Tone
from fsmdsl.draw.labels import Part, lines
from fsmdsl.draw.legend import MEANING, Entry, legend
from fsmdsl.draw.text import wrapped

if TYPE_CHECKING:
    from graphviz import Digraph

INK = "#24292f"
PALE = f"{INK}0d"
GREY = "#6e7781"
RED = "#c4323d"
LINE_COLOURS: Mapping[Line, str] = {"plain": GREY, "amended": "#8250df", "crash": "#bc6c25"}
TONE_COLOURS: Mapping[Tone, str] = {"focus": "#1f7ae0", "seen": "#238636", "unseen": "#bf3989"}
FONT = "Helvetica,Arial,sans-serif"

Direction = Literal["TB", "LR"]


def dot(graph: Graph, direction: Direction = "TB", *, with_legend: bool = True) -> str:
    """The graph in Graphviz's language, from top to bottom or from left to right."""
    from graphviz import Digraph

    drawing = Digraph(graph.name and "machine", engine="dot")
    drawing.attr(
        "graph", rankdir=direction, compound="true", newrank="true", nodesep="0.3", ranksep="0.35", fontname=FONT,
        fontsize="9", fontcolor=INK, bgcolor="transparent", pad="0.1", labelloc="b", id=graph.id,
    )  # fmt: skip
    drawing.attr("node", shape="box", style="rounded,filled", fillcolor=PALE, color=INK, fontcolor=INK, fontname=FONT)
    drawing.attr("node", fontsize="12", margin="0.15,0.08", height="0.4")
    drawing.attr("edge", color=GREY, fontcolor=INK, fontname=FONT, fontsize="10", arrowsize="0.7", penwidth="1.1")
    entries = legend(graph) if with_legend else []
    if entries:
        drawing.attr("graph", label=_legend(entries))
    _nodes(drawing, graph.nodes)
    inner = _Inner(graph)
    for edge in graph.edges:
        _edge(drawing, edge, inner)
    return str(drawing.source)


# Nodes ---------------------------------------------------------------------------------------------------------------

_LINES: Mapping[Flag, str] = {"volatile": "dashed", "transient": "dotted"}


def _nodes(drawing: Digraph, nodes: Iterable[Node]) -> None:
    for node in nodes:
        match node.kind:
            case "start":
                drawing.node(node.id, label="", id=node.id, shape="circle", width="0.14", fillcolor=INK, tooltip=" ")
            case "junction":
                drawing.node(
                    node.id, label="", id=node.id, shape="circle", width="0.07", height="0.07", fillcolor=GREY,
                    color=GREY, tooltip=" ",
                )  # fmt: skip
            case "any":
                drawing.node(node.id, _named(node, f"<I>{_text(node.name)}</I>"), color=GREY, **_common(node))
            case "state" if node.children:
                _composite(drawing, node)
            case "state":
                drawing.node(node.id, _named(node, f"<B>{_text(node.name)}</B>"), **_state(node), **_common(node))


def _composite(drawing: Digraph, node: Node) -> None:
    with drawing.subgraph(name=f"cluster_{node.id}") as cluster:
        style = {**_state(node), "fillcolor": f"{INK}08"}
        cluster.attr(label=_named(node, f"<B>{_text(node.name)}</B>"), fontsize="12", labelloc="t", margin="12")
        cluster.attr(**style, **_common(node))
        _nodes(cluster, node.children)


def _common(node: Node) -> dict[str, str]:
    tones = () if node.mark is None else (node.mark.tone,)
    kind = "composite" if node.children else node.kind
    return {"id": node.id, "class": " ".join([kind, *sorted(node.flags), *tones]), "tooltip": _tip(node.tooltip)}
