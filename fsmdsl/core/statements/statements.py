"""Statements, and the procedures that are made of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl.core.statements.expressions import DataKind, Expr, FlagName, Name, ProcedureKind, Queue, Variable
from fsmdsl.core.statements.faults import Fault
from fsmdsl.core.statements.happenings import Happening, Step
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.effects import ForEach
from fsmdsl.model.expressions import Quantified
from fsmdsl.model.types import Type

__all__ = [
    "Answered", "Arm", "Attempt", "Await", "Block", "Call", "CallOn", "Change", "Choose", "Compound", "Cut", "Disarm",
    "Drop", "DropAll", "Duplicate", "Each", "EachPending", "Enter", "Fail", "Forget", "If", "Leave", "Let", "Mark",
    "Note", "Offer", "PendingAction", "Procedure", "Program", "Progress", "Put", "Repeat", "Require", "Return", "Set",
    "SetDown", "Simple", "Statement", "Unoffered", "Write", "blocks", "walk",
]  # fmt: skip

# Control -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Let:
    """A name for a value. It is not changed afterwards."""

    variable: Variable
    value: Expr


@dataclass(frozen=True, slots=True)
class Set:
    """A variable of several branches or turns takes a value."""

    variable: Variable
    value: Expr


@dataclass(frozen=True, slots=True)
class Require:
    """The step ends with the fault unless the condition holds."""

    condition: Expr
    fault: Fault


@dataclass(frozen=True, slots=True)
class Fail:
    fault: Fault


@dataclass(frozen=True, slots=True)
class If:
    condition: Expr
    then: Block
    otherwise: Block = ()


@dataclass(frozen=True, slots=True)
class Each:
    """A loop over a list, or over a set in the order of its type. `over` is read once, before the first turn. `origin`:
    what the author wrote; None for the members of a value that is checked, and for loops over what a system has."""

    variable: Variable
    over: Expr
    body: Block
    origin: ForEach | Quantified | None = None


@dataclass(frozen=True, slots=True)
class PendingAction:
    """What is done for a pending action of a machine."""

    machine: str
    action: str
    body: Block


@dataclass(frozen=True, slots=True)
class EachPending:
    """A loop over the actions that can be answered now, in the order in which they were requested, each once: the one
    that blocks the system, or, where none does, all that are pending."""

    variable: Variable
    actions: tuple[PendingAction, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A loop that only `Leave` or `Return` ends."""

    body: Block


@dataclass(frozen=True, slots=True)
class Leave:
    """Ends the innermost loop."""


@dataclass(frozen=True, slots=True)
class Call:
    """`into`: the variable that takes the value returned."""

    procedure: Name
    arguments: tuple[Expr, ...]
    into: Variable | None = None


@dataclass(frozen=True, slots=True)
class CallOn:
    """Calls the procedure of this kind that the machine of an instance owns."""

    kind: ProcedureKind
    instance: Expr
    into: Variable | None = None


@dataclass(frozen=True, slots=True)
class Return:
    value: Expr | None = None


@dataclass(frozen=True, slots=True)
class Attempt:
    """Does a block that changes nothing; if it fails, the other one."""

    body: Block
    otherwise: Block


@dataclass(frozen=True, slots=True)
class Unoffered:
    """In the `otherwise` of an `Attempt`: its fault is why something is not offered (see `step.unoffered`), or why a
    first value is impossible. `crash`: a crash is not offered, which leads nowhere, as far as deadlocks go."""

    crash: bool = False


# Changes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Write:
    """A field takes a value that fits; or a parameter, before the first world. `type`: that of the field."""

    kind: DataKind
    owner: Expr
    name: str
    value: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Enter:
    """An instance is in this leaf from now on."""

    instance: Expr
    leaf: str


@dataclass(frozen=True, slots=True)
class Cut:
    """Behind each durable write: a crash of the system may come here."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A timer starts, or starts again, by its transition."""

    instance: Expr
    transition: int


@dataclass(frozen=True, slots=True)
class Disarm:
    """A timer stops, if it runs."""

    instance: Expr
    transition: int


@dataclass(frozen=True, slots=True)
class Put:
    """A message more: at the end, or, in a channel without order, at its place in a fixed order."""

    queue: Queue
    event: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Drop:
    """The message at a position is gone."""

    queue: Queue
    position: Expr


@dataclass(frozen=True, slots=True)
class Duplicate:
    """The message at a position is there twice."""

    queue: Queue
    position: Expr


@dataclass(frozen=True, slots=True)
class DropAll:
    """All queues are empty."""


@dataclass(frozen=True, slots=True)
class Await:
    """The last of the pending actions is this one."""

    instance: Expr
    action: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The action is pending no more; of several such, the first."""

    instance: Expr
    action: str


@dataclass(frozen=True, slots=True)
class Forget:
    """An instance waits for no answer any more."""

    instance: Expr


@dataclass(frozen=True, slots=True)
class Mark:
    flag: FlagName
    instance: Expr
    on: bool


@dataclass(frozen=True, slots=True)
class Choose:
    """The crash transition that an instance will follow; None: none. It is chosen before the crash changes anything."""

    instance: Expr
    transition: int | None


@dataclass(frozen=True, slots=True)
class SetDown:
    down: bool


@dataclass(frozen=True, slots=True)
class Progress:
    """The fault, if the round has been in this world before, or in more than `limit` worlds. The world is remembered
    until the step ends."""

    fault: Fault
    limit: int


@dataclass(frozen=True, slots=True)
class Note:
    """Changes nothing."""

    happening: Happening


@dataclass(frozen=True, slots=True)
class Offer:
    """A step that can come next. `tentative`: unless it turns out that no guard holds, so that it follows nothing; then
    a message may still be ignored on purpose, where no event or timer comes."""

    step: Step
    tentative: bool = False


Compound = If | Each | EachPending | Repeat | Attempt
"""Statements with blocks inside."""

Simple = Let | Set | Require | Fail | Leave | Call | CallOn | Return | Unoffered | Progress | Note | Offer

Change = (
    Write | Enter | Cut | Arm | Disarm | Put | Drop | Duplicate | DropAll | Await | Answered | Forget | Mark | Choose
    | SetDown
)  # fmt: skip
"""What changes the world, or what the step remembers of it."""

Statement = Compound | Simple | Change

Block = tuple[Statement, ...]


def blocks(x: Statement) -> tuple[Block, ...]:
    """The blocks inside a statement."""
    match x:
        case If(then=then, otherwise=otherwise):
            return then, otherwise
        case Attempt(body=body, otherwise=otherwise):
            return body, otherwise
        case Each(body=body) | Repeat(body=body):
            return (body,)
        case EachPending(actions=actions):
            return tuple([action.body for action in actions])
        case _:
            return ()


def walk(block: Block) -> Iterator[Statement]:
    """All statements of a block, those inside others too."""
    for x in block:
        yield x
        for inside in blocks(x):
            yield from walk(inside)


# Procedures ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Procedure:
    """A value is returned by `let`, `eventless`, `may begin` and `holds` alone."""

    name: Name
    parameters: tuple[Variable, ...]
    body: Block


@dataclass(frozen=True, slots=True)
class Program:
    """All procedures of a system, or of machines without one. The steps are `event`, `answer`, `tick`, `deliver
    message`, `lose message`, `duplicate message`, `crash`, `crash alone` and `recover`; `offers` says which of them can
    come next, `begin` and `may begin` how the system begins."""

    procedures: Mapping[Name, Procedure]
