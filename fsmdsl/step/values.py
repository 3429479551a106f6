"""The values of a type: which there are, in what order, which of them a place can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any, assert_never

from fsmdsl import model as m
from fsmdsl.step.data import Misfit, RecordValue, Table, Value
from fsmdsl.step.instances import Roster

MAX_VALUES = 1 << 16
"""A type with more values than this is not enumerated, nor are more combinations of arguments: they are kept in memory,
about 100 bytes for each."""


class TooManyValuesError(Exception):
    """What would have to be enumerated has too many values; the message says what."""


# Beginning -----------------------------------------------------------------------------------------------------------


def default(t: m.Type, roster: Roster) -> Value:
    """The value with which a place of a type begins where nothing is said."""
    match t:
        case m.BoolType():
            return False
        case m.RangeType(low, high):
            return min(max(low, 0), high)
        case m.DurationType():
            return 0
        case m.EnumType(members=members, first=first):
            return members[first]
        case m.OpaqueType(name):
            return name
        case m.RecordType(parts=parts):
            return RecordValue(tuple(default(of, roster) for _, of in parts))
        case m.SetType():
            return frozenset()
        case m.ListType():
            return ()
        case m.MapType(of=of):
            return filled(t, default(of, roster), roster)
        case m.RefType() | m.OptionalType() | m.NoneType() | m.NeverType() | m.ErrorType():
            return None
        case _:
            assert_never(t)


def filled(t: m.MapType, value: Value, roster: Roster) -> Table:
    """The map that has a value for every key."""
    return Table(tuple((key, value) for key in keys(t, roster)))


def keys(t: m.MapType, roster: Roster) -> tuple[Value, ...]:
    """The keys of a map, in order."""
    return tuple(sorted(_all(t.key, roster), key=lambda x: rank(t.key, x)))


# Order ---------------------------------------------------------------------------------------------------------------


def rank(t: m.Type, value: Value) -> Any:
    """A key that sorts the values of a type: instances in the order in which they were made, numbers ascending,
    members as declared, none first, records by their parts, sets, lists and maps by what is in them."""
    match t, value:
        case m.OptionalType(of), _:
            return (0,) if value is None else (1, rank(of, value))
        case m.EnumType(members=members), str():
            return members.index(value)
        case m.RecordType(parts=parts), RecordValue(values):
            return tuple(rank(of, x) for (_, of), x in zip(parts, values, strict=True))
        case m.SetType(of) | m.ListType(of), frozenset() | tuple():
            return tuple(rank(of, x) for x in elements(t, value))
        case m.MapType(of=of), Table(entries):
            return tuple(rank(of, x) for _, x in entries)
        case ((m.NoneType() | m.NeverType() | m.ErrorType()), _):
            return 0
        case _:
            return value


def elements(t: m.Type, values: Value) -> Sequence[Value]:
    """What a set holds, in order; what a list holds, as it stands."""
    if isinstance(values, tuple):
        return values
    assert isinstance(values, frozenset)
    of = m.element_of(t)
    if isinstance(of, m.RefType | m.RangeType):
        return sorted(values)  # type: ignore[type-var]
    return sorted(values, key=lambda x: rank(of, x))


# Limits --------------------------------------------------------------------------------------------------------------


def outside(t: m.Type, value: Value) -> Misfit | None:
    """Why a place of a type cannot hold a value of that kind, if it cannot."""
    match t:
        case m.RangeType(low, high):
            fits = type(value) is int and low <= value <= high  # a bool is no number
            return None if fits else Misfit("range", value, low, high)
        case m.OptionalType(of):
            return None if value is None else outside(of, value)
        case m.RefType():
            return Misfit("none", None) if value is None else None
        case m.ListType(of, bound) if isinstance(value, tuple):
            too_long = Misfit("overflow", value, high=bound) if len(value) > bound else None
            return too_long or _first_outside(of, value)
        case m.SetType(of) if isinstance(value, frozenset):
            misfits = frozenset(x for x in value if outside(of, x) is not None)
            return _first_outside(of, elements(m.SetType(_or_none(of)), misfits))
        case _:
            return None


def _or_none(of: m.Type) -> m.Type:
    """A type that orders none, too, where it does not belong."""
    return of if isinstance(of, m.OptionalType) else m.OptionalType(of)


def _first_outside(of: m.Type, values: Iterable[Value]) -> Misfit | None:
    return next((why for x in values if (why := outside(of, x)) is not None), None)


# Enumeration ---------------------------------------------------------------------------------------------------------


def domain(t: m.Type, roster: Roster) -> tuple[Value, ...]:
    """All values of a type in a system, in order. Raises `TooManyValuesError` above `MAX_VALUES`."""
    if cardinality(t, roster) > MAX_VALUES:
        raise TooManyValuesError(f"a type with more than {MAX_VALUES} values")
    return tuple(sorted(_all(t, roster), key=lambda x: rank(t, x)))


def domains(types: Iterable[m.Type], roster: Roster) -> tuple[tuple[Value, ...], ...]:
    """All combinations of values of several types, the last changing fastest."""
    factors = list(types)
    count = 1
    for t in factors:
        count *= cardinality(t, roster)
        if count > MAX_VALUES:
            raise TooManyValuesError(f"more than {MAX_VALUES} combinations of arguments")
    return tuple(product(*(domain(t, roster) for t in factors)))


def cardinality(t: m.Type, roster: Roster) -> int:
    """Number of values of a type in a system. Every number above `MAX_VALUES` only means that there are more than
    that."""
    match t:
        case m.BoolType():
            return 2
        case m.RangeType(low, high):
            return high - low + 1
        case m.EnumType(members=members):
            return len(members)
        case m.RefType(machine):
            return len(roster.instances_of(machine))
        case m.RecordType(parts=parts):
            return _product(cardinality(of, roster) for _, of in parts)
        case m.OptionalType(of):
            return 1 + cardinality(of, roster)
        case m.SetType(of):
            return 1 << min(cardinality(of, roster), MAX_VALUES.bit_length())
        case m.ListType(of, bound):
            return _lists(cardinality(of, roster), bound)
        case m.MapType(key, of):
            each, count = cardinality(of, roster), cardinality(key, roster)
            return int(min(each, MAX_VALUES + 1) ** min(count, MAX_VALUES.bit_length()))
        case m.NeverType():
            return 0
        case m.DurationType() | m.OpaqueType() | m.NoneType() | m.ErrorType():
            return 1
        case _:
            assert_never(t)


def _product(counts: Iterable[int]) -> int:
    count = 1
    for n in counts:
        count = min(count * n, MAX_VALUES + 1)
    return count


def _lists(each: int, bound: int) -> int:
    count = power = 1
    for _ in range(bound):
        power *= each
        count += power
        if count > MAX_VALUES:
            break
    return count


def _all(t: m.Type, roster: Roster) -> Iterable[Value]:
    match t:
        case m.BoolType():
            return (False, True)
        case m.RangeType(low, high):
            return range(low, high + 1)
        case m.EnumType(members=members):
            return members
        case m.RefType(machine):
            return roster.instances_of(machine)
        case m.RecordType(parts=parts):
            return (RecordValue(x) for x in product(*(domain(of, roster) for _, of in parts)))
        case m.OptionalType(of):
            return (None, *domain(of, roster))
        case m.SetType(of):
            inner = domain(of, roster)
            return (frozenset(x) for n in range(len(inner) + 1) for x in combinations(inner, n))
        case m.ListType(of, bound):
            inner = domain(of, roster)
            return (x for n in range(bound + 1) for x in product(inner, repeat=n))
        case m.MapType(of=of):
            map_keys = keys(t, roster)
            return (
                Table(tuple(zip(map_keys, x, strict=True))) for x in product(domain(of, roster), repeat=len(map_keys))
            )
        case m.NeverType():
            return ()
        case m.DurationType() | m.OpaqueType() | m.NoneType() | m.ErrorType():
            return (default(t, roster),)
        case _:
            assert_never(t)


def renamed(t: m.Type, value: Value, to: Callable[[int], int]) -> Value:
    """A value in which each instance is called otherwise."""
    match t, value:
        case m.RefType(), int():
            return to(value)
        case m.OptionalType(of), _:
            return None if value is None else renamed(of, value, to)
        case m.RecordType(parts=parts), RecordValue(values):
            return RecordValue(tuple(renamed(of, x, to) for (_, of), x in zip(parts, values, strict=True)))
        case m.SetType(of), frozenset():
            return frozenset(renamed(of, x, to) for x in value)
        case m.ListType(of), tuple():
            return tuple(renamed(of, x, to) for x in value)
        case m.MapType(key, of), Table(entries):
            moved = ((renamed(key, k, to), renamed(of, x, to)) for k, x in entries)
            return Table(tuple(sorted(moved, key=lambda x: rank(key, x[0]))))
        case _:
            return value
