"""Types: what values there are."""

from __future__ import annotations

from fsmdsl.dataclasses import dataclass, field

__all__ = [
    "BOOL", "ERROR", "NEVER", "BoolType", "DurationType", "EnumType", "ErrorType", "ListType", "MapType",
    "NeverType", "NoneType", "OpaqueType", "OptionalType", "RangeType", "RecordType", "RefType", "SetType", "Type",
    "element_of",
]  # fmt: skip


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
    """The members of an enum, or `state of Pod`: the leaf states of a machine."""

    name: str
    """Qualified."""
    members: tuple[str, ...]
    ordered: bool
    machine: str = field(default="", repr=False)
    """Qualified: the members are the leaf states of this machine, in their order."""
    first: int = field(default=0, repr=False)
    """The place of the member that a value begins as."""


@dataclass(frozen=True, slots=True)
class RecordType:
    """Values with named parts. Each part is a place: a record has no values that it cannot hold."""

    name: str
    """Qualified."""
    parts: tuple[tuple[str, Type], ...]

    def part(self, name: str) -> Type:
        """The type of a part."""
        return dict(self.parts)[name]


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
class MapType:
    """A value for every key: for every truth value, member of an enum, number of a range, or instance of a machine that
    a system has."""

    key: Type
    of: Type


@dataclass(frozen=True, slots=True)
class OptionalType:
    of: Type


@dataclass(frozen=True, slots=True)
class NoneType:
    """The type of `none` where nothing says more."""


@dataclass(frozen=True, slots=True)
class NeverType:
    """The type without values: of what `{}` holds where nothing says more, and of a channel, which is no value."""


@dataclass(frozen=True, slots=True)
class ErrorType:
    """The type of what is wrong already: agrees with everything, so that one mistake gives one message. It ends with
    `resolve`: no model that is handed on has it."""


Type = (
    BoolType | RangeType | DurationType | EnumType | RecordType | RefType | OpaqueType | SetType | ListType | MapType
    | OptionalType | NoneType | NeverType | ErrorType
)  # fmt: skip

BOOL = BoolType()
NEVER = NeverType()
ERROR = ErrorType()


def element_of(collection: Type) -> Type:
    """The type of what a set or list holds; of any other type, none has a value."""
    return collection.of if isinstance(collection, SetType | ListType) else NEVER
