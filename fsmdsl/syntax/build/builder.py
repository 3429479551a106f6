"""The pieces that declarations of all kinds are built of: places, names, texts, doc comments."""

from __future__ import annotations

import re

from fsmdsl import syntax as s
from fsmdsl.syntax.build.docs import Docs
from fsmdsl.text.source import Source, Span
from fsmdsl.syntax.tree import Node, Token

_ESCAPE = r'\\(["\\])'


class Builder:
    """Turns nodes of one source into syntax."""

    def __init__(self, source: Source, docs: Docs) -> None:
        self.source = source
        self.docs = docs

    def span(self, part: Node | Token) -> Span:
        """Where a part stands."""
        return Span(self.source, part.start, part.end)

    def doc(self, node: Node) -> str:
        """The doc comments of a declaration. Ask for those of its parts first."""
        before, behind = self.docs.before(node.start), self.docs.behind(node.start, node.end)
        return f"{before}\n{behind}" if before and behind else before or behind

    def name(self, node: Node) -> s.Name:
        """A name, or `*`."""
        return s.Name(node.text(), self.span(node))

    def names(self, node: Node | None) -> tuple[s.Name, ...]:
        """The names that are parts of a node."""
        return () if node is None else tuple(self.name(c) for c in node.every("name", "anything"))

    def path(self, node: Node) -> s.Path:
        """`hived.Cell`."""
        return s.Path(self.names(node), self.span(node))

    def paths(self, node: Node | None, rule: str = "path") -> tuple[s.Path, ...]:
        """The paths that are parts of a node."""
        return () if node is None else tuple(self.path(p) for p in node.every(rule))

    def text(self, token: Token) -> s.Text:
        """What stands in the quotes."""
        text = token.text[1:-1]
        return s.Text(re.sub(_ESCAPE, r"\1", text) if "\\" in text else text, self.span(token))

    def title(self, node: Node) -> s.Text | None:
        """The text in quotes that a declaration may have."""
        token = node.token("STRING")
        return None if token is None else self.text(token)

    def label(self, node: Node) -> s.Name | None:
        """The name before the colon that an invariant or property may have."""
        label = node.one("label")
        return None if label is None else self.names(label)[0]


def number(node: Node) -> int:
    """The number that is a part of a node."""
    token = node.token("INT")
    assert token is not None
    return int(token.text)


def only(node: Node) -> Node:
    """The first part of a node that is a node, where there always is one."""
    return node.nodes()[0]
