"""The values of a run: worlds, steps, what happens in a step, and how a step fails. No meaning here, see `step`."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from fsmdsl.source import Span

Value: TypeAlias = "bool | int | str | frozenset[Value] | tuple[Value, ...] | None"
"""A bool; a number, or a duration's milliseconds; an instance's number; a member's or an opaque type's name; none; a
set; a list. Which of them it is, its type says."""

# Worlds --------------------------------------------------------------------------------------------------------------


class Message(NamedTuple):
    """What waits in a channel."""

    event: str
    arguments: tuple[Value, ...]


class Pending(NamedTuple):
    """An action whose answer is awaited."""

    instance: int
    action: str


class World(NamedTuple):
    """Everything that can change, between two steps. Instances, fields and channels go by their number."""

    states: tuple[str, ...]
    """The leaf that each instance is in."""
    fields: tuple[tuple[Value, ...], ...]
    waited: frozenset[int]
    """Instances in the middle of a round, for which `wait` is false."""
    channels: tuple[tuple[Message, ...], ...]
    pending: tuple[Pending, ...]
    down: bool
    """The system has crashed, and `recover` has not run."""


class Readable(Protocol):
    """What an expression reads: a world, or the draft of the next one."""

    @property
    def states(self) -> Sequence[str]: ...
    @property
    def fields(self) -> Sequence[tuple[Value, ...]]: ...
    @property
    def waited(self) -> AbstractSet[int]: ...
    @property
    def channels(self) -> Sequence[tuple[Message, ...]]: ...


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
    """A channel (qualified) delivers, loses or duplicates the message at a place."""

    kind: Literal["deliver", "lose", "duplicate"]
    channel: str
    position: int


@dataclass(frozen=True, slots=True)
class CrashStep:
    """The whole system crashes: between steps, or, with `inside`, after so many writes of a step."""

    inside: Step | None = None
    writes: int = 0


@dataclass(frozen=True, slots=True)
class RecoverStep:
    """What the system does first after a crash."""


Step = EventStep | OutcomeStep | TimerStep | ChannelStep | CrashStep | RecoverStep

# What happens in a step ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Followed:
    """A transition, by its index, from leaf to leaf; what it causes comes behind it."""

    instance: int
    transition: int
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Sent:
    """An event from one instance to another; from `recover` where there is no sender."""

    sender: int | None
    receiver: int
    event: str
    arguments: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Posted:
    """A message put into a channel (qualified)."""

    sender: int | None
    channel: str
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


@dataclass(frozen=True, slots=True)
class Crashed:
    """The system went down; the crash transitions come behind it."""


Happening = Followed | Sent | Posted | Requested | Assigned | Ignored | Crashed

# Faults --------------------------------------------------------------------------------------------------------------

FaultKind = Literal[
    "unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost"
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refused:
    """Transitions of the instance, by index, that could have been followed had their guards held; and the world in the
    middle of the step, and the event's arguments, for which they did not."""

    transitions: tuple[int, ...]
    world: World
    arguments: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a step fails: in which instance (None: outside of any), in the author's words, and where in the text."""

    kind: FaultKind
    instance: int | None
    message: str
    span: Span
    refused: Refused | None = field(default=None, compare=False, repr=False)


class FaultError(Exception):
    """Ends the step that is under way; `step.fire` makes it a result."""

    def __init__(
        self, kind: FaultKind, instance: int | None, message: str, span: Span, refused: Refused | None = None
    ) -> None:
        super().__init__(message)
        self.fault = Fault(kind, instance, message, span, refused)


@dataclass(frozen=True, slots=True)
class Result:
    """The world after a step and what happened, in order; with a fault, the world before, and what happened so far."""

    world: World
    cascade: tuple[Happening, ...]
    fault: Fault | None = None
