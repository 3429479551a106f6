"""Effects: what a transition does beside changing the state."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fsmdsl.model.expressions import Expr
from fsmdsl.model.types import Type
from fsmdsl.source import NOWHERE, Span


@dataclass(frozen=True, slots=True)
class Assign:
    """`user = by`; `target` None: of the machine itself (another's only in `recover`)."""

    name: str
    target: Expr | None
    value: Expr
    type: Type
    """The field's declared type: a value outside of it is a range fault."""
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Change:
    """`add x to f`, `remove x from f`: for a list, at its end, and its first occurrence."""

    kind: Literal["add", "remove"]
    name: str
    target: Expr | None
    item: Expr
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Send:
    """An event sent to an instance, handled at once."""

    target: Expr
    machine: str
    event: str
    arguments: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Post:
    """A message put into a channel, delivered by a later step; `to` whom, where each instance has a queue."""

    channel: str
    event: str
    arguments: tuple[Expr, ...]
    to: Expr | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Request:
    """An action of the machine, called when the step is committed."""

    action: str
    arguments: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ForEach:
    """In the order in which the instances were made (numbers and enums: ascending; lists: as they stand). The
    collection is read once, before the first turn."""

    variable: str
    over: Expr
    body: tuple[Effect, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Effect, ...]
    otherwise: tuple[Effect, ...]
    span: Span = field(compare=False, default=NOWHERE)


Effect = Assign | Change | Send | Post | Request | ForEach | If
