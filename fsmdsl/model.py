"""What a spec means: names bound, types known, hierarchy resolved. Immutable; every node knows its span.

Machines refer to one another in circles, so references are by qualified name (`hived.Cell`), looked up in `Model`.
Nothing here knows its readers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from fsmdsl.source import NOWHERE, Span

# Types ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoolType:
    pass


@dataclass(frozen=True, slots=True)
class RangeType:
    """Whole numbers from `low` to `high`, both included. Sums are wider than their parts."""

    low: int
    high: int


@dataclass(frozen=True, slots=True)
class DurationType:
    """A length of time, in milliseconds; only timers look at it."""


@dataclass(frozen=True, slots=True)
class EnumType:
    name: str
    """Qualified."""
    members: tuple[str, ...]
    ordered: bool


@dataclass(frozen=True, slots=True)
class RefType:
    """An instance of a machine."""

    machine: str
    """Qualified."""


@dataclass(frozen=True, slots=True)
class OpaqueType:
    """Carried about, never looked into. A model has one value of each."""

    name: str


@dataclass(frozen=True, slots=True)
class SetType:
    of: Type


@dataclass(frozen=True, slots=True)
class ListType:
    of: Type
    bound: int


@dataclass(frozen=True, slots=True)
class OptionalType:
    of: Type


@dataclass(frozen=True, slots=True)
class NoneType:
    """The type of `none` where nothing says more."""


@dataclass(frozen=True, slots=True)
class NeverType:
    """The element type of `{}` where nothing says more."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """The type of what is wrong already: agrees with everything, so that one mistake gives one message."""


Type = (
    BoolType | RangeType | DurationType | EnumType | RefType | OpaqueType | SetType | ListType | OptionalType | NoneType
    | NeverType | ErrorType
)  # fmt: skip

BOOL = BoolType()
ERROR = ErrorType()

# Expressions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant: a bool, an int (also a duration's milliseconds), an enum member's name, or None."""

    value: bool | int | str | None
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Self:
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Wait:
    """True from the start of a round until a transition of the round has been followed."""

    type: Type = BOOL
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Local:
    """A bound variable: an event's argument, a quantifier's or loop's variable, a parameter of a `let`."""

    name: str
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Read:
    """A field or parameter of an instance (`target` None: of the machine itself)."""

    kind: Literal["field", "param"]
    name: str
    target: Expr | None
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Derived:
    """A `let`: of the machine itself or of `target` when `owner` is a machine's qualified name, else of `owner`, a
    module or system. Arguments stand for its parameters."""

    name: str
    owner: str
    target: Expr | None
    arguments: tuple[Expr, ...]
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class InState:
    """`x in Used`, `x not in {Used, Reserving}` (as `Not`): leaf states, composites resolved. False for none."""

    target: Expr
    states: frozenset[str]
    shown: str
    """As the author wrote the right-hand side."""
    type: Type = BOOL
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expr
    type: Type = BOOL
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Negative:
    operand: Expr
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Logic:
    operator: Literal["and", "or"]
    operands: tuple[Expr, ...]
    type: Type = BOOL
    span: Span = field(compare=False, default=NOWHERE)


BinaryOperator = Literal["=>", "==", "!=", "<", "<=", ">", ">=", "in", "+", "-", "&"]


@dataclass(frozen=True, slots=True)
class Binary:
    """`in` has the item on the left (`has` is turned around). `+ - &` are of numbers or of sets, as `type` says.
    Comparison of ordered enums is by position."""

    operator: BinaryOperator
    left: Expr
    right: Expr
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Quantified:
    """One variable; several binders are nested. `over` is a set or list."""

    kind: Literal["all", "some", "count"]
    variable: str
    over: Expr
    body: Expr
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Collection:
    kind: Literal["set", "list"]
    items: tuple[Expr, ...]
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


Function = Literal["size", "min", "max", "first", "rest", "subsets", "present"]


@dataclass(frozen=True, slots=True)
class Apply:
    """A built-in function. `subsets(set, n)` is for binders only; `size` also takes a `ChannelRef`.

    `present` is put where an optional value is used as what it holds (`user.preempted` with `user: AffinityGroup?`): it
    is its argument, and a fault `none` where that is none.
    """

    function: Function
    arguments: tuple[Expr, ...]
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class ChannelRef:
    name: str
    """Qualified."""
    type: Type = ERROR
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class InstanceRef:
    """One instance of the system: number `index` of the instances called `name`. Systems and scenarios only."""

    name: str
    index: int
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Instances:
    """All instances called `name`, as a set. Systems and scenarios only."""

    name: str
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class AllOf:
    """All instances of a machine (qualified), as a set. Systems, scenarios and their `let`s only."""

    machine: str
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Ordinal:
    """`index` in the braces after an instance set: 0 for its first instance."""

    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Temporal:
    """Only in properties. Binary: `~>` and `until`; the others have one operand."""

    operator: Literal["~>", "until", "always", "eventually", "next"]
    operands: tuple[Expr, ...]
    type: Type = BOOL
    span: Span = field(compare=False, default=NOWHERE)


Expr = (
    Constant | Self | Wait | Local | Read | Derived | InState | Not | Negative | Logic | Binary | Conditional | Quantified
    | Collection | Apply | ChannelRef | InstanceRef | Instances | AllOf | Ordinal | Temporal
)  # fmt: skip

# Effects -------------------------------------------------------------------------------------------------------------


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
    """A message put into a channel, delivered by a later step."""

    channel: str
    event: str
    arguments: tuple[Expr, ...]
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

# Machines ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Variable:
    """A typed name: an event's or action's parameter, or a `let`'s."""

    name: str
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Param:
    name: str
    type: Type
    default: Expr | None
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Field:
    """`default` is always there: where the author gave none, the type's own (false, the range's number nearest to 0,
    an enum's first member, empty, none)."""

    name: str
    type: Type
    default: Expr
    durable: bool
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Let:
    name: str
    owner: str
    parameters: tuple[Variable, ...]
    value: Expr
    type: Type
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class State:
    name: str
    display: str
    """What diagrams and reports print; the name where the author gave none."""
    doc: str
    parent: str | None
    children: tuple[str, ...]
    initial: bool
    """Of the machine, or of its composite."""
    final: bool
    persistent: bool
    volatile: bool
    transient: bool
    error: bool
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Event:
    """`senders`: `environment`, and qualified names of machines and channels. Empty: anyone."""

    name: str
    parameters: tuple[Variable, ...]
    senders: tuple[str, ...]
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def from_environment(self) -> bool:
        return not self.senders or "environment" in self.senders


@dataclass(frozen=True, slots=True)
class Action:
    """Without outcomes, called after the step. With outcomes, its answer begins the next step of the round."""

    name: str
    parameters: tuple[Variable, ...]
    outcomes: tuple[str, ...]
    asynchronous: bool
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class OnEvent:
    """`arguments` are the names that guard and effects use, one for each parameter of the event (empty: none used)."""

    event: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OnOutcome:
    action: str
    outcome: str


@dataclass(frozen=True, slots=True)
class OnTimer:
    """`duration` is a constant or a parameter. While its source is active, the timer may fire when the guard holds."""

    duration: Expr
    shown: str


@dataclass(frozen=True, slots=True)
class OnCrash:
    pass


@dataclass(frozen=True, slots=True)
class Eventless:
    pass


Trigger = OnEvent | OnOutcome | OnTimer | OnCrash | Eventless


@dataclass(frozen=True, slots=True)
class Transition:
    """One arrow: a line with several sources or edges is several of these. `target` None: internal.

    `index` counts the transitions of a machine in the order of the text; it names them where labels repeat.
    """

    index: int
    label: str | None
    source: str
    target: str | None
    trigger: Trigger
    guard: Expr | None
    effects: tuple[Effect, ...]
    wild: bool
    """Made from the source `*`: any transition with a named source comes before it."""
    doc: str
    amended: str | None
    """The reason, when the document lacks it."""
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def shown_trigger(self) -> str:
        """The trigger as diagrams and tables print it; empty for an eventless transition."""
        match self.trigger:
            case OnEvent(event, _):
                return event
            case OnOutcome(action, outcome):
                return f"{action}.{outcome}"
            case OnTimer(_, shown):
                return f"after {shown}"
            case OnCrash():
                return "crash"
            case Eventless():
                return ""

    @property
    def name(self) -> str:
        """The document's label, or what triggers it."""
        return self.label or self.shown_trigger or f"{self.source} -> {self.target or self.source}"


@dataclass(frozen=True, slots=True)
class Hook:
    """Entry or exit effects of one state, in the order of the text."""

    kind: Literal["entry", "exit"]
    state: str
    effects: tuple[Effect, ...]
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Ignore:
    """`event` is an event's name or `action.outcome`; `state` is a leaf."""

    event: str
    state: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Invariant:
    """`name` is the author's, or `invariant 1`, `invariant 2`, … in the order of the text."""

    name: str
    condition: Expr
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True)
class Machine:
    """`states` are in the order of the text, a composite before its children."""

    name: str
    module: str
    display: str
    doc: str
    params: tuple[Param, ...]
    fields: tuple[Field, ...]
    lets: tuple[Let, ...]
    states: tuple[State, ...]
    events: tuple[Event, ...]
    actions: tuple[Action, ...]
    transitions: tuple[Transition, ...]
    hooks: tuple[Hook, ...]
    ignores: tuple[Ignore, ...]
    priority: tuple[tuple[str, ...], ...]
    """Each a chain, best first, of events, labels and `let`s that stand in a guard; `*` is all others."""
    invariants: tuple[Invariant, ...]
    amendments: tuple[str, ...]
    """The reasons given, in the order of the text."""
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"

    @cached_property
    def state_named(self) -> Mapping[str, State]:
        return {s.name: s for s in self.states}

    @cached_property
    def leaves(self) -> tuple[State, ...]:
        """The states an instance can be in."""
        return tuple(s for s in self.states if not s.children)

    @cached_property
    def initial(self) -> State:
        """The leaf in which an instance begins."""
        return self.state_named[self.entered(next(s.name for s in self.states if s.initial and s.parent is None))]

    def ancestors(self, state: str) -> Iterator[str]:
        """The state itself, then its composites, innermost first."""
        at: str | None = state
        while at is not None:
            yield at
            at = self.state_named[at].parent

    def entered(self, state: str) -> str:
        """The leaf that a transition to a state arrives in: through `initial` children."""
        while children := self.state_named[state].children:
            state = next(c for c in children if self.state_named[c].initial)
        return state

    def leaves_of(self, state: str) -> tuple[str, ...]:
        """The leaves inside a state; a leaf is its own."""
        return tuple(s.name for s in self.leaves if state in self.ancestors(s.name))

    @cached_property
    def event_named(self) -> Mapping[str, Event]:
        return {e.name: e for e in self.events}

    @cached_property
    def action_named(self) -> Mapping[str, Action]:
        return {a.name: a for a in self.actions}

    @cached_property
    def let_named(self) -> Mapping[str, Let]:
        return {x.name: x for x in self.lets}


# Channels and locks --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Channel:
    """Messages are the receiver's events that name the channel as sender. One receiving instance in a system."""

    name: str
    module: str
    order: Literal["fifo", "bag"]
    bound: int
    lossy: bool
    duplicating: bool
    receiver: str
    doc: str
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class LockUse:
    name: str
    mode: Literal["read", "write", "any"]
    child: bool
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LockPair:
    """`wanted` may be taken while `held` is held."""

    held: LockUse
    wanted: LockUse
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Hold:
    lock: LockUse
    inside: tuple[Hold, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    holds: tuple[Hold, ...]
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Locks:
    name: str
    module: str
    pairs: tuple[LockPair, ...]
    operations: tuple[Operation, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


# Systems and scenarios -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a system: `g0` of `groups`, or `slice` of itself. Its number is its place in the system."""

    name: str
    group: str
    index: int
    machine: str
    state: str
    """The leaf it begins in."""
    values: tuple[tuple[str, Expr], ...]
    """Initial values of fields and parameters, where the system gives them; `Ordinal` is replaced."""
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class InstanceGroup:
    name: str
    machine: str
    count: int
    single: bool
    """Declared without a number: `slice: Slice`."""
    symmetric: bool
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Offer:
    """The environment may send an event, for every value of the variables, where the guard holds and it is handled."""

    variables: tuple[tuple[str, Expr], ...]
    target: Expr
    machine: str
    event: str
    arguments: tuple[Expr, ...]
    guard: Expr | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class CrashOffer:
    kind: Literal["anywhere", "between writes", "during recovery"]
    guard: Expr | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Fairness:
    """`names`: `event`, `machine.event`, or a transition's label."""

    strength: Literal["weak", "strong"]
    names: tuple[str, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Recovers:
    """`fields`: `name` or `Machine.name`; empty: all."""

    fields: tuple[str, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Property:
    name: str
    formula: Expr | Recovers
    under: tuple[Fairness, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Reachable:
    name: str
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True)
class System:
    """What is checked: how many instances, what the environment does, what must hold.

    `offers` None: every event that the environment may send, with all arguments, wherever it is handled.
    """

    name: str
    module: str
    groups: tuple[InstanceGroup, ...]
    instances: tuple[Instance, ...]
    offers: tuple[Offer, ...] | None
    crashes: tuple[CrashOffer, ...]
    recover: tuple[Effect, ...] | None
    lets: tuple[Let, ...]
    invariants: tuple[Invariant, ...]
    reachables: tuple[Reachable, ...]
    properties: tuple[Property, ...]
    channels: tuple[str, ...]
    """Qualified: those whose receiver is in the system."""
    doc: str
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"

    @cached_property
    def number_of(self) -> Mapping[tuple[str, int], int]:
        """The number of an instance, by group and index."""
        return {(i.group, i.index): n for n, i in enumerate(self.instances)}


@dataclass(frozen=True, slots=True)
class Do:
    """An event from outside (`event`), or the outcome of a pending action (`event` is `action.outcome`)."""

    target: Expr
    machine: str
    event: str
    arguments: tuple[Expr, ...]
    fails: bool
    fault: str | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Elapse:
    """`timer`: a label or source state; None: the only timer that can fire."""

    target: Expr
    machine: str
    timer: str | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Transmit:
    """`event` names the message where a bag holds several."""

    kind: Literal["deliver", "lose", "duplicate"]
    channel: str
    event: str | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Restart:
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
    labels: tuple[str, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


ScenarioStep = Do | Elapse | Transmit | Restart | Expect | Via


@dataclass(frozen=True, slots=True)
class Scenario:
    """A worked example. `system` holds its instances (and, where the scenario names one, that system's everything)."""

    name: str
    title: str
    module: str
    system: System
    steps: tuple[ScenarioStep, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"


# Modules and the whole -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Document:
    """The document that a module formalises."""

    title: str
    location: str | None
    doc: str


@dataclass(frozen=True, slots=True)
class Enum:
    type: EnumType
    name: str
    doc: str
    member_docs: tuple[str, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Opaque:
    type: OpaqueType
    name: str
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Module:
    name: str
    documents: tuple[Document, ...]
    imports: tuple[str, ...]
    enums: tuple[Enum, ...]
    opaques: tuple[Opaque, ...]
    lets: tuple[Let, ...]
    machines: tuple[Machine, ...]
    channels: tuple[Channel, ...]
    locks: tuple[Locks, ...]
    systems: tuple[System, ...]
    scenarios: tuple[Scenario, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True)
class Model:
    """All modules that were resolved together, and look-up by qualified name."""

    modules: tuple[Module, ...]

    @cached_property
    def machines(self) -> Mapping[str, Machine]:
        return {m.qualified: m for module in self.modules for m in module.machines}

    @cached_property
    def channels(self) -> Mapping[str, Channel]:
        return {c.qualified: c for module in self.modules for c in module.channels}

    @cached_property
    def systems(self) -> Mapping[str, System]:
        return {s.qualified: s for module in self.modules for s in module.systems}

    @cached_property
    def scenarios(self) -> Mapping[str, Scenario]:
        return {s.qualified: s for module in self.modules for s in module.scenarios}

    @cached_property
    def enums(self) -> Mapping[str, Enum]:
        return {e.type.name: e for module in self.modules for e in module.enums}

    @cached_property
    def module_lets(self) -> Mapping[str, Mapping[str, Let]]:
        return {module.name: {x.name: x for x in module.lets} for module in self.modules}

    def let(self, derived: Derived, system: System | None) -> Let:
        """The declaration of a derived value."""
        if derived.owner in self.machines:
            return self.machines[derived.owner].let_named[derived.name]
        if system is not None and derived.owner == system.qualified:
            return next(x for x in system.lets if x.name == derived.name)
        return self.module_lets[derived.owner][derived.name]
