"""Machines: states, events, actions, transitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.effects import Effect
from fsmdsl.model.expressions import Expr
from fsmdsl.model.types import Type
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "Action", "Event", "Eventless", "Field", "Grid", "Hook", "Ignore", "Invariant", "Let", "Machine", "OnCrash",
    "OnEvent", "OnOutcome", "OnTimer", "Param", "State", "Transition", "Trigger", "Variable",
]  # fmt: skip


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
    any: bool = False
    """It begins with any value of its type; `default` is a placeholder."""


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
    resting: bool
    persistent: bool
    volatile: bool
    transient: bool
    error: bool
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def permits_rest(self) -> bool:
        """May an instance stay there for ever?"""
        return self.final or self.resting


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
    duration_text: str
    """As the author wrote the duration."""


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
    replaces: str | None = None
    """The label of the documented row in whose place it is, if an amendment has replaced that row by rows of other
    labels."""
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def labels(self) -> frozenset[str]:
        """The labels that mean the row: its own, and that of the row that it replaces."""
        return frozenset(x for x in (self.label, self.replaces) if x is not None)

    @property
    def names(self) -> frozenset[str]:
        """What means the row: its name, and the label of the row that it replaces."""
        return frozenset((self.name,) if self.replaces is None else (self.name, self.replaces))

    @property
    def timer_names(self) -> frozenset[str]:
        """The names of its timer, if it has one: the labels that mean it, and its source."""
        return self.labels | {self.source}

    @property
    def shown_trigger(self) -> str:
        """The trigger as diagrams and tables print it; empty for an eventless transition."""
        match self.trigger:
            case OnEvent(event, _):
                return event
            case OnOutcome(action, outcome):
                return f"{action}.{outcome}"
            case OnTimer(_, duration):
                return f"after {duration}"
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
    is_named: bool = field(compare=False, default=True)
    """Is the name the author's?"""


@dataclass(frozen=True, slots=True)
class Grid:
    """The places of states in diagrams: rows from top to bottom, or columns from left to right, each with its states
    in order. A state is in one of them, or in none."""

    way: Literal["rows", "columns"]
    ranks: tuple[tuple[str, ...], ...]


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
    """The reason of each amendment, in the order of the text."""
    span: Span = field(compare=False, default=NOWHERE)
    priority_spans: tuple[tuple[Span, ...], ...] = field(compare=False, default=())
    """Where each name of each chain of `priority` stands."""
    grid: Grid | None = field(compare=False, default=None)
    """Where diagrams have the states; part of no meaning."""

    @cached_property
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
    def leaf_numbers(self) -> Mapping[str, int]:
        """The place of each leaf among them, by name."""
        return {s.name: n for n, s in enumerate(self.leaves)}

    @cached_property
    def has_final(self) -> bool:
        """Must its instances end?"""
        return any(s.final for s in self.states)

    @cached_property
    def has_rounds(self) -> bool:
        """Are there transitions that need no event?"""
        return any(isinstance(t.trigger, Eventless) for t in self.transitions)

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
