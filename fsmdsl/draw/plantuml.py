"""Graph to PlantUML's state diagrams."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from fsmdsl.draw.graph import Direction, Edge, Graph, Node
from fsmdsl.draw.labels import NAME_WIDTH, plain, titled, written
from fsmdsl.draw.layout import enclosing
from fsmdsl.draw.legend import MEANING, Entry, legend
from fsmdsl.draw.palette import GREY, INK, LINES, TONES
from fsmdsl.draw.text import identifiers, wrapped

RESERVED = frozenset({
    "as", "end", "state", "note", "legend", "title", "left", "right", "top", "bottom", "hide", "skinparam", "scale",
    "start", "stop", "of",
})  # fmt: skip
"""Words that mean something to PlantUML."""

_BREAK = r"\n"
_BORDERS = {"persistent": "bold", "volatile": "dashed", "transient": "dotted"}

_NOTATION: Mapping[Entry, str] = {
    "resting": "",
    "persistent": "",
    "volatile": "",
    "transient": "",
    "crash": "dashed: ",
    "amended": "<U+002B>: ",
    "focus": "blue: ",
    "seen": "green: ",
    "unseen": "magenta: ",
}
"""What a legend in words says of the notation, where it is not a word itself; the rest is as everywhere in UML."""


def plantuml(graph: Graph, direction: Direction | None = None) -> str:
    """The graph in PlantUML's language. Give it a graph without junctions."""
    names = identifiers((n.id for n in graph.every() if n.kind in ("state", "any")), RESERVED)
    home = enclosing(graph)
    lines = [
        "@startuml",
        "hide empty description",
        *(["left to right direction"] if (direction or graph.direction) == "LR" else []),
        "skinparam shadowing false",
        f"skinparam state {{\n  BackgroundColor #f6f8fa\n  BorderColor {INK}\n  ArrowColor {GREY}\n}}",
        *_scope(graph.nodes, None, graph, names, home),
        *(f"{names[n.id]} --> [*]" for n in graph.every() if "final" in n.flags),
        *_legend(graph),
        "@enduml",
    ]
    return "\n".join(lines) + "\n"


def _scope(
    nodes: Iterable[Node], inside: str | None, graph: Graph, names: Mapping[str, str], home: Mapping[str, str | None]
) -> Iterator[str]:
    """The states of the machine or of a composite, then the arrows between them."""
    for node in nodes:
        if node.id not in names:
            continue
        title = _BREAK.join(escaped(line) for line in wrapped(titled(node), NAME_WIDTH))
        state = f'state "{title}" as {names[node.id]}{_look(node)}'
        if node.children:
            yield f"{state} {{"
            yield from (f"  {line}" for line in _scope(node.children, node.id, graph, names, home))
            yield "}"
        else:
            yield state
        yield from (f"{names[node.id]} : {line}" for line in _inside(node))
    yield from (_arrow(edge, names) for edge in graph.edges if home[edge.id] == inside)


def _inside(node: Node) -> Iterator[str]:
    """The flags in words, for not every version draws borders as told; then the internal transitions."""
    flags = [flag for flag in ("resting", "persistent", "volatile", "transient", "error") if flag in node.flags]
    if flags:
        yield f"«{', '.join(flags)}»"
    yield from (escaped(written(label)) for label in node.inside)


def _look(node: Node) -> str:
    border = next((style for flag, style in _BORDERS.items() if flag in node.flags), "")
    colour = TONES[node.mark.tone] if node.mark is not None else LINES["amended"] if "amended" in node.flags else ""
    fill = " #f7d5d8" if "error" in node.flags and not node.children else ""
    line = f" ##{f'[{border}]' if border else ''}{colour.removeprefix('#')}" if border or colour else ""
    return fill + line


def _arrow(edge: Edge, names: Mapping[str, str]) -> str:
    colour = TONES[edge.mark.tone] if edge.mark is not None else LINES[edge.line]
    styles = [*([colour] if colour != GREY else []), *(["dashed"] if edge.line == "crash" else [])]
    shaft = f"-[{','.join(styles)}]->" if styles else "-->"
    arrow = f"{names.get(edge.source, '[*]')} {shaft} {names.get(edge.target, '[*]')}"
    rows = [escaped(line) for label in edge.labels for line in plain(label)]
    return f"{arrow} : {_BREAK.join(rows)}" if rows else arrow


def _legend(graph: Graph) -> Iterator[str]:
    entries = [entry for entry in legend(graph) if entry in _NOTATION]
    if entries:
        yield "legend"
        yield from (f"{_NOTATION[entry]}{MEANING[entry]}" for entry in entries)
        yield "end legend"


_SPECIAL = re.compile(r"[<>&\"\\%'$~|#@!]|\*\*|//|__|--|\[\[|\]\]|^[\s=.*+-]")


def escaped(text: str) -> str:
    """Text that PlantUML prints literally: characters with a meaning to it become numeric escapes."""
    return _SPECIAL.sub(lambda match: "".join(f"<U+{ord(c):04X}>" for c in match[0]), text)
