"""The values of a run: worlds, steps, what happens in a step, and how a step fails. No meaning here, see `step`."""

from __future__ import annotations

from typing import ClassVar, Literal

from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.step.data import Misfit
from fsmdsl.step.data import Value as Value
from fsmdsl.text.source import Span

# Worlds --------------------------------------------------------------------------------------------------------------


class Message(NamedTuple):
    """What waits in a queue of a channel."""

    event: str
    arguments: tuple[Value, ...]


class Pending(NamedTuple):
    """An action whose answer is awaited."""

    instance: int
    action: str


class World(NamedTuple):
    """Everything that can change, between two steps. Instances, fields and queues go by number, states are leaves."""

    states: tuple[str, ...]
    fields: tuple[tuple[Value, ...], ...]
    waited: frozenset[int]
    """Instances in the middle of a round, for which `wait` is false."""
    channels: tuple[tuple[Message, ...], ...]
    pending: tuple[Pending, ...]
    down: bool
    """The system has crashed, and `recover` has not run."""


# Steps ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventStep:
    """The environment sends an event."""

    instance: int
    event: str
    arguments: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class OutcomeStep:
    """Hand-written code answers a pending action."""

    instance: int
    action: str
    outcome: str


@dataclass(frozen=True, slots=True)
class TimerStep:
    """Time is up for a transition, by its index."""

    instance: int
    transition: int


@dataclass(frozen=True, slots=True)
class ChannelStep:
    """A channel delivers, loses or duplicates the message at a place of a queue, which goes by its number."""

    kind: Literal["deliver", "lose", "duplicate"]
    queue: int
    position: int


@dataclass(frozen=True, slots=True)
class CrashStep:
    """A crash between steps or, with `inside`, after `writes` writes of that step. It strikes all instances or, between
    steps only, those in `of`."""

    inside: Step | None = None
    writes: int = 0
    of: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class RecoverStep:
    """What the system does first after a crash."""


Step = EventStep | OutcomeStep | TimerStep | ChannelStep | CrashStep | RecoverStep

# What happens in a step ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Followed:
    """A transition, by its index, from leaf to leaf; what it causes comes behind it. `arguments`: its event's."""

    instance: int
    transition: int
    before: str
    after: str
    arguments: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Sent:
    """An event from one instance to another; from `recover` where there is no sender."""

    sender: int | None
    receiver: int
    event: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Posted:
    """A message put into a queue, by its number, of a channel (qualified). None: it leaves the system."""

    sender: int | None
    channel: str
    queue: int | None
    event: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Requested:
    """An action called."""

    instance: int
    action: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Assigned:
    """A field's new value."""

    instance: int
    field: str
    value: Value


@dataclass(frozen=True, slots=True)
class Ignored:
    """An event, or `action.outcome`, that its receiver ignores on purpose."""

    instance: int
    event: str
    arguments: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Crashed:
    """The system went down, or these instances of it; the crash transitions come behind it."""

    of: tuple[int, ...] = ()


TraceEvent = Followed | Sent | Posted | Requested | Assigned | Ignored | Crashed

# Faults --------------------------------------------------------------------------------------------------------------

FaultKind = Literal["unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost"]


@dataclass(frozen=True, slots=True)
class Unhandled:
    """An event, or `action.outcome`, that is not ignored; `guarded`: there are transitions, and no guard holds."""

    trigger: str
    state: str
    guarded: bool
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NotAwaited:
    """The outcome of an action for which the instance does not wait."""

    action: str
    outcome: str
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NoTimer:
    """A timer, by its transition, that does not run in the state, or whose guard does not hold."""

    transition: int
    state: str
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NoMessage:
    """A queue, by its number, has no message at that place."""

    queue: int
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NotDown:
    """`recover` comes, and the system has not crashed."""

    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Transitions, by index, that are enabled at once."""

    transitions: tuple[int, ...]
    state: str
    kind: ClassVar[FaultKind] = "overlap"


@dataclass(frozen=True, slots=True)
class Reentrance:
    """An event reaches an instance in the middle of its own transition."""

    event: str
    kind: ClassVar[FaultKind] = "reentrance"


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event (None: a timer) reaches an instance that waits for an answer of its own."""

    event: str | None
    action: str
    kind: ClassVar[FaultKind] = "busy"


@dataclass(frozen=True, slots=True)
class StandsStill:
    """Something comes from outside while the system waits for the answer of an instance's action."""

    what: str
    instance: int
    action: str
    kind: ClassVar[FaultKind] = "busy"


@dataclass(frozen=True, slots=True)
class Down:
    """Something comes from outside while the system is down."""

    what: str
    kind: ClassVar[FaultKind] = "busy"


@dataclass(frozen=True, slots=True)
class NoInstance:
    """An expression is used as an instance, or as what an optional holds, and is none."""

    of: Span
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class NoFirst:
    """The first of a list or set that is empty."""

    of: Span
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class NoItem:
    """The item at a place that a list or a set of instances does not have."""

    of: Span
    at: int
    size: int
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class NoKey:
    """The entry of a map for a number that is none of its keys."""

    of: Span
    key: Value
    low: int
    high: int
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class DivisionByZero:
    """`a / b` or `a % b` where b is 0."""

    of: Span
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class Unfit:
    """A field, its initial value, an argument `of` an event or action, a part `of` a record, or an entry of a map would
    be what it cannot be."""

    place: Literal["field", "initial", "argument", "part", "entry"]
    name: str
    of: str
    misfit: Misfit

    @property
    def kind(self) -> FaultKind:
        """That of the misfit."""
        return self.misfit.kind


@dataclass(frozen=True, slots=True)
class NoStart:
    """No first state satisfies `start when`."""

    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class Full:
    """One message too many for a queue, by its number."""

    queue: int
    kind: ClassVar[FaultKind] = "overflow"


@dataclass(frozen=True, slots=True)
class Nested:
    """An event that is sent at a nesting depth beyond the limit."""

    event: str
    depth: int
    kind: ClassVar[FaultKind] = "endless"


@dataclass(frozen=True, slots=True)
class EndlessRound:
    """A round that follows this transition again and again."""

    transition: int
    kind: ClassVar[FaultKind] = "endless"


@dataclass(frozen=True, slots=True)
class Lost:
    """A crash finds an instance in a state that does not survive one."""

    state: str
    flag: str
    kind: ClassVar[FaultKind] = "lost"


Cause = (
    Unhandled | NotAwaited | NoTimer | NoMessage | NotDown | Overlap | Reentrance | Waiting | StandsStill | Down
    | NoInstance | NoFirst | NoItem | NoKey | DivisionByZero | Unfit | NoStart | Full | Nested | EndlessRound
    | Lost
)  # fmt: skip
"""Why a step fails. `step.describe.fault_message` has the words."""


@dataclass(frozen=True, slots=True)
class Refused:
    """Transitions of the instance, by index, that could have been followed had their guards held; and the world in the
    middle of the step, and the event's arguments, for which they did not."""

    transitions: tuple[int, ...]
    world: World
    arguments: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a step fails, in which instance (None: outside of any), and where in the text."""

    cause: Cause
    instance: int | None
    span: Span
    refused: Refused | None = field(default=None, compare=False, repr=False)

    @property
    def kind(self) -> FaultKind:
        """What `fails … with` names."""
        return self.cause.kind


class FaultError(Exception):
    """Ends the step that is under way; `step.fire` makes it a result."""

    def __init__(self, cause: Cause, instance: int | None, span: Span, refused: Refused | None = None) -> None:
        super().__init__(cause)
        self.fault = Fault(cause, instance, span, refused)
