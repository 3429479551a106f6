"""Graph to DOT. The text alone is a result; `svg` has Graphviz lay it out.

Everything neutral is `INK`, or `INK` made translucent, which `restyle` turns into the colour of the page's text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from fsmdsl.draw.graph import Direction, Edge, Flag, Graph, Mark, Node, Tone
from fsmdsl.draw.html_label import (
    GAP,
    LABEL_SIZE,
    LEGEND_SIZE,
    Shaft,
    beside_line,
    label_text,
    state_label,
    text_cell,
    transition_labels,
)
from fsmdsl.draw.layout import Layout, layout
from fsmdsl.draw.legend import MEANING, Entry, legend
from fsmdsl.draw.metrics import text_width
from fsmdsl.draw.palette import FONT, GREY, INK, LINES, PALE, PALER, RED, TONES

if TYPE_CHECKING:
    from graphviz import Digraph

MAX_FULL_LAYOUT_EDGES = 250
"""Maximum number of edges laid out with full effort. Above it Graphviz uses faster settings: with full effort, a
thousand edges would take 15 seconds."""


def dot(graph: Graph, direction: Direction | None = None, *, with_legend: bool = True, fixed_text: bool = False) -> str:
    """The graph in Graphviz's language, in the direction of its `layout` or in another; in another, the `layout` does
    not count. With `fixed_text` nothing depends on the fonts of this machine: for SVG that `restyle` completes."""
    from graphviz import Digraph

    plan = layout(graph, direction, fixed_text=fixed_text)
    drawing = Digraph("machine")
    drawing.attr("graph", rankdir=plan.direction, compound="true", newrank="true", nodesep="0.3", ranksep="0.35")
    drawing.attr("graph", fontname=FONT, fontsize=str(LEGEND_SIZE), fontcolor=INK, labelloc="b", pad="0.1", id=graph.id)
    drawing.attr("graph", bgcolor="transparent", tooltip=" ")
    drawing.attr("node", shape="box", style="rounded,filled", fillcolor=PALE, color=INK, margin="0.15,0.08")
    for kind in ("node", "edge"):
        drawing.attr(kind, fontname=FONT, fontsize=str(LABEL_SIZE), fontcolor=INK)
    drawing.attr("node", height="0.4")
    drawing.attr("edge", color=GREY, arrowsize="0.7", penwidth="1.1")
    drawing.attr("edge", labeltooltip=" ", tooltip=" ")
    drawing.attr("node", tooltip=" ")
    if len(graph.edges) > MAX_FULL_LAYOUT_EDGES:
        drawing.attr("graph", nslimit="1", nslimit1="1", mclimit="0.1", splines="polyline")
    entries = legend(graph) if with_legend else []
    if entries:
        drawing.attr("graph", label=_legend(entries, fixed=fixed_text))
    for node in graph.nodes:
        _node(drawing, node, plan)
    _middles(drawing, None, plan)
    _grid(drawing, plan)
    for edge in graph.edges:
        _edge(drawing, edge, plan)
    return str(drawing.source)


# Nodes ---------------------------------------------------------------------------------------------------------------


def _node(drawing: Digraph, node: Node, plan: Layout) -> None:
    match node.kind:
        case "start":
            size = {"width": "0.14", "height": "0.14"}
            drawing.node(node.id, label="", shape="circle", fillcolor=INK, **size, **_common(node))
        case "junction":
            size = {"width": "0.07", "height": "0.07"}
            drawing.node(node.id, label="", shape="circle", fillcolor=GREY, color=GREY, **size, **_common(node))
        case "any":
            drawing.node(node.id, state_label(node, "I", fixed=plan.fixed_text), color=GREY, **_common(node))
        case "state" if node.children:
            _composite(drawing, node, plan)
        case "state":
            drawing.node(node.id, state_label(node, "B", fixed=plan.fixed_text), **_look(node), **_common(node))


def _composite(drawing: Digraph, node: Node, plan: Layout) -> None:
    with drawing.subgraph(name=f"cluster_{node.id}") as cluster:
        look = {k: v for k, v in _look(node).items() if k != "peripheries"}
        label = state_label(node, "B", fixed=plan.fixed_text, room=node.id in plan.entered)
        cluster.attr(label=label, fontsize="10", labelloc="t", margin="12")
        cluster.attr(**{"color": INK, **look, "fillcolor": PALER}, **_common(node))
        for child in node.children:
            _node(cluster, child, plan)
        _middles(cluster, node.id, plan)


def _common(node: Node) -> dict[str, str]:
    tones = () if node.mark is None else (node.mark.tone,)
    kind = "composite" if node.children else node.kind
    return {"id": node.id, "class": " ".join([kind, *sorted(node.flags), *tones]), **_tip(node.tooltip)}


_BORDERS: Mapping[Flag, str] = {"volatile": "dashed", "transient": "dotted"}


def _look(node: Node) -> dict[str, str]:
    borders = [_BORDERS[flag] for flag in ("volatile", "transient") if flag in node.flags]
    look = {"style": ",".join(["rounded", "filled", *borders[:1]])}
    if "persistent" in node.flags:
        look["penwidth"] = "2.4"
    if "final" in node.flags:
        look["peripheries"] = "2"
    if "amended" in node.flags:
        look["color"] = LINES["amended"]
    if "error" in node.flags:
        look |= {"color": RED, "fillcolor": RED, "fontcolor": "white"}
    if node.mark is not None:
        look |= {"color": TONES[node.mark.tone], "penwidth": "3"}
    return look


# Edges ---------------------------------------------------------------------------------------------------------------


def _edge(drawing: Digraph, edge: Edge, plan: Layout) -> None:
    classes = [edge.line, *(f"transition-{i}" for i in edge.transitions), *_tone(edge.mark)]
    common = {**_edge_look(edge), "class": " ".join(classes), **_tip(_tooltip(edge))}
    if edge.id in plan.spine:
        common["weight"] = "2"
    if edge.id in plan.loose:
        common["constraint"] = "false"
    if edge.id in plan.upward:
        _upward(drawing, edge, common, plan)
        return
    tail, source = _end(edge.source, plan, "ltail", 0)
    head, target = _end(edge.target, plan, "lhead", 1)
    if edge.id in plan.broken:
        into, out = _shaft_ends(edge, plan)
        drawing.edge(source, into, **tail, **{**common, "arrowhead": "none"}, id=edge.id)
        drawing.edge(out, target, **head, **common, id=f"{edge.id}-head")
    else:
        label = {"label": f"<{transition_labels(edge.labels, fixed=plan.fixed_text)}>"} if edge.labels else {}
        drawing.edge(source, target, **tail, **head, **label, **common, id=edge.id)


def _upward(drawing: Digraph, edge: Edge, common: Mapping[str, str], plan: Layout) -> None:
    """A labelled edge at a composite that leads to an earlier state: drawn backwards, so that its label is between."""
    head, target = _end(edge.target, plan, "ltail", 1)
    tail, source = _end(edge.source, plan, "lhead", 1)
    look = {k: v for k, v in common.items() if k != "arrowhead"}
    tip = {"arrowtail": common["arrowhead"]} if "arrowhead" in common else {}
    into, out = _shaft_ends(edge, plan)
    drawing.edge(target, into, **head, **look, **tip, dir="back", id=f"{edge.id}-head")
    drawing.edge(out, source, **tail, **look, arrowhead="none", id=edge.id)


def _across(edge: Edge, plan: Layout) -> bool:
    """Does the edge lead from left to right?"""
    return plan.direction == "LR" and edge.id not in plan.down


def _shaft_ends(edge: Edge, plan: Layout) -> tuple[str, str]:
    """Where the line beside a label begins and ends."""
    sides = ("w", "e") if _across(edge, plan) else ("n", "s")
    into, out = (f"{_middle(edge)}:line:{side}" for side in sides)
    return into, out


def _end(node: str, plan: Layout, attribute: str, which: int) -> tuple[dict[str, str], str]:
    """The node at which DOT has an edge begin or end, and the border up to which it is drawn."""
    if node in plan.ends:
        return {attribute: f"cluster_{node}"}, plan.ends[node][which]
    return {}, node


def _middles(drawing: Digraph, inside: str | None, plan: Layout) -> None:
    """Labels of edges at composites, which Graphviz would put next to a leaf, and of edges within a column, which it
    would put on the edge: they are nodes on the way, with a line at their left that the parts of the edge continue."""
    for edge in (edge for edge, home in plan.broken.values() if home == inside):
        rows = transition_labels(edge.labels, fixed=plan.fixed_text)
        label = beside_line(rows, *_shaft(edge), across=_across(edge, plan))
        drawing.node(_middle(edge), f"<{label}>", shape="plain", style="", id=_middle(edge))


def _shaft(edge: Edge) -> tuple[Shaft, str, int]:
    """How a line is drawn that continues an edge: style, colour, width."""
    look = _edge_look(edge)
    shaft: Shaft = "dashed" if edge.line == "crash" else "double" if edge.line == "amended" else "solid"
    return shaft, look.get("color", GREY).partition(":")[0], round(float(look.get("penwidth", "1.1")))


def _grid(drawing: Digraph, plan: Layout) -> None:
    """The rows (or columns) of the spec's `layout`: states of one are side by side, and the first of each, the second
    of each, … in line. Graphviz knows ranks only, so invisible edges keep the order."""
    for rank in plan.ranks:
        with drawing.subgraph() as level:
            level.attr(rank="same")
            for node in [*rank, *(_middle(e) for e, _ in plan.broken.values() if plan.down.get(e.id) == rank)]:
                level.node(node)
        for left, right in pairwise(rank):
            drawing.edge(left, right, style="invis")
    for above, below in pairwise(plan.ranks):
        for one, other in zip(above, below, strict=False):
            drawing.edge(one, other, style="invis", weight="4")


def _middle(edge: Edge) -> str:
    return f"label-{edge.id}"


def _tooltip(edge: Edge) -> str:
    return "\n".join(label.tooltip for label in edge.labels)


def _tone(mark: Mark | None) -> Sequence[Tone]:
    return () if mark is None else (mark.tone,)


def _edge_look(edge: Edge) -> dict[str, str]:
    look = {}
    colour = LINES[edge.line]
    if edge.mark is not None:
        colour = TONES[edge.mark.tone]
        look["penwidth"] = _WIDTHS[edge.mark.tone] if edge.line != "amended" else "1.4"
    if edge.line == "crash":
        look["style"] = "dashed"
    if edge.into_junction:
        look["arrowhead"] = "none"
    elif edge.mark is not None and edge.mark.tone == "unseen":
        look["arrowhead"] = "empty"
    if colour != GREY:
        look["color"] = f"{colour}:{colour}" if edge.line == "amended" else colour
    return look


_WIDTHS: Mapping[Tone, str] = {"focus": "3", "seen": "2.2", "unseen": "1.1"}


def _tip(text: str) -> dict[str, str]:
    """A tooltip. (Where there is none it is blank, or Graphviz would make one up.) Graphviz takes `&lt;` for a sign
    already, and looks for escapes twice."""
    from graphviz import escape as quoted

    return {"tooltip": quoted(text.replace("&", "&amp;").replace("\\", "\\\\"))} if text else {}


# Legend --------------------------------------------------------------------------------------------------------------


def _legend(entries: Sequence[Entry], *, fixed: bool) -> str:
    columns = 2 if len(entries) <= 6 else 3
    rows = [entries[i : i + columns] for i in range(0, len(entries), columns)]
    cells = "".join(f"<TR>{''.join(_entry(entry, fixed=fixed) for entry in row)}</TR>" for row in rows)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="0">{cells}</TABLE>>'


def _entry(entry: Entry, *, fixed: bool) -> str:
    meaning = MEANING[entry]
    label, width = f'{label_text(meaning)}<BR ALIGN="LEFT"/>', text_width(meaning, LEGEND_SIZE)
    cell = text_cell(label, width, LEGEND_SIZE, fixed=fixed, attributes='ALIGN="LEFT"')
    return f'<TD WIDTH="26">{_swatch(entry, fixed=fixed)}</TD>{cell}{GAP}'


def _swatch(entry: Entry, *, fixed: bool) -> str:
    match entry:
        case "initial":
            return _dot(INK, 11)
        case "junction":
            return _dot(GREY, 5)
        case "final":
            return _box(inner=_box(width=14, height=6))
        case "resting":
            word = text_cell(
                "<B><U>state</U></B>", text_width("state", LEGEND_SIZE, bold=True), LEGEND_SIZE, fixed=fixed
            )
            return f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR>{word}</TR></TABLE>'
        case "persistent":
            return _box(border=2)
        case "volatile" | "transient":
            return _box(style=f"rounded,{_BORDERS[entry]}")
        case "error":
            return _box(colour=RED, fill=RED)
        case "crash":
            return _stroke(LINES["crash"], "T", "dashed")
        case "amended":
            return _stroke(LINES["amended"], "TB", "solid")
        case "focus" | "seen" | "unseen":
            return _box(colour=TONES[entry], border=2)


def _box(
    *, style: str = "rounded", border: int = 1, colour: str = INK, fill: str = PALE, inner: str = "",
    width: int = 20, height: int = 10,
) -> str:  # fmt: skip
    size = "" if inner else f' WIDTH="{width}" HEIGHT="{height}" FIXEDSIZE="TRUE"'
    look = f'BORDER="{border}" STYLE="{style}" COLOR="{colour}" BGCOLOR="{fill}"'
    return f'<TABLE {look} CELLBORDER="0" CELLPADDING="0" CELLSPACING="2"><TR><TD{size}>{inner}</TD></TR></TABLE>'


def _dot(colour: str, size: int) -> str:
    extent = f'FIXEDSIZE="TRUE" WIDTH="{size}" HEIGHT="{size}"'
    look = f'BORDER="1" STYLE="rounded" COLOR="{colour}" BGCOLOR="{colour}" CELLPADDING="0" CELLSPACING="0"'
    return f"<TABLE {extent} {look}><TR><TD></TD></TR></TABLE>"


def _stroke(colour: str, sides: str, style: str) -> str:
    look = f'BORDER="1" SIDES="{sides}" STYLE="{style}" COLOR="{colour}"'
    line = f'<TD WIDTH="20" HEIGHT="3" FIXEDSIZE="TRUE" {look}></TD>'
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR>{line}</TR></TABLE>'
