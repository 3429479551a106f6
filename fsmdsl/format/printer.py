"""Nodes as text that can be broken: every token of the author's, with the canonical space between any two."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fsmdsl.format.doc import Doc, Either, Group, Hard, Line, Nest, Remark
from fsmdsl.format.margins import Margin, margins
from fsmdsl.parse.reading import Reading
from fsmdsl.parse.table import load
from fsmdsl.source import Source
from fsmdsl.tree import Node, Token

Element = Node | Token

NO_SPACE_BEFORE = frozenset({",", ";", ")", "]", ":", "?", "."})
NO_SPACE_BEHIND = frozenset({"(", "[", "."})
TIGHT = frozenset({"range_type", "set_type", "list_type", "negative", "bound", "index"})
"""Rules between whose parts is no space."""

BREAK_BEFORE = {
    "or_": {"or"}, "and_": {"and"}, "implies": {"=>"}, "leads_to": {"~>"}, "until_": {"until"},
    "conditional": {"then", "else"},
}  # fmt: skip
"""Where an expression may be broken: before these words."""

FILLED = frozenset({"event", "action", "ignore", "priority", "via", "senders", "opaque", "on", "sum", "edges"})
"""Rules that are broken only where a line is full: before a sum's operators, behind commas."""


class Printer:
    """Turns the nodes of one source into docs."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.tokens = reading.tokens
        self.margins: list[Margin] = margins(source, reading)
        self._first = {t.start: i for i, t in enumerate(reading.tokens)}
        self._last = {t.end: i for i, t in enumerate(reading.tokens)}
        self._words = load().words

    # Pieces

    def first(self, element: Element) -> int:
        """The number of the first token of an element."""
        return self._first[element.start]

    def last(self, element: Element) -> int:
        """The number of the last token of an element."""
        return self._last[element.end]

    def elements(self, node: Node) -> list[Element]:
        """The parts of a node, with the tokens that the tree leaves out."""
        inner = {self.first(c): c for c in node.children}
        found: list[Element] = []
        i, last = self.first(node), self.last(node)
        while i <= last:
            element = inner.get(i, self.tokens[i])
            found.append(element)
            i = self.last(element) + 1
        return found

    def gap(self, rule: str, left: Element, right: Element) -> str:
        """The space between two elements that stand side by side in a node."""
        before, after = self.tokens[self.last(left)].kind, self.tokens[self.first(right)].kind
        if after in NO_SPACE_BEFORE or before in NO_SPACE_BEHIND or rule in TIGHT or (before, after) == ("{", "}"):
            return ""
        if rule in ("set", "list") and (left is self._edge(left, "{") or right is self._edge(right, "}")):
            return ""
        if after == "(":
            called = rule in ("hook", "lock_use") or (rule == "call" and isinstance(left, Node))
            return "" if called or isinstance(right, Node) and right.rule in ("parameters", "arguments") else " "
        return "" if after == "[" and rule in ("channel", "instance") else " "

    def _edge(self, element: Element, brace: str) -> Element | None:
        return element if isinstance(element, Token) and element.kind == brace else None

    # Docs

    def doc(self, element: Element, *, begins: bool = False, ends: bool = False) -> Doc:
        """An element; without the margin before it if it begins a row, and the comment behind it if it ends one."""
        if isinstance(element, Token):
            return self._token(self.first(element), begins, ends)
        build = _SHAPES.get(element.rule)
        if build is not None and not begins and not ends:
            return build(self, element)
        return self.sequence(element.rule, self.elements(element), begins=begins, ends=ends)

    def sequence(self, rule: str, elements: Sequence[Element], *, begins: bool = False, ends: bool = False) -> Doc:
        """Elements side by side."""
        found: list[Doc] = []
        last = len(elements) - 1
        for i, element in enumerate(elements):
            doc = self.doc(element, begins=begins and i == 0, ends=ends and i == last)
            if i == 0:
                found.append(doc)
                continue
            gap = self.gap(rule, elements[i - 1], element)
            found.append(self._broken(rule, elements[i - 1], element, gap, doc))
        return found

...
