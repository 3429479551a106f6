"""What types agree, which type an operator gives, and which places hold which values: the rules of types, once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, assert_never

from fsmdsl.model.types import (
    ERROR,
    BoolType,
    DurationType,
    EnumType,
    ErrorType,
    ListType,
    MapType,
    NeverType,
    NoneType,
    OpaqueType,
    OptionalType,
    RangeType,
    RecordType,
    RefType,
    SetType,
    Type,
)
from fsmdsl.syntax.operators import Arithmetic, bounds


def bare(t: Type) -> Type:
    """A type without its `?`."""
    return t.of if isinstance(t, OptionalType) else t


def machine_of(t: Type) -> str | None:
    """The machine whose instances a value refers to, if it is a reference (or none)."""
    of = bare(t)
    return of.machine if isinstance(of, RefType) else None


def element(t: Type) -> Type:
    """What a set or list holds; the error type of anything else."""
    return t.of if isinstance(t, SetType | ListType) else ERROR


def types_in(t: Type) -> Iterator[Type]:
    """A type, and those of what its values hold: elements, keys, parts of records, and so on."""
    yield t
    match t:
        case OptionalType(of) | SetType(of) | ListType(of):
            yield from types_in(of)
        case RecordType(parts=parts):
            for _, of in parts:
                yield from types_in(of)
        case MapType(key, of):
            yield from types_in(key)
            yield from types_in(of)
        case _:
            pass


def referred(t: Type) -> Iterator[str]:
    """The machines that values of a type refer to instances of."""
    return (x.machine for x in types_in(t) if isinstance(x, RefType))


# Two types -----------------------------------------------------------------------------------------------------------


def join(a: Type, b: Type) -> Type | None:
    """The smallest type that holds the values of both, or None where there is none."""
    if isinstance(a, ErrorType) or isinstance(b, ErrorType):
        return ERROR
    if a == b or isinstance(b, NeverType):
        return a
    if isinstance(a, NeverType):
        return b
    if isinstance(a, NoneType) or isinstance(b, NoneType):
        return _optional(b if isinstance(a, NoneType) else a)
    if isinstance(a, OptionalType) or isinstance(b, OptionalType):
        inner = join(bare(a), bare(b))
        return None if inner is None else _optional(inner)
    match a, b:
        case RangeType(), RangeType():
            return RangeType(min(a.low, b.low), max(a.high, b.high))
        case SetType(), SetType():
            inner = join(a.of, b.of)
            return None if inner is None else SetType(inner)
        case ListType(), ListType():
            inner = join(a.of, b.of)
            return None if inner is None else ListType(inner, max(a.bound, b.bound))
        case _:
            return None


def join_all(types: Iterable[Type]) -> Type | None:
    """`join` of many; of none: nothing."""
    common: Type | None = NeverType()
    for t in types:
        common = None if common is None else join(common, t)
    return common


def common(a: Type, b: Type) -> Type:
    """`join` of two types that agree."""
    return join(a, b) or a


def _optional(t: Type) -> Type:
    return t if isinstance(t, OptionalType | NoneType | ErrorType) else OptionalType(t)


def compatible(value: Type, place: Type) -> bool:
    """May a value of this type stand in a place of that one? Ranges are compared when the step runs."""
    if isinstance(value, ErrorType | NeverType) or isinstance(place, ErrorType) or value == place:
        return True
    match value, place:
        case NoneType(), OptionalType():
            return True
        case OptionalType(), OptionalType():
            return compatible(value.of, place.of)
        case _, OptionalType():
            return compatible(value, place.of)
        case RangeType(), RangeType():
            return True
        case (SetType(of=a), SetType(of=b)) | (ListType(of=a), ListType(of=b)):
            return compatible(a, b)
        case _:
            return False


def holds(place: Type, value: Type) -> bool:
    """Can a place hold every value of a type that is `compatible` with it? Where not, a step has to look: what does
    not fit is a fault `range`, or `overflow` for a list."""
    match place, value:
        case _, NeverType():
            return True
        case OptionalType(), NoneType():
            return True
        case OptionalType(of), OptionalType(inner):
            return holds(of, inner)
        case OptionalType(of), _:
            return holds(of, value)
        case _, OptionalType() | NoneType():
            return False
        case RangeType(low, high), RangeType(least, most):
            return low <= least and most <= high
        case SetType(of), SetType(inner):
            return holds(of, inner)
        case ListType(of, bound), ListType(inner, longest):
            return longest <= bound and holds(of, inner)
        case _:
            return True


def is_limited(place: Type) -> bool:
    """Are there values of a place's kind that the place cannot hold: numbers out of range, lists that are too long?"""
    match place:
        case RangeType() | ListType():
            return True
        case OptionalType(of) | SetType(of):
            return is_limited(of)
        case (
            BoolType()
            | DurationType()
            | EnumType()
            | RecordType()
            | RefType()
            | OpaqueType()
            | NoneType()
            | NeverType()
        ):
            return False
        case MapType() | ErrorType():
            return False
        case _:
            assert_never(place)


def is_structured(t: Type) -> bool:
    """Is a value of a type a set, list or map, or has it one in it? Such values have no numbers in their order."""
    match t:
        case SetType() | ListType() | MapType():
            return True
        case OptionalType(of):
            return is_structured(of)
        case RecordType(parts=parts):
            return any(is_structured(of) for _, of in parts)
        case _:
            return False


# Operators -----------------------------------------------------------------------------------------------------------


def arithmetic_type(operator: Arithmetic, a: RangeType, b: RangeType) -> RangeType:
    """As wide as the results."""
    return RangeType(*bounds(operator, (a.low, a.high), (b.low, b.high)))


def concat_type(a: ListType, b: ListType, of: Type) -> ListType:
    """The type of a list behind another, which hold items of this type."""
    return ListType(of, a.bound + b.bound)


def negative_type(t: RangeType) -> RangeType:
    """The type of `-n`."""
    return RangeType(-t.high, -t.low)


def extreme_type(function: Literal["min", "max"], types: Iterable[RangeType]) -> RangeType:
    """The type of `min` or `max` of numbers. There is at least one."""
    pick = min if function == "min" else max
    ranges = tuple(types)
    return RangeType(pick(t.low for t in ranges), pick(t.high for t in ranges))
