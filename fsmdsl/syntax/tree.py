"""What the parser makes of a text before it has a meaning: tokens, comments, and a tree of them."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl.dataclasses import NamedTuple, dataclass


@dataclass(slots=True)
class Token:
    """A word or sign. `kind` is the word or sign itself, or for open classes `NAME`, `INT`, `STRING` and so on.

    Never changed once made (not frozen, because that makes tokens four times as slow to make).
    """

    kind: str
    text: str
    start: int
    end: int


class Comment(NamedTuple):
    """`// …` or, when `doc`, `/// …`; `previous` is where the token before it ends (-1: none), a `;` that begins
    its line aside."""

    doc: bool
    text: str
    start: int
    end: int
    previous: int


class Node:
    """A part of the text that follows one rule of the grammar; signs and words that say nothing more are left out."""

    __slots__ = ("children", "end", "rule", "start")

    def __init__(self, rule: str, children: list[Node | Token], start: int, end: int) -> None:
        self.rule = rule
        self.children = children
        self.start = start
        self.end = end

    def every(self, *rules: str) -> Iterator[Node]:
        """The children that follow one of these rules, in order."""
        return (c for c in self.children if isinstance(c, Node) and c.rule in rules)

    def one(self, *rules: str) -> Node | None:
        """The first child that follows one of these rules."""
        return next(self.every(*rules), None)

    def nodes(self) -> list[Node]:
        """The children that are no tokens."""
        return [c for c in self.children if isinstance(c, Node)]

    def token(self, kind: str) -> Token | None:
        """The first token of a kind that is a child."""
        return next((c for c in self.children if isinstance(c, Token) and c.kind == kind), None)

    def text(self) -> str:
        """The words of a node that has only tokens."""
        return " ".join(c.text for c in self.children if isinstance(c, Token))

    def __repr__(self) -> str:
        inside = " ".join(c.text if isinstance(c, Token) else repr(c) for c in self.children)
        return f"({self.rule} {inside})" if inside else f"({self.rule})"
