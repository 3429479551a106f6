"""Machines as written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from fsmdsl.dataclasses import field
from fsmdsl.syntax.effects import Effect
from fsmdsl.syntax.expressions import Expr, Name, Parameter, Path, Text, TypeExpr
from fsmdsl.syntax.nodes import node
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "ActionDecl", "After", "AmendDecl", "AnyValue", "Edge", "EventDecl", "FieldDecl", "HookDecl", "IgnoreDecl",
    "InvariantDecl", "LayoutDecl", "LetDecl", "MachineDecl", "MachineMember", "On", "ParamDecl", "PriorityDecl",
    "Signature", "StateDecl", "StateFlag", "TransitionDecl", "amendments_in",
]  # fmt: skip

StateFlag = Literal["initial", "final", "resting", "persistent", "volatile", "transient", "error"]


@node
class AnyValue:
    """`any` in the place of an initial value."""

    span: Span = field(compare=False, default=NOWHERE)


@node
class FieldDecl:
    """`durable cells: set<Cell> = {}`; `s: 0..3 = any`."""

    name: Name
    type: TypeExpr
    value: Expr | AnyValue | None
    durable: bool
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class ParamDecl:
    """`param size: 1..16`."""

    name: Name
    type: TypeExpr
    value: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class LetDecl:
    """`let effective = min(a, b)`, with parameters a predicate or function."""

    name: Name
    parameters: tuple[Parameter, ...]
    value: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class StateDecl:
    name: Name
    display: Text | None
    flags: tuple[StateFlag, ...]
    children: tuple[StateDecl, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class Signature:
    """`take(by: AffinityGroup)`: the name and parameters of an event or action."""

    name: Name
    parameters: tuple[Parameter, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class EventDecl:
    """`event a(x: T), b from environment`. No senders means: anyone."""

    events: tuple[Signature, ...]
    senders: tuple[Path, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class ActionDecl:
    """`action deploy -> ok | err`."""

    actions: tuple[Signature, ...]
    outcomes: tuple[Name, ...]
    asynchronous: bool
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class On:
    """`on take(by)`, `on deploy.ok`, `on crash`."""

    path: Path
    arguments: tuple[Name, ...] | None
    span: Span = field(compare=False, default=NOWHERE)


@node
class After:
    """`after 5min`, `after termination_delay`."""

    duration: Expr
    span: Span = field(compare=False, default=NOWHERE)


@node
class Edge:
    """`Accepted, Running -> Completing`; without a target, the sources of an internal transition."""

    sources: tuple[Name, ...]
    target: Name | None
    span: Span = field(compare=False, default=NOWHERE)


@node
class TransitionDecl:
    """One line: label, edges, trigger, guard, effects. A source named `*` is any state that is not final."""

    label: Name | None
    edges: tuple[Edge, ...]
    trigger: On | After | None
    guard: Expr | None
    effects: tuple[Effect, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class HookDecl:
    """`on entry(Deploying) do deploy`."""

    kind: Literal["entry", "exit"]
    states: tuple[Name, ...]
    effects: tuple[Effect, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class IgnoreDecl:
    """`ignore pods_deleted in Pending, Deleted`; a state named `*` is every state."""

    events: tuple[Path, ...]
    states: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class PriorityDecl:
    """`priority del_conf > new_conf > *`."""

    names: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class LayoutDecl:
    """`layout rows Free | Used, Reserving | Reserved`: where a diagram has the states."""

    way: Literal["rows", "columns"]
    ranks: tuple[tuple[Name, ...], ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class InvariantDecl:
    name: Name | None
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@node
class AmendDecl:
    """`amends stale_copy "reason" …`: what the document lacks. With `replaces`, rows of the same labels give way, or
    those of the one `label` that it names."""

    name: Name | None
    reason: Text
    replaces: bool
    label: Name | None
    members: tuple[MachineMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


MachineMember = (
    FieldDecl | ParamDecl | LetDecl | StateDecl | EventDecl | ActionDecl | TransitionDecl | HookDecl | IgnoreDecl
    | PriorityDecl | LayoutDecl | InvariantDecl | AmendDecl
)  # fmt: skip


@node
class MachineDecl:
    name: Name
    display: Text | None
    members: tuple[MachineMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


def amendments_in(members: Iterable[MachineMember]) -> Iterator[AmendDecl]:
    """The amendments among members, those inside others too."""
    for x in members:
        if isinstance(x, AmendDecl):
            yield x
            yield from amendments_in(x.members)
