"""What types are called, and where their values begin."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl.model.typing import join, join_all
from fsmdsl.source import NOWHERE, Span

__all__ = ["default", "join", "join_all", "shown"]


def shown(t: m.Type) -> str:
    """A type as the author would write it."""
    match t:
        case m.BoolType():
            return "bool"
        case m.RangeType(low, high):
            return f"{low}..{high}"
        case m.DurationType():
            return "duration"
        case m.EnumType(name=name) | m.RecordType(name=name) | m.RefType(machine=name) | m.OpaqueType(name=name):
            return name.rpartition(".")[2]
        case m.SetType(of):
            return f"set<{shown(of)}>"
        case m.ListType(of, bound):
            return f"list<{shown(of)}>[{bound}]"
        case m.MapType(key, of):
            return f"map<{shown(key)}, {shown(of)}>"
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


def default(t: m.Type, span: Span = NOWHERE) -> m.Expr | None:
    """The value with which a field begins where the author gives none; None where the type has none of its own."""
    match t:
        case m.BoolType():
            return m.Constant(False, t, span)
        case m.RangeType(low, high):
            return m.Constant(min(max(low, 0), high), t, span)
        case m.DurationType():
            return m.Constant(0, t, span)
        case m.EnumType(members=members, first=first):
            return m.Constant(members[first], t, span) if members else None
        case m.OpaqueType(name):
            return m.Constant(name, t, span)
        case m.RecordType(parts=parts):
            begun = tuple(x for _, of in parts if (x := default(of, span)) is not None)
            return m.Construction(begun, t, span) if len(begun) == len(parts) else None
        case m.SetType():
            return m.Collection("set", (), t, span)
        case m.ListType():
            return m.Collection("list", (), t, span)
        case m.MapType(of=of):
            each = default(of, span)
            return None if each is None else m.Apply("filled", (each,), t, span)
        case m.OptionalType() | m.NoneType():
            return m.Constant(None, t, span)
        case m.RefType() | m.NeverType() | m.ErrorType():
            return None
        case _:
            assert_never(t)
