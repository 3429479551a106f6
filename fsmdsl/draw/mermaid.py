"""Graph to Mermaid's `stateDiagram-v2`, as GitHub and notebooks render it.

Mermaid has no line styles for arrows of states, so amended ones are marked by their `+` and the colour of their text.
Composites inside composites are flattened (see `flatten`). It draws no arrow between a composite and a state in it, and
none is here: `arrows` has put leaves in the composite's place. (Where a composite has parallel regions, arrows to it
fail as well; the language has no regions.)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from fsmdsl.draw.flatten import flattened
from fsmdsl.draw.graph import Direction, Edge, Graph, Label, Node
from fsmdsl.draw.labels import NAME_WIDTH, plain, titled, written
from fsmdsl.draw.layout import enclosing
from fsmdsl.draw.palette import LINES, RED, TONES
from fsmdsl.draw.text import identifiers, wrapped

RESERVED = frozenset({
    "accdescr", "acctitle", "as", "class", "classdef", "click", "default", "direction", "end", "hide", "href",
    "note", "root", "root_end", "root_start", "scale", "state", "statediagram", "style", "title",
})  # fmt: skip
"""Words that mean something to Mermaid, in any case."""

_LOOKS: Mapping[str, str] = {
    "final": "font-weight:bold",
    "resting": "text-decoration:underline",
    "persistent": "stroke-width:3px",
    "volatile": "stroke-dasharray:6 4",
    "transient": "stroke-dasharray:2 4",
    "error": f"fill:{RED},color:#fff",
    "amended": f"stroke:{LINES['amended']},stroke-width:2px",
    "focus": f"stroke:{TONES['focus']},stroke-width:4px",
    "seen": f"stroke:{TONES['seen']},stroke-width:4px",
    "unseen": f"stroke:{TONES['unseen']},stroke-width:4px",
}


def mermaid(graph: Graph, direction: Direction | None = None) -> str:
    """The graph in Mermaid's language. Give it a graph without junctions."""
    graph = flattened(graph)
    own = {f"{n.name}_{end}".casefold() for n in graph.every() if n.children for end in ("start", "end")}
    names = identifiers((n.id for n in graph.every() if n.kind in ("state", "any")), RESERVED | own)
    home = enclosing(graph)
    body = [
        *_scope(graph.nodes, None, graph, names, home),
        *(f"{names[n.id]} --> [*]" for n in graph.every() if "final" in n.flags),
        *_classes(graph, names),
    ]
    head = ["stateDiagram-v2", f"    direction {direction or graph.direction}"]
    return "\n".join([*head, *(f"    {line}" for line in body)]) + "\n"


def _scope(
    nodes: Iterable[Node], inside: str | None, graph: Graph, names: Mapping[str, str], home: Mapping[str, str | None]
) -> Iterator[str]:
    """The states of the machine or of a composite, then the arrows between them."""
    for node in nodes:
        if node.id not in names:
            continue
        title = joined(wrapped(titled(node), NAME_WIDTH))
        rows = [_coloured(label, joined([written(label)])) for label in node.inside]
        if node.children:
            yield f'state "{"<br/>".join([title, *rows])}" as {names[node.id]} {{'
            yield from (f"    {line}" for line in _scope(node.children, node.id, graph, names, home))
            yield "}"
        else:
            yield f'state "{title}" as {names[node.id]}'
            yield from (f"{names[node.id]} : {row}" for row in rows)
    yield from (_arrow(edge, names) for edge in graph.edges if home[edge.id] == inside)


def _arrow(edge: Edge, names: Mapping[str, str]) -> str:
    arrow = f"{names.get(edge.source, '[*]')} --> {names.get(edge.target, '[*]')}"
    text = "<br/>".join(_coloured(label, joined(plain(label))) for label in edge.labels)
    return f"{arrow} : {text}" if text else arrow


def _coloured(label: Label, text: str) -> str:
    """Text of an amended row in a colour that can be read in light and dark; by name, for `#` is Mermaid's own."""
    return f"<font color=mediumorchid>{text}</font>" if label.line == "amended" and text else text


def _classes(graph: Graph, names: Mapping[str, str]) -> Iterator[str]:
    """Looks can be given to leaves alone."""
    for look, style in _LOOKS.items():
        members = [names[n.id] for n in graph.every() if n.id in names and not n.children and look in _looks(n)]
        if members:
            yield f"classDef {look} {style}"
            yield f"class {','.join(members)} {look}"


def _looks(node: Node) -> set[str]:
    return {*node.flags, *([node.mark.tone] if node.mark is not None else [])}


_SPECIAL = re.compile(r"[;\"<>#&%\\`$*~]|^[-:=]|:(?=:)|^\+(?=\s)|^\d+[.)]|(?<!\w)_|_(?!\w)")
"""What Mermaid, or the Markdown and HTML that it takes labels for, would not print as it is."""


def joined(lines: Iterable[str]) -> str:
    """Lines of a label, of which no colon can be the last letter."""
    text = "<br/>".join(escaped(line) for line in lines)
    return f"{text[:-1]}#58;" if text.endswith(":") else text


def escaped(text: str) -> str:
    """Text that Mermaid prints as it is."""
    return _SPECIAL.sub(lambda match: "".join(f"#{ord(c)};" for c in match[0]), text)
