"""What happens in a step, for logs, coverage, fairness and the code that carries out actions; and the steps offered."""

from __future__ import annotations

from typing import Literal

from fsmdsl.core.statements.expressions import Expr, Queue
from fsmdsl.dataclasses import dataclass

__all__ = [
    "Assigned", "ChannelStep", "ChannelStepKind", "CrashStep", "Crashed", "EventStep", "Followed", "GuardSeen",
    "Happening", "Ignored", "OutcomeStep", "Posted", "RecoverStep", "Requested", "Sent", "Step", "SystemCrash",
    "TimerStep",
]  # fmt: skip

# What happens --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class GuardSeen:
    """A guard has been evaluated."""

    machine: str
    transition: int
    value: Expr


@dataclass(frozen=True, slots=True)
class Followed:
    """A transition, by its index, from leaf to leaf."""

    instance: Expr
    transition: int
    before: Expr
    after: Expr
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Sent:
    sender: Expr
    receiver: Expr
    event: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Posted:
    """`queue` None: the channel leads out of the system."""

    sender: Expr
    channel: str
    queue: Queue | None
    event: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Requested:
    instance: Expr
    action: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Assigned:
    instance: Expr
    field: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Ignored:
    instance: Expr
    trigger: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Crashed:
    """`of`: the set of instances that crash alone; None: the system crashes."""

    of: Expr | None


Happening = GuardSeen | Followed | Sent | Posted | Requested | Assigned | Ignored | Crashed

# Steps that can come next --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EventStep:
    instance: Expr
    event: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class OutcomeStep:
    instance: Expr
    action: str
    outcome: str


@dataclass(frozen=True, slots=True)
class TimerStep:
    instance: Expr
    transition: int


ChannelStepKind = Literal["deliver", "lose", "duplicate"]


@dataclass(frozen=True, slots=True)
class ChannelStep:
    kind: ChannelStepKind
    queue: Queue
    position: Expr


@dataclass(frozen=True, slots=True)
class CrashStep:
    """`of`: a set of instances."""

    of: Expr


@dataclass(frozen=True, slots=True)
class SystemCrash:
    """A crash of the system: now; after each `Cut` but the last of each step offered so far that does not fail; or
    likewise of `recover`, and before its first."""

    kind: Literal["anywhere", "between writes", "during recovery"]


@dataclass(frozen=True, slots=True)
class RecoverStep:
    pass


Step = EventStep | OutcomeStep | TimerStep | ChannelStep | CrashStep | SystemCrash | RecoverStep
