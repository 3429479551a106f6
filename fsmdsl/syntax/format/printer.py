"""Nodes as text that can be broken: every token of the author's, with the canonical space between any two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, zip_longest

from fsmdsl.syntax.build.expressions import CHAINS
from fsmdsl.syntax.format.doc import Doc, Either, Group, Hard, Line, Nest, Remark
from fsmdsl.syntax.format.margins import Above, margins
from fsmdsl.syntax.parse.reading import Reading
from fsmdsl.syntax.parse.soft_keywords import joining
from fsmdsl.syntax.tree import Node, Token
from fsmdsl.text.source import Source, breaks

Element = Node | Token

NO_SPACE_BEFORE = frozenset({",", ";", ")", "]", ":", "?", "."})
NO_SPACE_BEHIND = frozenset({"(", "[", "."})
TIGHT = frozenset({"range_type", "set_type", "list_type", "map_type", "negative", "bound", "index"})
"""Rules between whose parts is no space."""

BREAKS = {
    "or_": frozenset({"or"}), "and_": frozenset({"and"}), "implies": frozenset({"=>"}), "leads_to": frozenset({"~>"}),
    "until_": frozenset({"until"}), "conditional": frozenset({"then", "else"}),
}  # fmt: skip
"""Before which words an expression is broken, before all of them or none."""

SIGNS = frozenset(CHAINS.values())
"""Rules before which an expression is broken where a line is full."""

FILLED = frozenset(
    {
        "event",
        "action",
        "ignore",
        "priority",
        "layout",
        "layout_rank",
        "via",
        "opaque",
        "edges",
        "sources",
        "senders",
        "lock_order",
    }
)
"""Rules that are broken behind commas, where a line is full."""


class Printer:
    """Turns the nodes of one source into docs."""

    def __init__(self, source: Source, reading: Reading) -> None:
        self.text = source.text
        self.tokens = reading.tokens
        self.margins = margins(source, reading)
        self._first = {t.start: i for i, t in enumerate(reading.tokens[:-1])}
        self._last = {t.end: i for i, t in enumerate(reading.tokens[:-1])}

    # Elements

    def first(self, element: Element) -> int:
        """The number of the first token of an element."""
        return self._first[element.start]

    def last(self, element: Element) -> int:
        """The number of the last token of an element."""
        return self._last[element.end]

    def elements(self, node: Node) -> list[Element]:
        """The parts of a node, with the tokens that the tree leaves out."""
        inner: dict[int, Element] = {self.first(c): c for c in node.children}
        elements: list[Element] = []
        i, last = self.first(node), self.last(node)
        while i <= last:
            elements.append(inner.get(i, self.tokens[i]))
            i = self.last(elements[-1]) + 1
        return elements

    def same_line(self, left: Element, right: Element) -> bool:
        """Whether the author has put two elements that follow each other on one line."""
        return breaks(self.text, left.end, right.start) == 0

    def gap(self, rule: str, left: Element, right: Element) -> str:
        """The space between two elements that stand side by side in a node."""
        before, after = self.tokens[self.last(left)].kind, self.tokens[self.first(right)].kind
        tight = rule in TIGHT and before != ","
        if after in NO_SPACE_BEFORE or before in NO_SPACE_BEHIND or tight or (before, after) == ("{", "}"):
            return ""
        if ".." in (before, after):
            return ""
        if rule == "record" and isinstance(left, Node) and isinstance(right, Node) and right.rule == left.rule:
            return "  "
        if rule in ("set", "in_states") and (_is(left, "{") or _is(right, "}")):
            return ""
        if after == "(":
            called = rule in ("hook", "lock_use", "state_of") or (rule == "call" and isinstance(left, Node))
            called = called or (isinstance(right, Node) and right.rule in ("parameters", "arguments", "values"))
            return "" if called else " "
        return "" if after == "[" and rule in ("channel", "instance", "mapped") else " "

    # Margins

    def take_above(self, i: int) -> list[Above]:
        """The comments on the lines before a token, which are then not printed with it."""
        taken, self.margins[i].above = self.margins[i].above, []
        return taken

    def take_behind(self, i: int) -> str:
        """The comment behind a token, which is then not printed with it."""
        taken, self.margins[i].behind = self.margins[i].behind, ""
        return taken

    # Docs

    def doc(self, element: Element) -> Doc:
        """An element with all that is in it."""
        if isinstance(element, Token):
            return self.token(self.first(element))
        shape = _SHAPES.get(element.rule)
        return self.sequence(element.rule, self.elements(element)) if shape is None else shape(self, element)

    def token(self, i: int) -> Doc:
        """A token with what is left of its margin."""
        token, margin = self.tokens[i], self.margins[i]
        text = f"on {token.kind.lower()}" if token.kind in ("ENTRY", "EXIT") else token.text
        if not margin.above and not margin.behind:
            return text
        above = [above_doc(margin.above), Hard(margin.blank)] if margin.above else []
        return [above, text, [Remark(margin.behind), Hard()] if margin.behind else []]

    def sequence(self, rule: str, elements: Sequence[Element]) -> Doc:
        """Elements side by side, with the breaks of their rule."""
        parts: list[Doc] = [self.doc(e) for e in elements[:1]]
        words = BREAKS.get(rule, frozenset())
        for left, right in pairwise(elements):
            gap, doc = self.gap(rule, left, right), self.doc(right)
            if _is(right, *words):
                parts.extend([Line(gap), doc])
            elif (rule in FILLED and _is(left, ",", ">", "|")) or (isinstance(right, Node) and right.rule in SIGNS):
                parts.append(Nest(Group([Line(gap), doc])))
            else:
                parts.extend([gap, doc])
        return Group(parts) if words else parts

    def braced(self, node: Node) -> Doc:
        """`{ a; b }`, or one a line. The group around it decides."""
        opening, *_, closing = self.elements(node)
        items = node.nodes()
        above = self.take_above(self.first(closing))
        if not items and not above:
            return [self.doc(opening), self.doc(closing)]
        inside: list[Doc] = [Line()]
        for item, after in zip_longest(items, items[1:]):
            behind = self.take_behind(self.last(item))
            inside.append(self.doc(item))
            inside.append(self._separator(item, after, behind))
        ending = [above_doc(above)] if above else []
        return [self.doc(opening), Nest([*inside, ending]), Line(), self.doc(closing)]

    def _separator(self, item: Node, after: Node | None, behind: str) -> Doc:
        """`;` on one line. On lines of their own items need none, unless a word could be taken for a keyword then."""
        i = self.last(item) + 1
        multiline: list[Doc] = [Remark(behind), Hard()] if behind else []
        if self.tokens[i].kind == ";":
            multiline.append(above_doc(self.take_above(i)))
            further = self.take_behind(i)
            multiline.extend([further if multiline[0] else Remark(further), Hard()] if further else [])
        if after is None:
            return multiline
        words = self.tokens[self.last(item)].text, self.tokens[self.first(after)].text
        margin = self.margins[self.first(after)]
        ending, beginning = joining()
        sign = ";" if words[0] in ending or words[1] in beginning else ""
        return [Either(";", sign), multiline, Either(" ", Hard(margin.blank and not margin.above))]


def above_doc(above: Sequence[Above]) -> Doc:
    """Comments on lines of their own."""
    return [[Hard(a.blank), a.text, Hard()] for a in above]


def _is(element: Element, *kinds: str) -> bool:
    return isinstance(element, Token) and element.kind in kinds


# Shapes: the rules that are broken in a way of their own --------------------------------------------------------------


def _block(p: Printer, node: Node) -> Doc:
    return Group(p.braced(node))


def _if(p: Printer, node: Node) -> Doc:
    return Group(_branches(p, node))


def _branches(p: Printer, node: Node) -> Doc:
    """`if c { … } else if d { … } else { … }`: all the blocks are broken, or none."""
    parts: list[Doc] = []
    for i, element in enumerate(p.elements(node)):
        if isinstance(element, Node) and element.rule in ("else_", "if_"):
            doc = _branches(p, element)
        else:
            doc = p.braced(element) if isinstance(element, Node) and element.rule == "block" else p.doc(element)
        parts.extend([" ", doc] if i else [doc])
    return parts


def _quantified(p: Printer, node: Node) -> Doc:
    *head, body = p.elements(node)
    return Group([p.sequence(node.rule, head), Nest([Line(), p.doc(body)])])


def _enclosed(p: Printer, node: Node) -> Doc:
    """Arguments or members, on one line or one a line."""
    elements = p.elements(node)
    start = next(i for i, e in enumerate(elements) if _is(e, "(", "{", "["))
    *inside, closing = elements[start + 1 :]
    head = p.sequence(node.rule, elements[: start + 1])
    edge = Line(" " if node.rule in ("initials", "import_names") else "")
    if not inside:
        return [head, p.doc(closing)]
    parts: list[Doc] = [p.doc(inside[0])]
    for left, right in pairwise(inside):
        gap = p.gap(node.rule, left, right)
        parts.extend([Line(gap) if _is(left, ",") else gap, p.doc(right)])
    return Group([head, Nest([edge, parts]), edge, p.doc(closing)])


_SHAPES: dict[str, Callable[[Printer, Node], Doc]] = {
    "block": _block, "hold_body": _block, "if_": _if, "quantified": _quantified, "call": _enclosed, "set": _enclosed,
    "list": _enclosed, "parameters": _enclosed, "values": _enclosed, "initials": _enclosed, "import_names": _enclosed,
}  # fmt: skip
