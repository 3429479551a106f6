"""Tokens to a tree."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.syntax.build.expressions import CHAINS, EXPRESSIONS
from fsmdsl.syntax.build.types import TYPES
from fsmdsl.syntax.parse import soft_keywords as words
from fsmdsl.syntax.parse.automaton import BOTTOM, HIGHEST, Frame, advance
from fsmdsl.syntax.parse.rules import BAD_CHARACTER, BAD_NUMBER, DEPTH, LIMIT, MORE, TOO_DEEP, UNEXPECTED
from fsmdsl.syntax.parse.table import Table, load
from fsmdsl.syntax.parse.tokens import lex
from fsmdsl.syntax.tree import Comment, Node, Token
from fsmdsl.syntax.words import RESERVED
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source, Span

DEEP, SHALLOWER = f"this is nested more than {DEPTH} levels deep", "name the inner parts with `let`"

RECENT = 8
"""The number of tokens before a mistake that may be its cause."""

BODIES = frozenset({"block", "else_", "state_body", "hold_body", "amend"})
"""Rules whose parts may hold the like of themselves, and may have no parts."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text read. Of its tokens, words that are names in their place are called so."""

    tree: Node
    tokens: list[Token]
    comments: list[Comment]
    diagnostics: tuple[Diagnostic, ...]


def read(source: Source) -> Reading:
    """Read a whole file. Never raises for bad text; takes time in proportion to its length."""
    with uncollected():
        lexed = lex(load(), source)
        tree = _parse(source, lexed.tokens, lexed.diagnostics)
    cut = prune(source, tree)
    if not any(d.rule is TOO_DEEP for d in lexed.diagnostics):
        lexed.diagnostics.extend(TOO_DEEP.at(x, DEEP).help(SHALLOWER) for x in cut)
    return Reading(tree, lexed.tokens, lexed.comments, limited(source, lexed.diagnostics))


@contextmanager
def uncollected() -> Iterator[None]:
    """Without the collector of reference cycles, which would go through all frames and nodes again and again.

    They have no cycles. It halves the time for a large file.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _parse(source: Source, tokens: list[Token], diagnostics: list[Diagnostic]) -> Node:
    top, _ = go_on(source, tokens, diagnostics, BOTTOM)
    return whole(top)


def go_on(
    source: Source, tokens: list[Token], diagnostics: list[Diagnostic], top: Frame, stops: Container[int] = ()
) -> tuple[Frame, int]:
    """Read tokens on a stack, whatever mistakes there are, up to their end or to the first place in `stops` at which
    nothing is open and a declaration of the module begins. The stack then, and the number of the token there."""
    table = load()
    i = mistakes = 0
    while i < len(tokens):
        top, recent, i = straight_on(table, tokens, top, i, stops)
        if i == len(tokens) or (tokens[i].start in stops and words.opens(table, top, tokens[i].kind)):
            break
        from fsmdsl.syntax.parse.recovery import Place, closed, recover  # most texts have no mistake

        mistake = recover(Place(table, source, tokens, i, top, recent))
        if not (mistake.diagnostic.rule is TOO_DEEP and diagnostics and diagnostics[-1].rule is TOO_DEEP):
            diagnostics.append(mistake.diagnostic)
        mistakes += 1
        top, i = mistake.top, mistake.at
        if mistakes > LIMIT:
            i = len(tokens) - 1
            top = closed(Place(table, source, tokens, i, top, ()))
    return top, i


def straight_on(
    table: Table, tokens: list[Token], top: Frame, i: int, stops: Container[int] = ()
) -> tuple[Frame, Sequence[Frame], int]:
    """Read tokens on a stack up to their end, to a stop (see `go_on`), or to the first that is unexpected.
    The stack then, the stacks before each of the last tokens, and the number of the token there."""
    soft = table.words - RESERVED
    recent = deque[Frame](maxlen=RECENT)
    while i < len(tokens):
        token = tokens[i]
        if token.start in stops and words.opens(table, top, token.kind):
            break
        if token.kind in words.HOOKS and (event := words.event_of(table, top, tokens, i)) is not None:
            tokens[i : i + 1] = event
            token = tokens[i]
        if token.kind in soft:
            token = tokens[i] = replace(token, kind=words.read(table, top, tokens, i))
        after = advance(table, top, token)
        if after is None or after.height > HIGHEST:
            break
        recent.append(top)
        top = after
        i += 1
    return top, recent, i


def whole(top: Frame) -> Node:
    """The node of the file, below its end."""
    assert top.below is not None
    assert isinstance(top.below.value, Node)
    return top.below.value


def prune(source: Source, tree: Node) -> list[Span]:
    """Cut off nodes below the depth limit, so that later stages can recurse safely. Returns the places of the cuts."""
    cut: list[Span] = []
    stack = [(tree, 0)]
    while stack:
        node, depth = stack.pop()
        depth += len(node.children) // 2 if node.rule in CHAINS else 1
        if depth > DEPTH and _cut(node):
            cut.append(Span(source, node.start, node.end))
        else:
            stack.extend((c, depth) for c in node.children if isinstance(c, Node))
    return cut


def _cut(node: Node) -> bool:
    """Empty a node that holds others, if it is of a kind that can be empty or be replaced."""
    if node.rule in EXPRESSIONS and node.nodes():
        node.rule, node.children = "truth", [Token("true", "true", node.start, node.end)]
    elif node.rule in TYPES and node.nodes():
        bool_ = Node("name", [Token("NAME", "bool", node.start, node.end)], node.start, node.end)
        node.rule, node.children = "named_type", [Node("path", [bool_], node.start, node.end)]
    elif node.rule in BODIES and node.nodes():
        node.children = [c for c in node.children if isinstance(c, Token)]
    else:
        return False
    return True


def limited(source: Source, diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Errors in the order of the text, one for each place, and not more than anyone would read."""
    signs = {d.span.start for d in diagnostics if d.rule is BAD_CHARACTER or d.rule is BAD_NUMBER}
    diagnostics = [d for d in diagnostics if d.rule is not UNEXPECTED or d.span.start not in signs]
    diagnostics.sort(key=lambda d: d.span.start)
    if len(diagnostics) <= LIMIT:
        return tuple(diagnostics)
    rest = Span(source, diagnostics[LIMIT].span.start, diagnostics[LIMIT].span.end)
    return (*diagnostics[:LIMIT], MORE.at(rest, f"this file has more errors; the first {LIMIT} are shown"))
