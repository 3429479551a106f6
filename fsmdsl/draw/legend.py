"""The notation that a picture uses, each piece of it once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from fsmdsl.draw.graph import Graph, Node

Entry = Literal[
    "initial", "final", "resting", "persistent", "volatile", "transient", "error", "junction", "crash", "amended",
    "focus", "seen", "unseen",
]  # fmt: skip

MEANING: dict[Entry, str] = {
    "initial": "initial",
    "final": "final",
    "resting": "resting: may stay here",
    "persistent": "persistent: outlives a crash",
    "volatile": "volatile: lost in a crash",
    "transient": "transient: left in the same round",
    "error": "error",
    "junction": "from each of several states",
    "crash": "after a crash",
    "amended": "amended: not so in the document",
    "focus": "in focus",
    "seen": "reached or followed",
    "unseen": "never reached or followed",
}
"""What each piece of notation says, in the order in which a legend lists them."""


def legend(graph: Graph) -> list[Entry]:
    """The entries that occur in a graph."""
    used = set(_used(graph))
    return [entry for entry in MEANING if entry in used]


def _used(graph: Graph) -> Iterator[Entry]:
    for node in graph.every():
        yield from _of_node(node)
    for edge in graph.edges:
        if edge.line != "plain":
            yield edge.line
        if edge.mark is not None:
            yield edge.mark.tone


def _of_node(node: Node) -> Iterator[Entry]:
    match node.kind:
        case "start":
            yield "initial"
        case "junction":
            yield "junction"
        case "state" | "any":
            yield from node.flags
            yield from (label.line for label in node.inside if label.line != "plain")
            if node.mark is not None:
                yield node.mark.tone
