"""The trees of tree-sitter: going through them, and where their nodes are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fsmdsl.interop.imports.rules import TOO_DEEP
from fsmdsl.interop.imports.table import ImportFailedError
from fsmdsl.text.source import Source, Span

Node = Any
"""A node of tree-sitter's tree."""


_CHUNK = 1 << 16


def root_of(parser: Any, source: Source) -> Node:
    """The root of the tree of a source. Raises `ImportFailedError` where the parser does not come to an end.

    Behind some errors tree-sitter searches for ever, and no signal ends it. So it parses twice: the first time with a
    limit that no other source comes near. (A tree that was parsed with a limit does not have the text of its nodes.)
    """
    content = f"{source.text}\n".encode("utf-8", "replace")
    left = 2000 + len(content)

    def reached(*_: object) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    try:
        parser.parse(lambda at, _: content[at : at + _CHUNK], progress_callback=reached)
    except ValueError as error:
        place = Span(source, 0, 0)
        raise ImportFailedError(TOO_DEEP.at(place, "the parser does not come to an end, behind an error")) from error
    return parser.parse(content).root_node


def walk(node: Node) -> Iterator[Node]:
    """The node and all that is in it, in the order of the text; no deeper than a stack can hold."""
    waiting = [node]
    while waiting:
        here = waiting.pop()
        yield here
        waiting.extend(reversed(here.children))


def span(source: Source, node: Node) -> Span:
    """Where a node is written."""
    line = min(node.start_point[0], len(source.line_starts) - 1)
    start = source.line_starts[line]
    column = len(source.line(line + 1).encode("utf-8", "replace")[: node.start_point[1]].decode("utf-8", "replace"))
    return Span(source, start + column, start + column)


def text(node: Node | None) -> str:
    """What is written there."""
    return "" if node is None or node.text is None else node.text.decode("utf-8", "replace")


def children(node: Node | None) -> list[Node]:
    """The named nodes directly inside of one."""
    return [] if node is None else node.named_children
