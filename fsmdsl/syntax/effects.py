"""Effects as written."""

from __future__ import annotations

from typing import Literal

from fsmdsl.dataclasses import field
from fsmdsl.syntax.expressions import Binder, Expr
from fsmdsl.syntax.nodes import node
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "Assign", "Change", "Effect", "ForEach", "If", "Perform", "Post",
]  # fmt: skip


@node
class Assign:
    """`user = by`; in `recover`, also `c.user = g`."""

    target: Expr
    value: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Change:
    """`add c to cells`, `remove c from cells`."""

    kind: Literal["add", "remove"]
    item: Expr
    target: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Perform:
    """`c.take(self)` (an event sent) or `release` (an action called): which of them, names decide."""

    call: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Post:
    """`send to_cache.release(a)`, `send inbox.arrive(id) to next`: a message put into a channel."""

    call: Expr
    to: Expr | None
    span: Span = field(compare=False, default=NOWHERE)


@node
class ForEach:
    binder: Binder
    body: tuple[Effect, ...]
    span: Span = field(compare=False, default=NOWHERE)


@node
class If:
    condition: Expr
    then: tuple[Effect, ...]
    otherwise: tuple[Effect, ...]
    span: Span = field(compare=False, default=NOWHERE)


Effect = Assign | Change | Perform | Post | ForEach | If
