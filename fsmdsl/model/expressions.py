"""Expressions, names bound and typed."""

from __future__ import annotations

from typing import Literal

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.types import BOOL, NEVER, RecordType, Type
from fsmdsl.syntax.operators import Arithmetic, SetOperator
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "AllOf", "Apply", "Binary", "BinaryOperator", "ChannelRef", "Collection", "Conditional", "Constant",
    "Construction", "Derived", "Expr", "Function", "InState", "InstanceRef", "Instances", "Local", "Logic",
    "Negative", "Not", "Ordinal", "Part", "Quantified", "Read", "Self", "StateOf", "Temporal", "Wait",
]  # fmt: skip


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
    text: str = field(compare=False)
    """As the author wrote the right-hand side."""
    type: Type = BOOL
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class StateOf:
    """`state(x)`: the leaf state in which an instance is."""

    target: Expr
    type: Type
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


BinaryOperator = Literal["=>", "==", "!=", "<", "<=", ">", ">=", "in"] | Arithmetic | SetOperator


@dataclass(frozen=True, slots=True)
class Binary:
    """`in` has the item on the left (`has` is turned around). Comparison of ordered enums is by position."""

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


@dataclass(frozen=True, slots=True)
class Construction:
    """A record made of values for all of its parts, in order. What a part cannot hold is a fault, as in a field."""

    parts: tuple[Expr, ...]
    type: RecordType
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Part:
    """`e.term`: a part of a record."""

    of: Expr
    name: str
    type: Type
    span: Span = field(compare=False, default=NOWHERE)


Function = Literal[
    "size", "min", "max", "first", "rest", "item", "concat", "range", "subsets", "present", "filled", "replaced"
]


@dataclass(frozen=True, slots=True)
class Apply:
    """A built-in function. `size` also takes a `ChannelRef`, and behind it the ends of the queue, as in `Post`.

    `range` is `1..n`, the set of the numbers from its first argument to its second. It and `subsets(set, n)` are for
    binders only.

    `item` is `log[i]`, counted from 0: of a list, or of the `Instances` of a system, in the order in which they are
    made; or `votes[n]`, the entry of a map for a key.

    `filled` is the map that has its argument for every key; `replaced` is a map, a key and a value: the map with this
    value for the key, and what `votes[n] = x` assigns. A value that the map cannot hold is the fault of its type.

    `concat` is `a + b` of two lists.

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
    type: Type = NEVER
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
    """Only in properties. Binary: `~>` and `until`; the others have one operand, `stuck` an instance."""

    operator: Literal["~>", "until", "always", "eventually", "next", "stuck"]
    operands: tuple[Expr, ...]
    type: Type = BOOL
    span: Span = field(compare=False, default=NOWHERE)


Expr = (
    Constant | Self | Wait | Local | Read | Derived | InState | StateOf | Not | Negative | Logic | Binary | Conditional
    | Quantified | Collection | Construction | Part | Apply | ChannelRef | InstanceRef | Instances | AllOf | Ordinal
    | Temporal
)  # fmt: skip
