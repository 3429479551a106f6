"""Graph to DOT. The text alone is a result; `svg` has Graphviz lay it out.

Colours: everything neutral is `INK`, or `INK` made translucent, which `restyle` turns into the colour of the page's
text; the others are readable on white and on black. None of them says anything that shape or line does not say too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Literal

from fsmdsl.draw.arrows import Line
from fsmdsl.draw.graph import Edge, Flag, Graph, Label, Mark, Node, Tone
from fsmdsl.draw.labels import WIDTH, Part, lines, written
from fsmdsl.draw.layout import Layout, layout
from fsmdsl.draw.legend import MEANING, Entry, legend
from fsmdsl.draw.text import wrapped

if TYPE_CHECKING:
    from graphviz import Digraph

INK = "#24292f"
PALE = f"{INK}0d"
PALER = f"{INK}08"
GREY = "#6e7781"
RED = "#c4323d"
LINES: Mapping[Line, str] = {"plain": GREY, "amended": "#8250df", "crash": "#bc6c25"}
TONES: Mapping[Tone, str] = {"focus": "#1f7ae0", "seen": "#238636", "unseen": "#bf3989"}
FONT = "Helvetica,Arial,Liberation Sans,sans-serif"

Direction = Literal["TB", "LR"]

MANY = 250
"""From so many edges on, Graphviz is told to take less trouble: it would take a quarter of a minute for a thousand."""


def dot(graph: Graph, direction: Direction = "TB", *, with_legend: bool = True) -> str:
    """The graph in Graphviz's language, from top to bottom or from left to right."""
    from graphviz import Digraph

    drawing = Digraph("machine")
    drawing.attr("graph", rankdir=direction, compound="true", newrank="true", nodesep="0.3", ranksep="0.35")
    drawing.attr("graph", fontname=FONT, fontsize="9", fontcolor=INK, labelloc="b", pad="0.1", id=graph.id)
    drawing.attr("graph", bgcolor="transparent", tooltip=" ")
    drawing.attr("node", shape="box", style="rounded,filled", fillcolor=PALE, color=INK, margin="0.15,0.08")
    drawing.attr("node", fontname=FONT, fontsize="10", fontcolor=INK, height="0.4")
    drawing.attr("edge", fontname=FONT, fontsize="10", fontcolor=INK, color=GREY, arrowsize="0.7", penwidth="1.1")
    drawing.attr("edge", labeltooltip=" ", tooltip=" ")
    drawing.attr("node", tooltip=" ")
    if len(graph.edges) > MANY:
        drawing.attr("graph", nslimit="1", nslimit1="1", mclimit="0.1", splines="polyline")
    entries = legend(graph) if with_legend else []
    if entries:
        drawing.attr("graph", label=_legend(entries))
    plan = layout(graph)
    for node in graph.nodes:
        _node(drawing, node, plan)
    _middles(drawing, plan.broken.get(None, ()))
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
            drawing.node(node.id, _named(node, "I"), color=GREY, **_common(node))
        case "state" if node.children:
            _composite(drawing, node, plan)
        case "state":
            drawing.node(node.id, _named(node, "B"), **_look(node), **_common(node))


def _composite(drawing: Digraph, node: Node, plan: Layout) -> None:
    with drawing.subgraph(name=f"cluster_{node.id}") as cluster:
        look = {k: v for k, v in _look(node).items() if k != "peripheries"}
        cluster.attr(label=_named(node, "B"), fontsize="10", labelloc="t", margin="12")
        cluster.attr(**{"color": INK, **look, "fillcolor": PALER}, **_common(node))
        for child in node.children:
            _node(cluster, child, plan)
        _middles(cluster, plan.broken.get(node.id, ()))


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


def _named(node: Node, tag: Literal["B", "I"]) -> str:
    """The name, and below it an overlay's note and the internal transitions, with room to spare for a reader's font
    that is wider than the one that Graphviz measured."""
    on = "white" if "error" in node.flags and not node.children else None
    name = f"+{node.name}" if "amended" in node.flags else node.name
    shown = [f"<{tag}>{_text(line)}</{tag}>" for line in wrapped(name, 24) or [" "]]
    parts = [f'<FONT POINT-SIZE="12">{"<BR/>".join(shown)}</FONT>']
    if node.mark is not None and node.mark.note:
        parts.append(_note(node.mark, on))
    if node.inside:
        parts.append(_labels(node.inside, on))
    if len(parts) == 1:
        return f"<{parts[0]}>"
    letters = max((len(written(label)) for label in node.inside), default=0)
    spare = f'<TD WIDTH="{min(letters, WIDTH) // 2}" HEIGHT="3" FIXEDSIZE="TRUE"></TD>'
    rows = "".join(f"<TR>{spare}<TD>{part}</TD>{spare}</TR>" for part in parts)
    return f'<<TABLE BORDER="0" CELLSPACING="0" CELLPADDING="0">{rows}</TABLE>>'


def _note(mark: Mark, on: str | None) -> str:
    lines = "<BR/>".join(_text(line) for line in wrapped(mark.note, 24, 2))
    return f'<FONT COLOR="{on or TONES[mark.tone]}">{lines}</FONT>'


# Edges ---------------------------------------------------------------------------------------------------------------


def _edge(drawing: Digraph, edge: Edge, plan: Layout) -> None:
    tip = _tip(_told(edge))
    classes = [edge.line, *(f"transition-{i}" for i in edge.transitions), *_tone(edge.mark)]
    common = {**_edge_look(edge), "class": " ".join(classes), **tip}
    if edge.id in plan.spine:
        common["weight"] = "2"
    tail, source = _end(edge.source, plan, "ltail", 0)
    head, target = _end(edge.target, plan, "lhead", 1)
    if edge.labels and (tail or head):
        middle = _middle(edge)
        drawing.edge(source, middle, **tail, **{**common, "arrowhead": "none"}, id=edge.id)
        drawing.edge(middle, target, **head, **common, id=f"{edge.id}-head")
    else:
        label = {"label": f"<{_labels(edge.labels)}>"} if edge.labels else {}
        drawing.edge(source, target, **tail, **head, **label, **common, id=edge.id)


def _end(node: str, plan: Layout, attribute: str, which: int) -> tuple[dict[str, str], str]:
    """The node at which DOT has an edge begin or end, and the border up to which it is drawn."""
    if node in plan.ends:
        return {attribute: f"cluster_{node}"}, plan.ends[node][which]
    return {}, node


def _middles(drawing: Digraph, broken: Iterable[Edge]) -> None:
    """Labels of edges at composites: Graphviz would put them next to a leaf, so they are nodes on the way."""
    for edge in broken:
        drawing.node(_middle(edge), f"<{_labels(edge.labels)}>", shape="plain", style="", id=_middle(edge))


def _middle(edge: Edge) -> str:
    return f"label-{edge.id}"


def _told(edge: Edge) -> str:
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


def _labels(labels: Iterable[Label], on: str | None = None) -> str:
    """One row for each label. `on` is the colour of everything, where the ground is dark."""
    listed = list(labels)
    rows = "".join(_row(label, on, said=n > 0 and _same(listed[n - 1], label)) for n, label in enumerate(listed))
    return f'<TABLE BORDER="0" CELLSPACING="0" CELLPADDING="1">{rows}</TABLE>'


_GAP = '<TD WIDTH="3" HEIGHT="3" FIXEDSIZE="TRUE"></TD>'
"""Between an arrow and what is written beside it. (A cell without a size is as high as a line of large text.)"""


_STRUT = '<FONT POINT-SIZE="12"> </FONT>'
"""Lines that mix fonts are set tight by Graphviz, others are not; this makes them alike."""


def _same(one: Label, other: Label) -> bool:
    """May the second go without its name and trigger, because only the guards differ?"""
    heads = [(label.name, label.trigger, label.line) for label in (one, other)]
    return heads[0] == heads[1] and heads[0] != ("", "", "plain") and bool(one.guard and other.guard)


def _row(label: Label, on: str | None, *, said: bool) -> str:
    own = TONES[label.mark.tone] if label.mark is not None else INK if label.line == "plain" else LINES[label.line]
    laid = lines(label, said=said)
    strut = _STRUT if len(laid) > 1 else ""
    shown = "".join(f'{_line(line, label, on)}{strut}<BR ALIGN="LEFT"/>' for line in laid)
    tip = _text(label.tooltip.replace("&", "&amp;"))
    cell = f'<TD ALIGN="LEFT" BALIGN="LEFT" ID="{label.id}" TITLE="{tip}" TARGET="_self">'
    return f'<TR>{_GAP}{cell}<FONT COLOR="{on or own}">{shown}</FONT></TD></TR>'


def _line(parts: Iterable[Part], label: Label, on: str | None) -> str:
    return "".join(_part(part, label, on) for part in parts)


def _part(part: Part, label: Label, on: str | None) -> str:
    text = _text(part.text)
    match part.role:
        case "name":
            return f"<B>{text}</B>"
        case "trigger":
            return text
        case "guard":
            return f'<FONT COLOR="{on or GREY}"><I>{text}</I></FONT>'
        case "note":
            colour = GREY if label.mark is None else TONES[label.mark.tone]
            return f'<FONT COLOR="{on or colour}">{text}</FONT>'


def _text(text: str) -> str:
    """Text in an HTML-like label, where a backslash and a letter would stand for a name, unless it is doubled."""
    return escape(text).replace("\n", "&#10;").replace("\\", "&#92;&#92;")


def _tip(text: str) -> dict[str, str]:
    """A tooltip. (Where there is none it is blank, or Graphviz would make one up.) Graphviz takes `&lt;` for a sign
    already, and looks for escapes twice."""
    from graphviz import escape as quoted

    return {"tooltip": quoted(text.replace("&", "&amp;").replace("\\", "\\\\"))} if text else {}


# Legend --------------------------------------------------------------------------------------------------------------


def _legend(entries: Sequence[Entry]) -> str:
    columns = 2 if len(entries) <= 6 else 3
    rows = [entries[i : i + columns] for i in range(0, len(entries), columns)]
    shown = "".join(f"<TR>{''.join(_entry(entry) for entry in row)}</TR>" for row in rows)
    return f'<<TABLE BORDER="0" CELLBORDER="0" CELLSPACING="4" CELLPADDING="0">{shown}</TABLE>>'


def _entry(entry: Entry) -> str:
    return f'<TD WIDTH="26">{_swatch(entry)}</TD><TD ALIGN="LEFT">{_text(MEANING[entry])}</TD>{_GAP}'


def _swatch(entry: Entry) -> str:
    match entry:
        case "initial":
            return '<FONT POINT-SIZE="15">&#9679;</FONT>'
        case "junction":
            return f'<FONT COLOR="{GREY}" POINT-SIZE="16">&#8226;</FONT>'
        case "final":
            return _box(inner=_box(width=14, height=6))
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


def _stroke(colour: str, sides: str, style: str) -> str:
    look = f'BORDER="1" SIDES="{sides}" STYLE="{style}" COLOR="{colour}"'
    line = f'<TD WIDTH="20" HEIGHT="3" FIXEDSIZE="TRUE" {look}></TD>'
    return f'<TABLE BORDER="0" CELLBORDER="0" CELLPADDING="0" CELLSPACING="0"><TR>{line}</TR></TABLE>'
