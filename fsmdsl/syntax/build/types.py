"""Types and parameters."""

from __future__ import annotations

from fsmdsl import syntax as s
from fsmdsl.syntax.build.builder import Builder, number, only
from fsmdsl.syntax.tree import Node, Token

TYPES = ("named_type", "state_type", "range_type", "set_type", "list_type", "map_type", "optional_type")


def type_of(b: Builder, node: Node) -> s.TypeExpr:
    """The type that is a part of a declaration."""
    type_node = node.one(*TYPES)
    assert type_node is not None
    return _type(b, type_node)


def parameters(b: Builder, node: Node) -> tuple[s.Parameter, ...]:
    """The parameters that a declaration may have."""
    list_node = node.one("parameters")
    nodes = list_node.nodes() if list_node is not None else []
    return tuple(s.Parameter(b.name(only(p)), type_of(b, p), b.span(p)) for p in nodes)


def _type(b: Builder, node: Node) -> s.TypeExpr:
    span = b.span(node)
    match node.rule:
        case "named_type":
            return s.NamedType(b.path(only(node)), span)
        case "state_type":
            return s.StateType(b.path(only(node)), span)
        case "range_type":
            low, high = (_bound(x) for x in node.nodes())
            return s.RangeType(low, high, span)
        case "set_type":
            return s.SetType(type_of(b, node), span)
        case "list_type":
            return s.ListType(type_of(b, node), number(node), span)
        case "map_type":
            key, of = (_type(b, x) for x in node.nodes())
            return s.MapType(key, of, span)
        case _:
            return s.OptionalType(type_of(b, node), span)


def _bound(node: Node) -> int:
    return int("".join(c.text for c in node.children if isinstance(c, Token)))
