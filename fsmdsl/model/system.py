"""Systems and scenarios: what is checked, and worked examples."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.effects import Effect
from fsmdsl.model.expressions import Expr, Logic
from fsmdsl.model.machine import Field, Invariant, Let, Machine, Variable
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "CrashOffer", "Delivery", "Do", "Elapse", "Expect", "Fails", "Fairness", "Instance", "InstanceGroup",
    "MapField", "MapState", "Mapped", "Offer", "ProcessCrash", "Property", "Reachable", "Recovers", "Refinement",
    "Restart", "Scenario", "ScenarioStep", "SharedEnvironment", "System", "Taken", "Transmit", "Via", "shown_name",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance of a system: `g0` of `groups`, or `slice` of itself. Its number is its place in the system."""

    name: str
    group: str
    index: int
    machine: str
    state: str
    """The leaf it begins in; of several, the first."""
    values: tuple[tuple[str, Expr], ...]
    """Initial values of fields and parameters, where the system gives them; `Ordinal` is replaced."""
    span: Span = field(compare=False, default=NOWHERE)
    any: tuple[str, ...] = ()
    """Fields for which the system says that they begin with any value."""
    states: tuple[str, ...] = ()
    """The leaves it begins in any of, where there are several."""

    @property
    def leaves(self) -> tuple[str, ...]:
        """The leaves it may begin in."""
        return self.states or (self.state,)

    def begins_with_any(self, x: Field) -> bool:
        """Does a field of the instance begin with any value of its type?"""
        return x.name in self.any or (x.any and x.name not in dict(self.values))


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
class ProcessCrash:
    """These instances may crash together, for every value of the variables, where the guard holds."""

    variables: tuple[tuple[str, Expr], ...]
    targets: tuple[Expr, ...]
    machines: tuple[str, ...]
    """Qualified: of each target its machine."""
    guard: Expr | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class SharedEnvironment:
    """What a module offers for systems to use, as read by itself: in a system it is among the `offers`. A parameter
    that is a set of instances is taken for a set of one."""

    name: str
    module: str
    parameters: tuple[Variable, ...]
    lines: tuple[Offer | CrashOffer | ProcessCrash, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True, slots=True)
class Delivery:
    """Messages of a channel (qualified): all of them, or those of one event."""

    channel: str
    event: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Fairness:
    """`names`: `event`, `machine.event`, or a transition's label. `each`: parameters of their events, each value of
    which is promised by itself."""

    strength: Literal["weak", "strong"]
    names: tuple[str, ...]
    deliveries: tuple[Delivery, ...]
    each: tuple[str, ...] = ()
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
    finite: bool
    """Of runs with finitely many crashes?"""
    doc: str
    span: Span = field(compare=False, default=NOWHERE)
    is_named: bool = field(compare=False, default=True)
    """Is the name the author's?"""


@dataclass(frozen=True, slots=True)
class Reachable:
    name: str
    condition: Expr
    doc: str
    span: Span = field(compare=False, default=NOWHERE)
    is_named: bool = field(compare=False, default=True)
    """Is the name the author's?"""


MAX_SHOWN = 60
"""Maximum length of a condition that is shown in place of a name."""


def shown_name(x: Invariant | Property | Reachable, machine: Machine | None = None) -> str:
    """What people read: the author's name; where there is none, the condition in backticks, shortened, for a number
    would not tell which condition is meant. Before it, the machine whose invariant it is."""
    text = (x.formula if isinstance(x, Property) else x.condition).span.quote
    short = text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"
    name = x.name if x.is_named or not text else f"`{short}`"
    return name if machine is None else f"{machine.name}: {name}"


@dataclass(frozen=True, slots=True)
class MapState:
    """An instance is in a leaf where the guard holds, and none of the rows before holds. `bound`: the variable of the
    row, if it has one, and its value."""

    state: str
    guard: Expr | None
    bound: tuple[tuple[str, int], ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class MapField:
    """What a field of an instance is."""

    value: Expr
    bound: tuple[tuple[str, int], ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Mapped:
    """What an instance of the system that is refined (by its number there) is in a world of the one that refines it."""

    instance: int
    states: tuple[MapState, ...]
    fields: tuple[MapField | None, ...]
    """In the order of the machine's fields; None: it is of an opaque type, which has one value."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """`refines Abstract`: `of` is that system, qualified; `same` are the groups that both have."""

    of: str
    path: str
    """The name of the abstract system as the author wrote it."""
    same: tuple[str, ...]
    mapped: tuple[Mapped, ...]
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def rows(self) -> tuple[Span, ...]:
        """Where the rows stand, each once, in the order of the text."""
        spans = {row.span: None for x in self.mapped for row in (*x.states, *x.fields) if row is not None}
        return tuple(sorted(spans, key=lambda span: span.start))


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
    process_crashes: tuple[ProcessCrash, ...] = ()
    refines: Refinement | None = None
    start_when: tuple[Expr, ...] = ()
    """What must hold in the first state."""
    rests: tuple[Expr, ...] = ()
    """`may rest when`: where one of these is true, a state that no step leaves is no deadlock."""
    bounds: tuple[Expr, ...] = ()
    """`explore while`: no step is followed from a state in which one of these is not true."""
    made_of: tuple[str, ...] = ()
    """Qualified: the systems that it extends and the shared environments that it uses. They say nothing more."""

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def bound(self) -> Expr | None:
        """The bounds as one condition; None: there are none."""
        return Logic("and", self.bounds) if len(self.bounds) > 1 else next(iter(self.bounds), None)

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
    """`event` names the message where a bag holds several; `ends` as in `Post`."""

    kind: Literal["deliver", "lose", "duplicate"]
    channel: str
    ends: tuple[Expr, ...]
    event: str | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Restart:
    """`of`: the instances that crash; none: all."""

    kind: Literal["crash", "recover"]
    of: tuple[Expr, ...]
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


Taken = Do | Elapse | Transmit | Restart
"""What is done to the system."""


@dataclass(frozen=True, slots=True)
class Fails:
    """The step ends in a fault; `fault` is its kind, None: any."""

    step: Taken
    fault: str | None
    doc: str
    span: Span = field(compare=False, default=NOWHERE)


ScenarioStep = Taken | Fails | Expect | Via


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
