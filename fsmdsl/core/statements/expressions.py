"""Sure expressions: they have a value wherever they are reached, and no effect."""

from __future__ import annotations

from typing import ClassVar, Literal

from fsmdsl.dataclasses import dataclass
from fsmdsl.model.types import (
    BOOL,
    NEVER,
    EnumType,
    NoneType,
    OptionalType,
    RangeType,
    RecordType,
    RefType,
    SetType,
    Type,
)
from fsmdsl.syntax.operators import Arithmetic, Comparison, SetOperator
from fsmdsl.text.source import Span

__all__ = [
    "INSTANCE", "INSTANCES", "NOTHING", "Apply", "Argument", "Awaited", "Binary", "Blocker", "Blocks", "Chosen",
    "Collection", "Conditional", "Constant", "DataKind", "Depth", "Derived", "Down", "Expr", "Flag", "FlagName",
    "Flagged", "Function", "InState", "Instances", "IsMessage", "IsPending", "IsRepeated", "Length", "Location",
    "Logic", "Name", "Negative", "Not", "Part", "ProcedureKind", "Quantifier", "Query", "Queue", "Read", "Record",
    "State", "Variable", "Waits",
]  # fmt: skip

INSTANCE = RefType("")
INSTANCES = SetType(INSTANCE)
NOTHING = NoneType()

DataKind = Literal["field", "param"]

FlagName = Literal["busy", "touched", "waited"]
"""`busy`: an instance is in the middle of a transition of its own. `touched`: it has followed a transition, or received
an answer, in this step. `waited`: it has followed a transition of the round, so `wait` is false.

Only `waited` outlasts a step."""

ProcedureKind = Literal[
    "let", "admit", "handle", "follow", "eventless", "choose crash", "forget", "follow crash",
    "round", "event", "answer", "tick", "deliver message", "lose message", "duplicate message",
    "crash", "crash alone", "recover",
    "offers", "offer steps", "offer events", "offer line", "offer timers", "offer messages",
    "begin", "may begin", "holds",
]  # fmt: skip
"""`translate` says what each kind does, in a function of the same name."""


@dataclass(frozen=True, slots=True)
class Name:
    """The name of a procedure. `owner`: its machine or channel (qualified), or that of a `let`. `subject`: an event or
    transition, for instance."""

    kind: ProcedureKind
    owner: str = ""
    subject: str = ""


@dataclass(frozen=True, slots=True)
class Constant:
    """As in the model; an instance of the system is its number."""

    value: bool | int | str | None
    type: Type


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter, a `Let`, a `Set`, or the variable of a loop."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Location:
    """A place in the text. An argument like any other, because the fault of a delivery is located at its sender."""

    span: Span
    type: ClassVar[Type] = NEVER


@dataclass(frozen=True, slots=True)
class Read:
    """A field, a parameter, or what a field had in the first world."""

    kind: Literal["field", "param", "initial"]
    owner: Expr
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class State:
    """The leaf in which an instance is."""

    owner: Expr
    type: EnumType


@dataclass(frozen=True, slots=True)
class InState:
    """Is an instance in one of these leaves? False for none."""

    owner: Expr
    leaves: frozenset[str]
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Instances:
    """The instances of a group, of a machine (qualified), or of the system, as a set."""

    kind: Literal["group", "machine", "system"]
    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class Not:
    operand: Expr
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Negative:
    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Logic:
    operator: Literal["and", "or"]
    operands: tuple[Expr, ...]
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Binary:
    """Values are ordered as their type says; `in` has the item on the left."""

    operator: Comparison | Arithmetic | SetOperator | Literal["in"]
    left: Expr
    right: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Conditional:
    condition: Expr
    then: Expr
    otherwise: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Quantifier:
    kind: Literal["all", "some", "count"]
    variable: Variable
    over: Expr
    body: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Collection:
    kind: Literal["set", "list"]
    items: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Record:
    parts: tuple[Expr, ...]
    type: RecordType


@dataclass(frozen=True, slots=True)
class Part:
    of: Expr
    name: str
    type: Type


Function = Literal[
    "size", "min", "max", "first", "rest", "item", "concat", "range", "subsets", "present", "filled", "replaced",
    "add", "remove", "domain",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Apply:
    """A function of the model (see `model.Apply`), or one of these: `add` gives a set or list with one more item, at
    its end; `remove`, without its first such item; `domain`, the set of all values of a type."""

    function: Function
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Derived:
    """A `let` that always has a value. The first argument is its instance."""

    let: Name
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class Flag:
    """Is an instance marked?"""

    flag: FlagName
    instance: Expr
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Flagged:
    """The instances that are marked."""

    flag: FlagName
    type: ClassVar[Type] = INSTANCES


@dataclass(frozen=True, slots=True)
class Depth:
    """The number of instances in the middle of a transition: how deep sends are nested, counted from 1."""

    type: ClassVar[Type] = RangeType(0, 1 << 16)


@dataclass(frozen=True, slots=True)
class Down:
    """Has the system crashed, and not recovered?"""

    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Waits:
    """Does an instance wait for an answer?"""

    instance: Expr
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Awaited:
    """The action whose answer an instance waits for; of several, the one that it requested first."""

    instance: Expr
    type: ClassVar[Type] = NEVER


@dataclass(frozen=True, slots=True)
class IsPending:
    """Does an instance wait for the answer to this action?"""

    instance: Expr
    action: str
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Blocker:
    """The instance whose answer the whole system waits for, or none: that of the first pending action that is not
    `async`."""

    type: ClassVar[Type] = OptionalType(INSTANCE)


@dataclass(frozen=True, slots=True)
class Blocks:
    """Does the whole system wait for the answer to this action of an instance? False for one of another machine."""

    instance: Expr
    machine: str
    action: str
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Chosen:
    """Has an instance chosen this crash transition? See `Choose`."""

    instance: Expr
    transition: int
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Queue:
    """A queue of a channel, by its ends, as in `model.Post`. Not a value: only what is about queues has one."""

    channel: str
    ends: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Length:
    """How many messages wait in a queue."""

    queue: Queue
    type: Type


@dataclass(frozen=True, slots=True)
class IsMessage:
    """Is the message at a position of a queue one of this event?"""

    queue: Queue
    position: Expr
    event: str
    type: ClassVar[Type] = BOOL


@dataclass(frozen=True, slots=True)
class Argument:
    """An argument of the message at a position of a queue, by its number; the message is one of this event."""

    queue: Queue
    position: Expr
    event: str
    number: int
    type: Type


@dataclass(frozen=True, slots=True)
class IsRepeated:
    """Is the message at a position of a queue the same as the one before it? False for the first."""

    queue: Queue
    position: Expr
    type: ClassVar[Type] = BOOL


Query = (
    State | Flag | Flagged | Depth | Down | Waits | Awaited | IsPending | Blocker | Blocks | Chosen | Length | IsMessage
    | Argument | IsRepeated
)  # fmt: skip
"""What is asked of instances, of the step under way, and of queues."""

Expr = (
    Constant | Variable | Location | Read | InState | Instances | Not | Negative | Logic | Binary | Conditional
    | Quantifier | Collection | Record | Part | Apply | Derived | Query
)  # fmt: skip
