"""Expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, cast

from fsmdsl import syntax as s
from fsmdsl.syntax.build.builder import Builder, number, only
from fsmdsl.text.source import Span
from fsmdsl.syntax.tree import Node, Token

MILLISECONDS = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
"""The units of durations."""


CHAINS = {"sum": "sum_op", "product": "product_op"}
"""The rules of operands with operators between them, and the rule of each one's operators."""


def expression(b: Builder, node: Node) -> s.Expr:
    """The expression that a node is."""
    return _EXPRESSIONS[node.rule](b, node, Span(b.source, node.start, node.end))


def expressions(b: Builder, nodes: Iterable[Node]) -> tuple[s.Expr, ...]:
    """The expressions that nodes are."""
    return tuple(expression(b, n) for n in nodes)


def value(b: Builder, node: Node) -> s.Expr:
    """The expression that is the last part of a declaration."""
    return expression(b, node.nodes()[-1])


def binders(b: Builder, nodes: Iterable[Node]) -> tuple[s.Binder, ...]:
    """`c in cells`, `i in 0..3`, and others of the kind."""
    return tuple(_binder(b, n) for n in nodes)


def _binder(b: Builder, node: Node) -> s.Binder:
    name, over, *last = node.nodes()
    return s.Binder(b.name(name), expression(b, over), expression(b, last[0]) if last else None, b.span(node))


def condition(b: Builder, node: Node) -> s.Expr | None:
    """The condition after `when`, if there is one."""
    when = node.one("when")
    return None if when is None else value(b, when)


def _binary(operator: s.BinaryOperator) -> Callable[[Builder, Node, Span], s.Expr]:
    def build(b: Builder, node: Node, span: Span) -> s.Expr:
        left, right = expressions(b, node.nodes())
        return s.Binary(operator, left, right, span)

    return build


def _unary(operator: Any) -> Callable[[Builder, Node, Span], s.Expr]:
    return lambda b, n, span: s.Unary(operator, expression(b, only(n)), span)


def _logic(operator: Any) -> Callable[[Builder, Node, Span], s.Expr]:
    return lambda b, n, span: s.Logic(operator, expressions(b, n.nodes()), span)


def _chain(b: Builder, node: Node, span: Span) -> s.Expr:
    """`a + b - c`, from the left."""
    first, *rest = node.nodes()
    left = expression(b, first)
    for operator, right in zip(rest[::2], rest[1::2], strict=True):
        whole = Span(b.source, node.start, right.end)
        left = s.Binary(cast(s.BinaryOperator, operator.text()), left, expression(b, right), whole)
    return left


def _compare(b: Builder, node: Node, span: Span) -> s.Expr:
    left, operator, right = node.nodes()
    return s.Binary(cast(s.BinaryOperator, operator.text()), expression(b, left), expression(b, right), span)


def _conditional(b: Builder, node: Node, span: Span) -> s.Expr:
    test, then, otherwise = expressions(b, node.nodes())
    return s.Conditional(test, then, otherwise, span)


def _quantified(b: Builder, node: Node, span: Span) -> s.Expr:
    kind, *over, body = node.nodes()
    return s.Quantified(cast(Any, kind.text()), binders(b, over), expression(b, body), span)


def _duration(b: Builder, node: Node, span: Span) -> s.Expr:
    text = node.text()
    digits = text.rstrip("dhimns")
    return s.Duration(int(digits) * MILLISECONDS[text[len(digits) :]], span)


def _member(b: Builder, node: Node, span: Span) -> s.Expr:
    target, name = node.nodes()
    return s.Member(expression(b, target), b.name(name), span)


def _index(b: Builder, node: Node, span: Span) -> s.Expr:
    target, at = expressions(b, node.nodes())
    return s.Index(target, at, span)


def _call(b: Builder, node: Node, span: Span) -> s.Expr:
    target, *arguments = node.nodes()
    return s.Call(expression(b, target), expressions(b, arguments), span)


def _state_of(b: Builder, node: Node, span: Span) -> s.Expr:
    word = Span(b.source, node.start, node.start + len("state"))
    return s.Call(s.Name("state", word), expressions(b, node.nodes()), span)


def _queue(b: Builder, node: Node, span: Span) -> s.Expr:
    channel, ends = node.nodes()
    return s.Queue(expression(b, channel), expressions(b, ends.nodes()), span)


def _named_argument(b: Builder, node: Node, span: Span) -> s.Expr:
    name, value = node.nodes()
    return s.NamedArgument(b.name(name), expression(b, value), span)


def _word(b: Builder, node: Node, span: Span) -> s.Expr:
    return s.Word(cast(Any, node.text()), span)


def _name(b: Builder, node: Node, span: Span) -> s.Expr:
    token = node.children[0]
    assert isinstance(token, Token)
    return s.Name(token.text, span)


_EXPRESSIONS: dict[str, Callable[[Builder, Node, Span], s.Expr]] = {
    "leads_to": _binary("~>"),
    "implies": _binary("=>"),
    "until_": _binary("until"),
    "or_": _logic("or"),
    "and_": _logic("and"),
    "not_": _unary("not"),
    "always": _unary("always"),
    "eventually": _unary("eventually"),
    "next": _unary("next"),
    "negative": _unary("-"),
    "quantified": _quantified,
    "conditional": _conditional,
    "compare": _compare,
    **dict.fromkeys(CHAINS, _chain),
    "number": lambda b, n, span: s.Number(number(n), span),
    "duration": _duration,
    "truth": _word,
    "self": _word,
    "name": _name,
    "member": _member,
    "index": _index,
    "call": _call,
    "queue": _queue,
    "named_argument": _named_argument,
    "state_of": _state_of,
    "set": lambda b, n, span: s.Collection("set", expressions(b, n.nodes()), span),
    "list": lambda b, n, span: s.Collection("list", expressions(b, n.nodes()), span),
}

EXPRESSIONS = frozenset(_EXPRESSIONS)
"""The rules that make expressions."""
