"""Transitions: `label: From -> To  on event  when guard  do { effects }`, in columns or on several lines."""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl.syntax.format.doc import WIDTH, Doc, Group, Hard, Line, Nest, flat, lines
from fsmdsl.syntax.format.layout import INDENT, Cell, Columns
from fsmdsl.syntax.format.printer import Element, Printer
from fsmdsl.syntax.tree import Node

CLAUSES = ("on", "after", "when", "do")

HEAD = 3
"""Number of cells before the clauses: label, source, target."""

COUNTED = 40
"""Wider clauses do not push those of other rows to the right."""

SOURCES = 16
"""Several sources that are wider do not push other targets to the right."""

HANGING = 64
"""Where clauses may begin at most to stand below one another."""


def transition(p: Printer, node: Node, indent: int) -> tuple[list[Cell], Callable[[Columns], list[str]]]:
    """The cells of a transition (label, source, target, clauses), and its lines if it is too long for one."""
    elements = p.elements(node)
    clauses = [e for e in elements if isinstance(e, Node) and e.rule in CLAUSES]
    *label, moves = elements[: len(elements) - len(clauses)]
    assert isinstance(moves, Node)
    head = [Cell(p.sequence(node.rule, label)), *_moves(p, moves)]
    docs = [_guard(p, c) if c.rule == "when" else p.doc(c) for c in clauses]
    cells = [*head, *(Cell(doc, len(flat(doc) or "") <= COUNTED) for doc in docs)]
    return cells, lambda columns: _wrapped(head, docs, [c.rule for c in clauses], indent, columns)


def _moves(p: Printer, node: Node) -> tuple[Cell, Cell]:
    if node.rule == "sources":
        return _source(p, node), Cell("", gap=1)
    first, *others = p.elements(node)
    assert isinstance(first, Node)
    source, *target = p.elements(first)
    return _source(p, source), Cell(p.sequence("edges", [*target, *others]), not others, gap=1)


def _source(p: Printer, element: Element) -> Cell:
    doc = p.doc(element)
    return Cell(doc, p.first(element) == p.last(element) or len(flat(doc) or "") <= SOURCES, gap=1)


def _guard(p: Printer, node: Node) -> Doc:
    """The parts of a guard that has to be broken stand below one another."""
    word, *condition = p.elements(node)
    return [p.doc(word), " ", Nest(p.sequence("when", condition), None)]


def _wrapped(head: list[Cell], clauses: list[Doc], rules: list[str], indent: int, columns: Columns) -> list[str]:
    """Clauses below one another behind the head; if they are too long, below the head, or the effects in a block."""
    texts = [flat(doc) for doc in clauses]
    acts = rules[-1:] == ["do"]
    line = columns.place(head, indent)
    if line is not None and texts and None not in texts:
        hung = _hung(line, [t for t in texts if t is not None], acts, columns)
        if hung is not None:
            return hung
    beside = _beside([*head, *map(Cell, clauses)], indent, acts, columns)
    first = columns.place(beside, indent)
    parts: list[Doc] = [[c.doc, " "] for c in beside if c.text != ""] if first is None else [first.strip()]
    first_below = len(beside) - HEAD
    for i in range(first_below, len(clauses)):
        if not _long(clauses[i], indent) and not (i > first_below and _long(clauses[i - 1], indent)):
            parts.append(Nest(Group([Line(), clauses[i]])))
        elif i == first_below and rules[i] != "when":
            parts.append([" ", clauses[i] if rules[i] == "do" else Nest(clauses[i])])
        else:
            parts.append(Nest([Hard(), clauses[i]]))
    return lines(parts, indent * INDENT)


def _long(doc: Doc, indent: int) -> bool:
    """Whether a clause has to be broken even on a line of its own."""
    text = flat(doc)
    return text is None or len(text) > WIDTH - (indent + 1) * INDENT


def _beside(cells: list[Cell], indent: int, acts: bool, columns: Columns) -> list[Cell]:
    """The head and the clauses before the effects that have room behind it."""
    count = len(cells) - acts
    while count > HEAD and len(columns.place(cells[:count], indent) or " " * WIDTH) >= WIDTH:
        count -= 1
    return cells[:count]


def _hung(head: str, texts: list[str], acts: bool, columns: Columns) -> list[str] | None:
    """The clauses below one another, a guard behind its event if it fits there; None if there is no room."""
    column = max(columns.starts[HEAD], len(head) + columns.gap)
    if column > HANGING or column + max(map(len, texts)) > WIDTH:
        return None
    text_lines = [head.ljust(column) + texts[0]]
    for i, text in enumerate(texts[1:], 1):
        beside = text_lines[-1].ljust(max(columns.starts[HEAD + i], len(text_lines[-1]) + columns.gap)) + text
        if len(beside) <= WIDTH and not (acts and i == len(texts) - 1):
            text_lines[-1] = beside
        else:
            text_lines.append(" " * column + text)
    return text_lines
