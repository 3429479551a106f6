"""What the author wrote: frozen nodes, each with its span. Names are not bound and types not known yet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from fsmdsl.source import NOWHERE, Span

# Names ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Name:
    """An identifier as written."""

    text: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Path:
    """`hived.Cell`: names joined by dots."""

    names: tuple[Name, ...]
    span: Span = field(compare=False, default=NOWHERE)

    def __str__(self) -> str:
        return ".".join(n.text for n in self.names)


@dataclass(frozen=True, slots=True)
class Text:
    """A string literal, its escapes undone."""

    text: str
    span: Span = field(compare=False, default=NOWHERE)


# Expressions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Duration:
    """`5min`, kept in milliseconds."""

    milliseconds: int
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Word:
    """`true`, `false`, `none` or `self`."""

    text: Literal["true", "false", "none", "self"]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Member:
    """`target.name`: a field of another instance, a member of an enum, a machine of a module."""

    target: Expr
    name: Name
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Index:
    """`groups[0]`."""

    target: Expr
    index: int
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Call:
    """`size(cells)`, `outranks(g, c)`, and in effects `c.take(self)`."""

    target: Expr
    arguments: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Unary:
    operator: Literal["not", "-", "always", "eventually", "next"]
    operand: Expr
    span: Span = field(compare=False, default=NOWHERE)


BinaryOperator = Literal[
    "=>", "~>", "until", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "has", "+", "-", "&"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Binary:
    operator: BinaryOperator
    left: Expr
    right: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Logic:
    """A chain of `and`, or of `or`."""

    operator: Literal["and", "or"]
    operands: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Conditional:
    """`if a then b else c`."""

    condition: Expr
    then: Expr
    otherwise: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Binder:
    """`c in cells`."""

    name: Name
    over: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Quantified:
    """`all c in cells: body`, `some …`, `count …`."""

    kind: Literal["all", "some", "count"]
    binders: tuple[Binder, ...]
    body: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Collection:
    """`{a, b}` (a set, of values or of states) or `[a, b]` (a list)."""

    kind: Literal["set", "list"]
    items: tuple[Expr, ...]
    span: Span = field(compare=False, default=NOWHERE)


Expr = (
    Number | Duration | Word | Name | Member | Index | Call | Unary | Binary | Logic | Conditional | Quantified | Collection
)  # fmt: skip

# Types ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedType:
    """`bool`, `duration`, or the name of a machine, enum or opaque type."""

    path: Path
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class RangeType:
    low: int
    high: int
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class SetType:
    of: TypeExpr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ListType:
    of: TypeExpr
    bound: int
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class OptionalType:
    of: TypeExpr
    span: Span = field(compare=False, default=NOWHERE)


TypeExpr = NamedType | RangeType | SetType | ListType | OptionalType


@dataclass(frozen=True, slots=True)
class Parameter:
    """`by: AffinityGroup`."""

    name: Name
    type: TypeExpr
    span: Span = field(compare=False, default=NOWHERE)


# Effects -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Assign:
    """`user = by`; in `recover`, also `c.user = g`."""

    target: Expr
    value: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Change:
    """`add c to cells`, `remove c from cells`."""

    kind: Literal["add", "remove"]
    item: Expr
    target: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Perform:
    """`c.take(self)` (an event sent) or `release` (an action called): which of them, names decide."""

    call: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Post:
    """`send to_cache.release(a)`: a message put into a channel."""

    call: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ForEach:
    binder: Binder
    body: tuple[Effect, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: tuple[Effect, ...]
    otherwise: tuple[Effect, ...]
    span: Span = field(compare=False, default=NOWHERE)


Effect = Assign | Change | Perform | Post | ForEach | If

# Machines ------------------------------------------------------------------------------------------------------------

StateFlag = Literal["initial", "final", "persistent", "volatile", "transient", "error"]


@dataclass(frozen=True, slots=True)
class FieldDecl:
    """`durable cells: set<Cell> = {}`."""

    name: Name
    type: TypeExpr
    value: Expr | None
    durable: bool
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ParamDecl:
    """`param size: 1..16`."""

    name: Name
    type: TypeExpr
    value: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LetDecl:
    """`let effective = min(a, b)`, with parameters a predicate or function."""

    name: Name
    parameters: tuple[Parameter, ...]
    value: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class StateDecl:
    name: Name
    display: Text | None
    flags: tuple[StateFlag, ...]
    children: tuple[StateDecl, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Signature:
    """`take(by: AffinityGroup)`: the name and parameters of an event or action."""

    name: Name
    parameters: tuple[Parameter, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class EventDecl:
    """`event a(x: T), b from environment`. No senders means: anyone."""

    events: tuple[Signature, ...]
    senders: tuple[Path, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ActionDecl:
    """`action deploy -> ok | err`."""

    actions: tuple[Signature, ...]
    outcomes: tuple[Name, ...]
    asynchronous: bool
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class On:
    """`on take(by)`, `on deploy.ok`, `on crash`."""

    path: Path
    arguments: tuple[Name, ...] | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class After:
    """`after 5min`, `after termination_delay`."""

    duration: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Edge:
    """`Accepted, Running -> Completing`; without a target, the sources of an internal transition."""

    sources: tuple[Name, ...]
    target: Name | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class TransitionDecl:
    """One line: label, edges, trigger, guard, effects. A source named `*` is any state that is not final."""

    label: Name | None
    edges: tuple[Edge, ...]
    trigger: On | After | None
    guard: Expr | None
    effects: tuple[Effect, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class HookDecl:
    """`on entry(Deploying) do deploy`."""

    kind: Literal["entry", "exit"]
    states: tuple[Name, ...]
    effects: tuple[Effect, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class IgnoreDecl:
    """`ignore pods_deleted in Pending, Deleted`; a state named `*` is every state."""

    events: tuple[Path, ...]
    states: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class PriorityDecl:
    """`priority del_conf > new_conf > *`."""

    names: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class InvariantDecl:
    name: Name | None
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class AmendDecl:
    """`amends "reason" …`: what the document lacks. With `replaces`, rows of the same label give way."""

    reason: Text
    replaces: bool
    members: tuple[MachineMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


MachineMember = (
    FieldDecl | ParamDecl | LetDecl | StateDecl | EventDecl | ActionDecl | TransitionDecl | HookDecl | IgnoreDecl
    | PriorityDecl | InvariantDecl | AmendDecl
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MachineDecl:
    name: Name
    display: Text | None
    members: tuple[MachineMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


# Systems and scenarios -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Initial:
    """`priority = index` in the braces after an instance."""

    name: Name
    value: Expr
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class InstanceDecl:
    """`groups: AffinityGroup[3] { size = 2 }`; `state` is where a scenario lets the instance begin."""

    name: Name
    machine: Path
    count: int | None
    symmetric: bool
    state: Name | None
    initials: tuple[Initial, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Offer:
    """`some g in groups: g.pods_deleted when …`: an event that the environment may send."""

    binders: tuple[Binder, ...]
    call: Expr
    guard: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class CrashOffer:
    """`crash`, `crash between writes`, `crash during recovery`."""

    kind: Literal["anywhere", "between writes", "during recovery"]
    guard: Expr | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class EnvironmentDecl:
    offers: tuple[Offer | CrashOffer, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class RecoverDecl:
    effects: tuple[Effect, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Fairness:
    """`fair pods_deleted`, `strong fair schedule`: events, or labels of transitions."""

    strength: Literal["weak", "strong"]
    names: tuple[Path, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Recovers:
    """`recovers on cells, user`: the property of recovery, compared on these fields (none named: on all)."""

    fields: tuple[Path, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class PropertyDecl:
    name: Name | None
    formula: Expr | Recovers
    under: tuple[Fairness, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ReachableDecl:
    name: Name | None
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


SystemMember = (
    InstanceDecl | LetDecl | EnvironmentDecl | RecoverDecl | InvariantDecl | PropertyDecl | ReachableDecl
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SystemDecl:
    name: Name
    members: tuple[SystemMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Do:
    """`g.schedule({c0})`, `sliver.deploy.ok`: an event from outside, or the outcome of a pending action.

    With `fails`, the step is expected to end in a fault, of the kind named if one is.
    """

    call: Expr
    fails: bool
    fault: Name | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Elapse:
    """`timeout app`, `timeout app Starting`: the timer of an instance, chosen by label or source state."""

    instance: Expr
    timer: Name | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Transmit:
    """`deliver to_cache`, `lose to_cache`, `duplicate to_cache`; a named message where order is free."""

    kind: Literal["deliver", "lose", "duplicate"]
    channel: Path
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Restart:
    """`crash` or `recover`."""

    kind: Literal["crash", "recover"]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Expect:
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Via:
    """`via U3, P3, L4`: the labels followed since the last `via`, in order."""

    labels: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


ScenarioStep = Do | Elapse | Transmit | Restart | Expect | Via


@dataclass(frozen=True, slots=True)
class ScenarioDecl:
    """`scenario G1 "plain path" of Small { … }`, or with instances of its own."""

    name: Name
    title: Text | None
    system: Path | None
    instances: tuple[InstanceDecl, ...]
    steps: tuple[ScenarioStep, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


# Modules -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Import:
    """`import hived` (then `hived.Cell`) or `import hived { Cell }` (then `Cell`)."""

    path: Path
    names: tuple[Name, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class SourceDecl:
    """`source "HiveD state machines" at "hived-state-machines.md"`: the document that the module formalises."""

    title: Text
    location: Text | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class EnumMember:
    name: Name
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class EnumDecl:
    name: Name
    members: tuple[EnumMember, ...]
    ordered: bool
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class OpaqueDecl:
    names: tuple[Name, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ChannelDecl:
    """`channel to_cache: lossy fifo[2] to Cache`."""

    name: Name
    order: Literal["fifo", "bag"]
    bound: int
    lossy: bool
    duplicating: bool
    receiver: Path
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LockUse:
    """`write(Partition)`, `read(child Queue)`, `Node` (either mode)."""

    name: Name
    mode: Literal["read", "write", "any"]
    child: bool
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LockOrder:
    """`Cluster > Partition > Queue`: each may be taken while the one before it is held."""

    locks: tuple[LockUse, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Hold:
    """`write(Partition) { read(Node) }`: locks taken while one is held."""

    lock: LockUse
    inside: tuple[Hold, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class OperationDecl:
    name: Name
    holds: tuple[Hold, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LocksDecl:
    name: Name | None
    members: tuple[LockOrder | OperationDecl | LockAmendment, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LockAmendment:
    """`amends "reason" Cluster > Partition`."""

    reason: Text
    members: tuple[LockOrder | OperationDecl, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


ModuleMember = (
    EnumDecl | OpaqueDecl | LetDecl | MachineDecl | ChannelDecl | LocksDecl | SystemDecl | ScenarioDecl
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Module:
    """One `.fsm` file. A file without a `module` line is named after itself."""

    name: Path | None
    sources: tuple[SourceDecl, ...]
    imports: tuple[Import, ...]
    members: tuple[ModuleMember, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)
