"""Types in generated code: how they are written, how values of them become JSON and come back."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl.emit.files import File
from fsmdsl.emit.text import literal
from fsmdsl.model.typing import is_limited


def annotation(file: File, t: m.Type) -> str:
    """A type as Python has it. Used for annotations only, which are never evaluated."""
    match t:
        case m.BoolType():
            return "bool"
        case m.RangeType():
            return "int"
        case m.DurationType():
            return "float"
        case m.EnumType():
            return file.enum(t, typing=True)
        case m.RefType(machine):
            return file.class_(machine)
        case m.OpaqueType():
            return file.opaque(t)
        case m.SetType(of):
            return f"frozenset[{annotation(file, of)}]"
        case m.ListType(of=of):
            return f"tuple[{annotation(file, of)}, ...]"
        case m.MapType(key, of):
            return f"{file.machinery('Table', typing=True)}[{annotation(file, key)}, {annotation(file, of)}]"
        case m.OptionalType(of):
            return f"{annotation(file, of)} | None"
        case m.NoneType():
            return "None"
        case m.NeverType() | m.ErrorType():
            return file.library("typing", "Any")
        case _:
            assert_never(t)


# JSON ----------------------------------------------------------------------------------------------------------------


def encoded(t: m.Type, value: str, depth: int = 0) -> str:
    """An expression for a value as JSON has it: instances by number, enums by name, sets as sorted lists, maps
    by what they have for most keys and a list of the others."""
    if is_same_in_json(t):
        return value
    match t:
        case m.EnumType():
            return f"{value}.name"
        case m.RefType():
            return f"{value}._number"
        case m.OptionalType(of):
            return f"None if {value} is None else {encoded(of, value, depth)}"
        case m.SetType(of) if _sorts_in_json(of):
            return f"sorted({_each(of, value, depth, encoded(of, _item(depth), depth + 1))})"
        case m.SetType(of) | m.ListType(of=of):
            each = _each(of, value, depth, encoded(of, _item(depth), depth + 1))
            return f"list({each})" if is_same_in_json(of) else f"[{each}]"
        case m.MapType(key, of):
            pair = f"[{encoded(key, 'at[0]', depth)}, {encoded(of, 'at[1]', depth + 1)}]"
            entries = f"sorted([{pair} for at in {value}.entries.items()])"
            return f'{{"rest": {encoded(of, f"{value}.rest", depth)}, "entries": {entries}}}'
        case _:
            raise TypeError(t)


def _each(of: m.Type, value: str, depth: int, inner: str) -> str:
    return value if is_same_in_json(of) else f"{inner} for {_item(depth)} in {value}"


def decoded(file: File, t: m.Type, value: str, shown: str, depth: int = 0) -> str:
    """The way back, with a look at whether a place called `shown` can hold it. `machines` holds the instances by
    number."""
    match t:
        case m.RangeType(low, high):
            return f"{file.machinery('in_range')}({value}, {low}, {high}, {literal(shown)})"
        case m.EnumType():
            return f"{file.machinery('named')}({file.enum(t)}, {value}, {literal(shown)})"
        case m.RefType():
            return f"machines[{value}]"
        case m.OptionalType(of) if not is_same_in_json(t) or is_limited(of):
            return f"None if {value} is None else {decoded(file, of, value, shown, depth)}"
        case m.SetType(of):
            return f"frozenset({_back(file, of, value, shown, depth)})"
        case m.ListType(of=of, bound=bound):
            found = f"tuple({_back(file, of, value, shown, depth)})"
            return f"{file.machinery('not_longer')}({found}, {bound}, {literal(shown)})"
        case m.MapType(key, of):
            rest = decoded(file, of, f'{value}["rest"]', shown, depth)
            key_, item = (decoded(file, x, f"at[{n}]", shown, depth + n) for n, x in enumerate((key, of)))
            entries = f'{{{key_}: {item} for at in {value}["entries"]}}'
            return f"{file.machinery('Table')}({rest}, {entries})"
        case _:
            return value


def _back(file: File, of: m.Type, value: str, shown: str, depth: int) -> str:
    inner = decoded(file, of, _item(depth), shown, depth + 1)
    return value if inner == _item(depth) else f"{inner} for {_item(depth)} in {value}"


def _item(depth: int) -> str:
    return "x" if depth == 0 else f"x{depth}"


def is_same_in_json(t: m.Type) -> bool:
    """Are values of a type what they are in JSON?"""
    match t:
        case m.BoolType() | m.RangeType() | m.DurationType() | m.OpaqueType() | m.NoneType() | m.NeverType():
            return True
        case m.OptionalType(of):
            return is_same_in_json(of)
        case m.EnumType() | m.RefType() | m.SetType() | m.ListType() | m.MapType() | m.ErrorType():
            return False
        case _:
            assert_never(t)


def _sorts_in_json(t: m.Type) -> bool:
    return isinstance(t, m.BoolType | m.RangeType | m.DurationType | m.EnumType | m.RefType)
