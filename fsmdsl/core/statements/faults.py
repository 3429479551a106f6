"""Why a step fails, with the data that messages need, as expressions."""

from __future__ import annotations

from typing import ClassVar, Literal

from fsmdsl.core.statements.expressions import Expr, Queue
from fsmdsl.dataclasses import dataclass
from fsmdsl.text.source import Span

__all__ = [
    "Cause", "DivisionByZero", "EndlessRound", "Fault", "FaultKind", "Full", "IsDown", "Lost", "Nested", "NoFirst",
    "NoInstance", "NoItem", "NoKey", "NoMessage", "NoTimer", "NotAwaited", "NotDown", "Overlap", "PlaceKind",
    "Reentrance", "StandsStill", "Unfit", "Unhandled", "Waiting",
]  # fmt: skip

FaultKind = Literal["unhandled", "overlap", "reentrance", "busy", "none", "range", "overflow", "endless", "lost"]


@dataclass(frozen=True, slots=True)
class Unhandled:
    """An event or outcome that is not ignored; `guarded`: there are transitions, and no guard holds."""

    trigger: str
    state: Expr
    guarded: Expr
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NotAwaited:
    action: str
    outcome: str
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NoTimer:
    transition: int
    state: Expr
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NoMessage:
    queue: Queue
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class NotDown:
    kind: ClassVar[FaultKind] = "unhandled"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Transitions, each with the condition under which it is one of those that are enabled at once."""

    candidates: tuple[tuple[int, Expr], ...]
    state: Expr
    kind: ClassVar[FaultKind] = "overlap"


@dataclass(frozen=True, slots=True)
class Reentrance:
    event: str
    kind: ClassVar[FaultKind] = "reentrance"


@dataclass(frozen=True, slots=True)
class Waiting:
    """`event` None: a timer."""

    event: str | None
    action: Expr
    kind: ClassVar[FaultKind] = "busy"


@dataclass(frozen=True, slots=True)
class StandsStill:
    what: str
    instance: Expr
    action: str
    kind: ClassVar[FaultKind] = "busy"


@dataclass(frozen=True, slots=True)
class IsDown:
    what: str
    kind: ClassVar[FaultKind] = "busy"


@dataclass(frozen=True, slots=True)
class NoInstance:
    of: Span
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class NoFirst:
    of: Span
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class NoItem:
    of: Span
    at: Expr
    size: Expr
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class NoKey:
    of: Span
    key: Expr
    low: int
    high: int
    kind: ClassVar[FaultKind] = "none"


@dataclass(frozen=True, slots=True)
class DivisionByZero:
    of: Span
    kind: ClassVar[FaultKind] = "none"


PlaceKind = Literal["field", "initial", "argument", "part", "entry"]


@dataclass(frozen=True, slots=True)
class Unfit:
    """A value that a place cannot hold: outside `low..high` (`range`), longer than `high` (`overflow`), or none. The
    place is a field, an argument `of` an event or action, a part `of` a record, or an entry of a map."""

    place: PlaceKind
    name: str
    of: str
    kind: Literal["range", "overflow", "none"]
    value: Expr
    low: int = 0
    high: int = 0


@dataclass(frozen=True, slots=True)
class Full:
    queue: Queue
    kind: ClassVar[FaultKind] = "overflow"


@dataclass(frozen=True, slots=True)
class Nested:
    event: str
    depth: int
    kind: ClassVar[FaultKind] = "endless"


@dataclass(frozen=True, slots=True)
class EndlessRound:
    transition: int
    kind: ClassVar[FaultKind] = "endless"


@dataclass(frozen=True, slots=True)
class Lost:
    """A crash finds an instance in a state that does not survive one."""

    state: str
    endurance: str
    kind: ClassVar[FaultKind] = "lost"


Cause = (
    Unhandled | NotAwaited | NoTimer | NoMessage | NotDown | Overlap | Reentrance | Waiting | StandsStill | IsDown
    | NoInstance | NoFirst | NoItem | NoKey | DivisionByZero | Unfit | Full | Nested | EndlessRound | Lost
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a step fails, in which instance (a constant none: outside of any), and where in the text."""

    cause: Cause
    instance: Expr
    location: Expr
