"""Tokens to a tree."""

from __future__ import annotations

from dataclasses import dataclass

from fsmdsl.diagnostics import Diagnostic
from fsmdsl.parse import words
from fsmdsl.parse.automaton import BOTTOM, Frame, advance
from fsmdsl.parse.recovery import HIGHEST, Place, closed, recover
from fsmdsl.parse.rules import DEPTH, LIMIT, MORE, TOO_DEEP
from fsmdsl.parse.table import load
from fsmdsl.parse.tokens import lex
from fsmdsl.source import Source, Span
from fsmdsl.tree import Comment, Node, Token


@dataclass(frozen=True, slots=True)
class Reading:
    """A text read: its tree, its tokens (words that are names in their place are so called), its comments, its errors."""

    tree: Node
    tokens: list[Token]
    comments: list[Comment]
    diagnostics: tuple[Diagnostic, ...]


def read(source: Source) -> Reading:
    """Read a whole file. Never raises for bad text; takes time in proportion to its length."""
    lexed = lex(load(), source)
    tree = _parse(source, lexed.tokens, lexed.found)
    lexed.found.extend(
        TOO_DEEP.at(span, f"this is nested more than {DEPTH} levels deep").help("name the inner parts with `let`")
        for span in _prune(source, tree)
    )
    return Reading(tree, lexed.tokens, lexed.comments, _limited(source, lexed.found))


def _parse(source: Source, tokens: list[Token], found: list[Diagnostic]) -> Node:
    table, last = load(), len(tokens) - 1
    top: Frame = BOTTOM
    before: Frame | None = None
    soft = table.words - words.RESERVED
    i = mistakes = 0
    while i <= last:
        token = tokens[i]
        if token.kind in soft:
            token = tokens[i] = token._replace(kind=words.read(table, top, tokens, i))
        after = advance(table, top, token)
        if after is not None and after.height <= HIGHEST:
            top, before = after, top
            i += 1
            continue
        mistake = recover(Place(table, source, tokens, i, top, before))
        found.append(mistake.diagnostic)
        mistakes += 1
        top, i = mistake.top, mistake.at
        before = None
        if mistakes > LIMIT:
            top, i = closed(Place(table, source, tokens, last, top, None)), last
    return _whole(top)


def _whole(top: Frame) -> Node:
    """The node of the file, below its end."""
    assert top.below is not None
    assert isinstance(top.below.value, Node)
    return top.below.value


def _prune(source: Source, tree: Node) -> list[Span]:
    """Cut off what is below the depth limit, so that whoever follows may recurse; the places cut."""
    cut: list[Span] = []
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        depth += len(node.children) // 2 if node.rule == "sum" else 1
        if depth > DEPTH:
            cut.append(Span(source, node.start, node.end))
            node.rule, node.children = "truth", [Token("true", "true", node.start, node.end)]
            continue
        stack.extend((c, depth) for c in node.children if isinstance(c, Node))
    return cut


def _limited(source: Source, found: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors in the order of the text, not more than anyone would read."""
    found.sort(key=lambda d: d.span.start)
    if len(found) <= LIMIT:
        return tuple(found)
    rest = Span(source, found[LIMIT].span.start, found[LIMIT].span.end)
    return (*found[:LIMIT], MORE.at(rest, f"this file has more errors; the first {LIMIT} are shown"))
