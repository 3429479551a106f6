"""Effects."""

from __future__ import annotations

from fsmdsl import syntax as s
from fsmdsl.syntax.build.builder import Builder, only
from fsmdsl.syntax.build.expressions import binders, expression
from fsmdsl.syntax.tree import Node


def effects(b: Builder, node: Node | None) -> tuple[s.Effect, ...]:
    """The effects of a `do` or an `else`, in a block or alone."""
    body: list[s.Effect] = []
    for part in node.nodes() if node is not None else ():
        body.extend([_effect(b, x) for x in part.nodes()] if part.rule == "block" else [_effect(b, part)])
    return tuple(body)


def block(b: Builder, node: Node) -> tuple[s.Effect, ...]:
    """The effects of the block of a loop, a condition or a recovery."""
    inner = node.one("block")
    return () if inner is None else tuple(_effect(b, x) for x in inner.nodes())


def _effect(b: Builder, node: Node) -> s.Effect:
    parts, span = node.nodes(), b.span(node)
    match node.rule:
        case "assign":
            return s.Assign(expression(b, parts[0]), expression(b, parts[1]), span)
        case "add" | "remove" as kind:
            return s.Change(kind, expression(b, parts[0]), expression(b, parts[1]), span)
        case "post":
            to = node.one("to")
            return s.Post(expression(b, parts[0]), None if to is None else expression(b, only(to)), span)
        case "for_":
            return s.ForEach(binders(b, parts[:1])[0], block(b, node), span)
        case "if_":
            return s.If(expression(b, parts[0]), block(b, node), effects(b, node.one("else_")), span)
        case _:
            return s.Perform(expression(b, parts[0]), span)
