"""What types agree, what they are called, and where their values begin."""

from __future__ import annotations

from functools import reduce
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.source import NOWHERE, Span


def shown(t: m.Type) -> str:
    """A type as the author would write it."""
    match t:
        case m.BoolType():
            return "bool"
        case m.RangeType(low, high):
            return f"{low}..{high}"
        case m.DurationType():
            return "duration"
        case m.EnumType(name=name) | m.RefType(machine=name) | m.OpaqueType(name=name):
            return name.rpartition(".")[2]
        case m.SetType(of):
            return f"set<{shown(of)}>"
        case m.ListType(of, bound):
            return f"list<{shown(of)}>[{bound}]"
        case m.OptionalType(of):
            return f"{shown(of)}?"
        case m.NoneType():
            return "none"
        case m.NeverType():
            return "nothing"
        case m.ErrorType():
            return "unknown"
        case _:
            assert_never(t)


def bare(t: m.Type) -> m.Type:
    """A type without its `?`."""
    return t.of if isinstance(t, m.OptionalType) else t


def join(a: m.Type, b: m.Type) -> m.Type | None:
    """The smallest type that holds the values of both, or None where there is none."""
    if isinstance(a, m.ErrorType) or isinstance(b, m.ErrorType):
        return m.ERROR
    if a == b or isinstance(b, m.NeverType):
        return a
    if isinstance(a, m.NeverType):
        return b
    if isinstance(a, m.NoneType) or isinstance(b, m.NoneType):
        return _optional(b if isinstance(a, m.NoneType) else a)
    if isinstance(a, m.OptionalType) or isinstance(b, m.OptionalType):
        inner = join(bare(a), bare(b))
        return None if inner is None else _optional(inner)
    match a, b:
        case m.RangeType(), m.RangeType():
            return m.RangeType(min(a.low, b.low), max(a.high, b.high))
        case m.SetType(), m.SetType():
            inner = join(a.of, b.of)
            return None if inner is None else m.SetType(inner)
        case m.ListType(), m.ListType():
            inner = join(a.of, b.of)
            return None if inner is None else m.ListType(inner, max(a.bound, b.bound))
        case _:
            return None


def _optional(t: m.Type) -> m.Type:
    return t if isinstance(t, m.OptionalType | m.NoneType | m.ErrorType) else m.OptionalType(t)


def join_all(types: list[m.Type]) -> m.Type | None:
    """`join` of many; of none: nothing."""

    def both(a: m.Type | None, b: m.Type) -> m.Type | None:
        return None if a is None else join(a, b)

    start: m.Type | None = m.NeverType()
    return reduce(both, types, start)


def fits(value: m.Type, place: m.Type) -> bool:
    """May a value of this type stand in a place of that one? Ranges are compared when the step runs."""
    if isinstance(value, m.ErrorType | m.NeverType) or isinstance(place, m.ErrorType) or value == place:
        return True
    match value, place:
        case m.NoneType(), m.OptionalType():
            return True
        case m.OptionalType(), m.OptionalType():
            return fits(value.of, place.of)
        case _, m.OptionalType():
            return fits(value, place.of)
        case m.RangeType(), m.RangeType():
            return True
        case m.SetType(of=a), m.SetType(of=b):
            return fits(a, b)
        case m.ListType(of=a), m.ListType(of=b):
            return fits(a, b)
        case _:
            return False


def default(t: m.Type, span: Span = NOWHERE) -> m.Expr | None:
    """The value with which a field begins where the author gives none; None where the type has none of its own."""
    match t:
        case m.BoolType():
            return m.Constant(False, t, span)
        case m.RangeType(low, high):
            return m.Constant(min(max(low, 0), high), t, span)
        case m.DurationType():
            return m.Constant(0, t, span)
        case m.EnumType(members=members):
            return m.Constant(members[0], t, span) if members else None
        case m.OpaqueType(name):
            return m.Constant(name, t, span)
        case m.SetType():
            return m.Collection("set", (), t, span)
        case m.ListType():
            return m.Collection("list", (), t, span)
        case m.OptionalType() | m.NoneType():
            return m.Constant(None, t, span)
        case m.RefType() | m.NeverType() | m.ErrorType():
            return None
        case _:
            assert_never(t)
