"""Names, expressions and types as written."""

from __future__ import annotations

from typing import Literal

from fsmdsl.dataclasses import field
from fsmdsl.syntax.nodes import node
from fsmdsl.syntax.operators import Written
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "Binary", "BinaryOperator", "Binder", "Call", "Collection", "Conditional", "Duration", "Expr", "Index",
    "ListType", "Logic", "MapType", "Member", "Name", "NamedArgument", "NamedType", "Number", "OptionalType",
    "Parameter", "Path", "Quantified", "Queue", "RangeType", "SetType", "StateType", "Text", "TypeExpr", "Unary",
    "Word",
]  # fmt: skip


@node
class Name:
    """An identifier as written."""

    text: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Path:
    """`hived.Cell`: names joined by dots."""

    names: tuple[Name, ...]
    span: Span = field(compare=False, default=NOWHERE)

    def __str__(self) -> str:
        return ".".join(n.text for n in self.names)


@node
class Text:
    """A string literal, its escapes undone."""

    text: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Number:
    value: int
    span: Span = field(compare=False, default=NOWHERE)


@node
class Duration:
    """`5min`, kept in milliseconds."""

    milliseconds: int
    span: Span = field(compare=False, default=NOWHERE)


@node
class Word:
    """`true`, `false`, `none` or `self`."""

    text: Literal["true", "false", "none", "self"]
    span: Span = field(compare=False, default=NOWHERE)


@node
class Member:
    """`target.name`: a field of another instance, a member of an enum, a machine of a module."""

    target: Expr
    name: Name
    span: Span = field(compare=False, default=NOWHERE)


@node
class Index:
    """`groups[0]`, `log[i]`."""

    target: Expr
    index: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Call:
    """`size(cells)`, `outranks(g, c)`, `Entry(1, true)`, and in effects `c.take(self)`."""

    target: Expr
    arguments: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class Unary:
    operator: Literal["not", "-", "always", "eventually", "next"]
    operand: Expr
    span: Span = field(compare=False, default=NOWHERE)


BinaryOperator = Literal["=>", "~>", "until", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "has"] | Written


@node
class Binary:
    operator: BinaryOperator
    left: Expr
    right: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Logic:
    """A chain of `and`, or of `or`."""

    operator: Literal["and", "or"]
    operands: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class Conditional:
    """`if a then b else c`."""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Binder:
    """`c in cells`, or `i in 0..3` with `last`."""

    name: Name
    over: Expr
    last: Expr | None = None
    span: Span = field(compare=False, default=NOWHERE)


@node
class Quantified:
    """`all c in cells: body`, `some …`, `count …`."""

    kind: Literal["all", "some", "count"]
    binders: tuple[Binder, ...]
    body: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Collection:
    """`{a, b}` (a set, of values or of states) or `[a, b]` (a list)."""

    kind: Literal["set", "list"]
    items: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class Queue:
    """`inbox of p`, `link from p to q`: the queue of one instance or pair, in `size(inbox of p)`."""

    channel: Expr
    ends: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class NamedArgument:
    """`term = 1`, in `Entry(term = 1, value = true)`."""

    name: Name
    value: Expr
    span: Span = field(compare=False, default=NOWHERE)


Expr = (
    Number | Duration | Word | Name | Member | Index | Call | Unary | Binary | Logic | Conditional | Quantified
    | Collection | Queue | NamedArgument
)  # fmt: skip


@node
class NamedType:
    """`bool`, `duration`, or the name of a machine, enum, record or opaque type."""

    path: Path
    span: Span = field(compare=False, default=NOWHERE)


@node
class StateType:
    """`state of Pod`."""

    machine: Path
    span: Span = field(compare=False, default=NOWHERE)


@node
class RangeType:
    low: int
    high: int
    span: Span = field(compare=False, default=NOWHERE)


@node
class SetType:
    of: TypeExpr
    span: Span = field(compare=False, default=NOWHERE)


@node
class ListType:
    of: TypeExpr
    bound: int
    span: Span = field(compare=False, default=NOWHERE)


@node
class MapType:
    key: TypeExpr
    of: TypeExpr
    span: Span = field(compare=False, default=NOWHERE)


@node
class OptionalType:
    of: TypeExpr
    span: Span = field(compare=False, default=NOWHERE)


TypeExpr = NamedType | StateType | RangeType | SetType | ListType | MapType | OptionalType


@node
class Parameter:
    """`by: AffinityGroup`."""

    name: Name
    type: TypeExpr
    span: Span = field(compare=False, default=NOWHERE)
