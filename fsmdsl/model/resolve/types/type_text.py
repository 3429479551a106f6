"""What types are called."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m


def type_text(t: m.Type) -> str:
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
            return f"set<{type_text(of)}>"
        case m.ListType(of, bound):
            return f"list<{type_text(of)}>[{bound}]"
        case m.MapType(key, of):
            return f"map<{type_text(key)}, {type_text(of)}>"
        case m.OptionalType(of):
            return f"{type_text(of)}?"
        case m.NoneType():
            return "none"
        case m.NeverType():
            return "nothing"
        case m.ErrorType():
            return "unknown"
        case _:
            assert_never(t)


def described(t: m.Type) -> str:
    """What a value of a type is: `true or false`, `a number 0..3`, `the number 5`."""
    words = {m.BoolType: "true or false", m.NoneType: "none", m.NeverType: "empty", m.DurationType: "a duration"}
    if type(t) in words:
        return words[type(t)]
    if isinstance(t, m.RangeType):
        return f"the number {t.low}" if t.low == t.high else f"a number {type_text(t)}"
    return f"`{type_text(t)}`"
