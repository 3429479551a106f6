"""Declarations to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise

from fsmdsl.syntax.build.expressions import EXPRESSIONS
from fsmdsl.syntax.build.types import TYPES
from fsmdsl.syntax.format.doc import WIDTH, Group, Hard, Line, Nest, flat, joined, lines
from fsmdsl.syntax.format.layout import GAPS, INDENT, Cell, Columns, Row, broken
from fsmdsl.syntax.format.printer import Element, Printer
from fsmdsl.syntax.format.transitions import transition
from fsmdsl.syntax.tree import Node

STEPS = frozenset({"do_step", "fails", "elapse", "transmit", "expect", "via"})
RESTS = frozenset({"enum_plain", "enum_ordered"})

COUNTED = 28
"""Wider premises of implications do not push those of other rows to the right."""

KINDS = {
    "field": "data", "param": "data", "record_part": "data", "invariant": "claim", "reachable": "claim",
    "property": "claim", **dict.fromkeys(STEPS, "step"),
}  # fmt: skip
"""Which declarations are aligned with one another, apart from those of one rule."""

CUTS = {
    "field": frozenset({*TYPES, "="}), "param": frozenset({*TYPES, "="}), "record_part": frozenset(TYPES),
    "let": frozenset({"="}),
    "state": frozenset({"state"}), "event": frozenset({"senders"}), "action": frozenset({"outcomes"}),
    "hook": frozenset({"do"}), "instance": frozenset({"path"}), "source": frozenset({"at"}),
    "offer": frozenset({"when", *EXPRESSIONS}), "map_state": frozenset({"when"}), "map_field": frozenset({"="}),
    **dict.fromkeys(("invariant", "reachable", "property"), frozenset({"recovers", "under", *EXPRESSIONS})),
}  # fmt: skip
"""At which parts of a declaration a new cell begins."""

SOFT = EXPRESSIONS | {"senders", "outcomes", "under", "recovers", "when", "at"}
"""Cells that may go to a line of their own."""


def rows(p: Printer, tree: Node) -> list[Row]:
    """The rows of a whole file. Between declarations in braces and others is a blank line."""
    all_rows: list[Row] = []
    tall = False
    for node in tree.nodes():
        declared = list(_declaration(p, node, 0))
        if all_rows and (tall or len(declared) > 1):
            declared[0].separate()
        tall = len(declared) > 1
        all_rows.extend(declared)
    end = len(p.tokens) - 1
    all_rows.append(Row("", 0, [], p.take_above(end)))
    return all_rows


def _declaration(p: Printer, node: Node, indent: int) -> Iterator[Row]:
    """The rows of a declaration: one, or one for its beginning, those inside, and one for its end."""
    match node.rule:
        case "machine" | "system" | "scenario" | "locks" | "environment" | "shared_environment":
            yield from _braces(p, [], p.elements(node), indent)
        case "state" if (body := node.one("state_body")) is not None:
            yield from _braces(p, p.elements(node)[:-1], p.elements(body), indent)
        case "amend" | "lock_amend":
            yield from _amendment(p, node, indent)
        case "enum":
            yield from _enum(p, node, indent)
        case "record" if not _on_one_line(p, node, indent):
            yield from _braces(p, [], p.elements(node), indent)
        case "transition" | "labelled":
            row = _margined(p, "transition", indent, [node])
            row.cells, row.wrap = transition(p, node, indent)
            row.table = node.rule == "labelled"
            yield row
        case "invariant" | "reachable" | "property" if node.one("label") is not None:
            yield _claim(p, node, indent)
        case _:
            yield _plain(p, node, indent)


def _margined(p: Printer, kind: str, indent: int, elements: Sequence[Element]) -> Row:
    """A row with the comments around its elements, and no cells yet."""
    start, end = p.first(elements[0]), p.last(elements[-1])
    return Row(kind, indent, [], p.take_above(start), p.margins[start].blank, p.take_behind(end))


def _plain(p: Printer, node: Node, indent: int) -> Row:
    """A declaration that is cut into cells as its kind says."""
    row = _margined(p, KINDS.get(node.rule, node.rule), indent, [node])
    parts: list[list[Element]] = [[]]
    for element in p.elements(node):
        if _name(element) in CUTS.get(node.rule, ()):
            parts.append([])
        parts[-1].append(element)
    row.cells = [_cell(p, node.rule, part) for part in parts]
    for cell in row.cells:
        cell.counts = node.rule != "offer" and node.one("parameters") is None
    return row


def _cell(p: Printer, rule: str, part: Sequence[Element]) -> Cell:
    if part and _name(part[0]) == "=":
        return Cell(Group([p.doc(part[0]), Nest([Line(), p.sequence(rule, part[1:])])]))
    return Cell(p.sequence(rule, part), soft=bool(part) and _name(part[0]) in SOFT)


def _claim(p: Printer, node: Node, indent: int) -> Row:
    """`invariant name: formula`. Implications are aligned, too."""
    row = _margined(p, "claim", indent, [node])
    word, label, *formula = p.elements(node)
    under = formula.pop() if _name(formula[-1]) == "under" else None
    whole = p.sequence(node.rule, formula)
    fair = [] if under is None else [Cell(p.doc(under), soft=True)]
    head = [Cell(p.doc(word)), Cell(p.doc(label))]
    row.cells = [*head, Cell(whole, soft=True), *fair]
    if isinstance(formula[0], Node) and formula[0].rule == "implies":
        row.wrap = _unaligned(row.cells, indent)
        left, *right = p.elements(formula[0])
        text = flat(p.doc(left)) or ""
        row.cells = [*head, Cell(p.doc(left), len(text) <= COUNTED), Cell(p.sequence("implies", right)), *fair]
    return row


# Declarations in braces ----------------------------------------------------------------------------------------------


def _braces(p: Printer, head: Sequence[Element], elements: Sequence[Element], indent: int) -> Iterator[Row]:
    """A head, what is in its braces, and the closing brace; comments before that belong inside."""
    brace = next(i for i, e in enumerate(elements) if _name(e) == "{")
    *inside, closing = elements[brace + 1 :]
    opening = [*head, *elements[: brace + 1]]
    above = p.take_above(p.first(closing))
    empty = not inside and not above and not p.margins[p.last(opening[-1])].behind
    begin = [*opening, closing] if empty else opening
    row = _margined(p, "", indent, begin)
    row.cells = [Cell(p.sequence("", begin))]
    yield row
    if not empty:
        yield from _inside(p, inside, indent + 1)
        end = _margined(p, "", indent, [closing])
        end.above, end.above_indent, end.blank = above, indent + 1, False
        if not inside:
            end.join()
        end.cells = [Cell(p.doc(closing))]
        yield end


def _inside(p: Printer, elements: Sequence[Element], indent: int) -> Iterator[Row]:
    """What is in braces. It does not begin with a blank line. Steps that share a line go on doing so."""
    first = True
    for nodes in _sharing(p, [e for e in elements if isinstance(e, Node)]):
        for row in _declaration(p, nodes[0], indent) if len(nodes) == 1 else _steps(p, nodes, indent):
            if first:
                row.join()
            first = False
            yield row


def _sharing(p: Printer, nodes: Sequence[Node]) -> Iterator[list[Node]]:
    line: list[Node] = []
    for node in nodes:
        if line and not (node.rule in STEPS and line[-1].rule in STEPS and p.same_line(line[-1], node)):
            yield line
            line = []
        line.append(node)
    if line:
        yield line


def _steps(p: Printer, nodes: Sequence[Node], indent: int) -> list[Row]:
    """Steps on one line, if there is room; or each on its own."""
    row = _margined(p, "step", indent, nodes)
    row.cells = [Cell(p.doc(n)) for n in nodes]
    texts = [c.text for c in row.cells]
    whole = (GAPS["step"] * " ").join(t for t in texts if t is not None)
    if None not in texts and len(whole) <= WIDTH - indent * INDENT:
        return [row]
    rows = [Row("step", indent, [cell]) for cell in row.cells]
    rows[0].above, rows[0].blank, rows[-1].behind = row.above, row.blank, row.behind
    return rows


def _amendment(p: Printer, node: Node, indent: int) -> Iterator[Row]:
    """The reason on a line of its own, what is amended below it."""
    *head, last = p.elements(node)
    assert isinstance(last, Node)
    behind = next(n for n, x in enumerate(head) if _name(x) == "STRING") + 1
    if last.rule in ("amend_body", "lock_amend_body"):
        begin, *others = _braces(p, head, p.elements(last), indent)
        parts = [*head[behind:], *p.elements(last)[: 1 if others else 2]]
        yield from [_reasoned(p, begin, head[:behind], parts), *others]
    else:
        yield _reasoned(p, _margined(p, "", indent, head), head[:behind], head[behind:])
        yield from _inside(p, [last], indent + 1)


def _reasoned(p: Printer, row: Row, reason: Sequence[Element], rest: Sequence[Element]) -> Row:
    """`amends "why" replaces {`; what does not fit behind the reason goes below it."""
    docs = [p.sequence("", part) for part in (reason, rest) if part]
    row.cells = [Cell(doc) for doc in docs]
    row.wrap = lambda _: lines(joined(docs, Hard()), row.indent * INDENT)
    return row


def _enum(p: Printer, node: Node, indent: int) -> Iterator[Row]:
    """On one line, or with each member on its own if there are comments or too many."""
    elements, first, last = p.elements(node), p.first(node), p.last(node)
    commented = any(p.margins[i].behind or p.margins[i + 1].above for i in range(first, last))
    row = _margined(p, "enum", indent, [node])
    row.cells = [Cell(p.sequence("enum", elements))]
    if not commented and len(row.cells[0].text or "") <= WIDTH - indent * INDENT:
        yield row
        return
    brace = next(i for i, e in enumerate(elements) if _name(e) == "{")
    end = Row("", indent, [Cell("}")], p.take_above(last), behind=row.behind, above_indent=indent + 1)
    row.behind = p.take_behind(p.first(elements[brace]))
    row.kind, row.cells = "", [Cell(p.sequence("enum", elements[: brace + 1]))]
    yield row
    members = elements[brace + 1 : -1]
    if members:
        yield from _members(p, members, indent + 1)
    else:
        end.join()
    yield end


def _on_one_line(p: Printer, node: Node, indent: int) -> bool:
    """Does a record stay on the line on which the author has put it?"""
    first, last = p.first(node), p.last(node)
    if any(p.margins[i].behind or p.margins[i + 1].above for i in range(first, last)):
        return False
    texts = [t.text for t in p.tokens[first : last + 1]]
    together = all(p.same_line(a, b) for a, b in pairwise(p.elements(node)))
    return together and len(" ".join(texts)) <= WIDTH - indent * INDENT


def _members(p: Printer, elements: Sequence[Element], indent: int) -> Iterator[Row]:
    """The members of an enum, each with the sign before it."""
    parts: list[list[Element]] = [[]]
    flattened = (p.elements(e) if isinstance(e, Node) and e.rule in RESTS else [e] for e in elements)
    for element in chain.from_iterable(flattened):
        if _name(element) in ("|", "<"):
            parts.append([])
        parts[-1].append(element)
    for i, part in enumerate(parts):
        row = _margined(p, "member", indent, part)
        if i + 1 < len(parts):
            row.behind = row.behind or p.take_behind(p.first(parts[i + 1][0]))
        row.cells = [Cell(p.sequence("enum_rest", part))]
        if i == 0:
            row.join()
        yield row


def _name(element: Element) -> str:
    """The rule of a node, the kind of a token."""
    return element.rule if isinstance(element, Node) else element.kind


def _unaligned(cells: Sequence[Cell], indent: int) -> Callable[[Columns], list[str]]:
    """The lines of a row whose cells are not the parts that it is broken into."""
    return lambda _: broken(cells, indent)
