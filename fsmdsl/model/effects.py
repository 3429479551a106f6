"""Effects: what a transition does beside changing the state."""

from __future__ import annotations

from typing import Literal, assert_never

from fsmdsl.dataclasses import dataclass, field, replace
from fsmdsl.model.expressions import Expr
from fsmdsl.model.types import Type
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "Assign", "Block", "Change", "Effect", "ForEach", "If", "Post", "Request", "Send", "Write", "inside", "made_of",
    "operands",
]  # fmt: skip


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
    """A message put into a channel, delivered by a later step. `ends`: the receiver, where each instance has a queue;
    the sender and the receiver, where each pair has."""

    channel: str
    event: str
    arguments: tuple[Expr, ...]
    ends: tuple[Expr, ...]
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


Write = Assign | Change
"""What writes the field `name`, of `target`."""

Effect = Write | Send | Post | Request | ForEach | If

Block = tuple[Effect, ...]

# Of what an effect is made -------------------------------------------------------------------------------------------


def operands(x: Effect) -> tuple[Expr, ...]:
    """The expressions directly in an effect, not those of effects inside it."""
    match x:
        case Assign(target=target, value=value) | Change(target=target, item=value):
            return (value,) if target is None else (target, value)
        case Send(target=target, arguments=arguments):
            return (target, *arguments)
        case Post(ends=ends, arguments=arguments):
            return (*ends, *arguments)
        case Request(arguments=arguments):
            return arguments
        case ForEach(over=over):
            return (over,)
        case If(condition=condition):
            return (condition,)
        case _:
            assert_never(x)


def inside(x: Effect) -> tuple[Block, ...]:
    """The blocks of effects directly in an effect."""
    match x:
        case ForEach(body=body):
            return (body,)
        case If(then=then, otherwise=otherwise):
            return then, otherwise
        case _:
            return ()


def made_of(x: Effect, new_operands: tuple[Expr, ...], blocks: tuple[Block, ...]) -> Effect:
    """An effect with other operands, and other blocks inside; the same one if they are not other."""
    if new_operands == operands(x) and blocks == inside(x):
        return x
    match x:
        case Assign(target=target):
            return replace(x, target=None if target is None else new_operands[0], value=new_operands[-1])
        case Change(target=target):
            return replace(x, target=None if target is None else new_operands[0], item=new_operands[-1])
        case Send():
            return replace(x, target=new_operands[0], arguments=new_operands[1:])
        case Post(ends=ends):
            return replace(x, ends=new_operands[: len(ends)], arguments=new_operands[len(ends) :])
        case Request():
            return replace(x, arguments=new_operands)
        case ForEach():
            return replace(x, over=new_operands[0], body=blocks[0])
        case If():
            return replace(x, condition=new_operands[0], then=blocks[0], otherwise=blocks[1])
        case _:
            assert_never(x)
