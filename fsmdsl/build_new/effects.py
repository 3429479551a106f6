"""Effects."""

from __future__ import annotations

from fsmdsl import syntax as s
from fsmdsl.build.builder import Builder
from fsmdsl.build.expressions import binders, expression, expressions
from fsmdsl.tree import Node


def effects(b: Builder, node: Node | None) -> tuple[s.Effect, ...]:
    """The effects of a `do`, a block or an `else`."""
    found: list[s.Effect] = []
    for part in node.nodes() if node is not None else ():
        if part.rule == "block":
            found.extend(_effect(b, x) for x in part.nodes())
        else:
            found.append(_effect(b, part))
    return tuple(found)


def _effect(b: Builder, node: Node) -> s.Effect:
    parts, span = node.nodes(), b.span(node)
    match node.rule:
        case "assign":
            return s.Assign(*expressions(b, parts), span)
        case "add" | "remove" as kind:
            return s.Change(kind, *expressions(b, parts), span)
        case "post":
            return s.Post(expression(b, parts[0]), span)
        case "for_":
            return s.ForEach(binders(b, parts[:1])[0], effects(b, node), span)
        case "if_":
            then, otherwise = effects(b, node), effects(b, node.one("else_"))
            return s.If(expression(b, parts[0]), then, otherwise, span)
        case _:
            return s.Perform(expression(b, parts[0]), span)
