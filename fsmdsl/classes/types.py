"""Types in generated code: how they are written, how values of them become JSON and come back."""

from __future__ import annotations

from typing import assert_never

from fsmdsl import model as m
from fsmdsl.classes.files import File
from fsmdsl.classes.statements.text import literal, tuple_of


def annotation(file: File, t: m.Type) -> str:
    """A type as Python has it. Used for annotations only, which are never evaluated."""
    match t:
        case m.BoolType():
            return "bool"
        case m.RangeType():
            return "int"
        case m.DurationType():
            return "float"
        case m.EnumType() | m.RecordType() | m.OpaqueType():
            return file.type_(t, typing=True)
        case m.RefType(machine):
            return file.class_(machine)
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


def encoded(file: File, t: m.Type, value: str, depth: int = 0) -> str:
    """An expression for a value as JSON has it: instances by number, enums by name, records as objects, sets as sorted
    lists, maps by what they have for most keys and a list of the others."""
    if is_same_in_json(t):
        return value
    match t:
        case m.EnumType():
            return f"{value}.name"
        case m.RefType():
            return f"{value}._number"
        case m.OptionalType(of):
            return f"None if {value} is None else {encoded(file, of, value, depth)}"
        case m.RecordType(parts=parts):
            items = (
                f"{literal(name)}: {encoded(file, of, f'{value}.{file.part(t, name)}', depth)}" for name, of in parts
            )
            return f"{{{', '.join(items)}}}"
        case m.SetType(of) if _sorts_in_json(of):
            return f"sorted({_each(of, value, depth, encoded(file, of, _item(depth), depth + 1))})"
        case m.SetType(of=m.RecordType() | m.OptionalType() | m.ListType() | m.SetType() as of):
            each, ordered = encoded(file, of, _item(depth), depth + 1), ranked(file, of, value)
            return ordered if is_same_in_json(of) else f"[{each} for {_item(depth)} in {ordered}]"
        case m.SetType(of) | m.ListType(of=of):
            each = _each(of, value, depth, encoded(file, of, _item(depth), depth + 1))
            return f"list({each})" if is_same_in_json(of) else f"[{each}]"
        case m.MapType(key, of):
            pair = f"[{encoded(file, key, 'at[0]', depth)}, {encoded(file, of, 'at[1]', depth + 1)}]"
            entries = f"sorted([{pair} for at in {value}.entries.items()])"
            return f'{{"rest": {encoded(file, of, f"{value}.rest", depth)}, "entries": {entries}}}'
        case _:
            raise TypeError(t)


def _each(of: m.Type, value: str, depth: int, inner: str) -> str:
    return value if is_same_in_json(of) else f"{inner} for {_item(depth)} in {value}"


def decoded(file: File, t: m.Type, value: str, label: str, depth: int = 0) -> str:
    """The way back, with checks that the value is exactly of the type. `label` is the name of the variable in messages;
    `machines` holds the instances by number."""

    def checked(function: str, *arguments: str) -> str:
        return f"{file.machinery(function)}({', '.join([*arguments, literal(label)])})"

    match t:
        case m.BoolType():
            return checked("truth", value)
        case m.RangeType(low, high):
            return checked("whole", value, str(low), str(high))
        case m.DurationType():
            return checked("duration", value)
        case m.EnumType():
            return checked("named", file.type_(t), value)
        case m.RecordType(parts=parts):
            inner = (
                f"{file.part(t, name)}={decoded(file, of, f'{value}[{literal(name)}]', f'{label}.{name}', depth)}"
                for name, of in parts
            )
            return f"{file.type_(t)}({', '.join(inner)})"
        case m.RefType(machine):
            return checked("reference", "machines", value, file.states_class(machine))
        case m.OptionalType(of):
            inner_value = decoded(file, of, value, label, depth)
            return value if inner_value == value else f"None if {value} is None else {inner_value}"
        case m.SetType(of):
            return f"frozenset({_each_decoded(file, of, checked('items', value), label, depth)})"
        case m.ListType(of=of, bound=bound):
            return checked(
                "not_longer", f"tuple({_each_decoded(file, of, checked('items', value), label, depth)})", str(bound)
            )
        case m.MapType(key, of):
            rest = decoded(file, of, f'{value}["rest"]', label, depth)
            key_, item = (decoded(file, x, f"at[{n}]", label, depth + n) for n, x in enumerate((key, of)))
            entries = f'{{{key_}: {item} for at in {file.machinery("items")}({value}["entries"], {literal(label)})}}'
            return f"{file.machinery('Table')}({rest}, {entries})"
        case m.OpaqueType() | m.NoneType() | m.NeverType() | m.ErrorType():
            return value
        case _:
            assert_never(t)


def _each_decoded(file: File, of: m.Type, values: str, label: str, depth: int) -> str:
    inner = decoded(file, of, _item(depth), label, depth + 1)
    return values if inner == _item(depth) else f"{inner} for {_item(depth)} in {values}"


def _item(depth: int) -> str:
    return "x" if depth == 0 else f"x{depth}"


def is_same_in_json(t: m.Type) -> bool:
    """Are values of a type what they are in JSON?"""
    match t:
        case m.BoolType() | m.RangeType() | m.DurationType() | m.OpaqueType() | m.NoneType() | m.NeverType():
            return True
        case m.OptionalType(of):
            return is_same_in_json(of)
        case m.EnumType() | m.RecordType() | m.RefType() | m.SetType() | m.ListType() | m.MapType() | m.ErrorType():
            return False
        case _:
            assert_never(t)


# Order ---------------------------------------------------------------------------------------------------------------


def ranked(file: File, of: m.Type, values: str) -> str:
    """The values of a set in the order of loops."""
    name = "r" if isinstance(of, m.RecordType) else "v"
    return f"sorted({values}, key=lambda {name}: {_rank(file, of, name)})"


def _rank(file: File, t: m.Type, value: str) -> str:
    match t:
        case m.RecordType(parts=parts):
            return tuple_of([_rank(file, of, f"{value}.{file.part(t, name)}") for name, of in parts])
        case m.OptionalType(of):
            return f"(0,) if {value} is None else (1, {_rank(file, of, value)})"
        case m.EnumType(ordered=False):
            return f"list({file.type_(t)}).index({value})"
        case m.RefType():
            return f"{value}._number"
        case m.ListType(of=of) | m.SetType(of):
            rank = _rank(file, of, "x")
            ranks = value if rank == "x" else f"[{rank} for x in {value}]"
            return f"sorted({ranks})" if isinstance(t, m.SetType) else ranks
        case m.OpaqueType() | m.NoneType() | m.NeverType() | m.ErrorType() | m.MapType():  # no record holds a map
            return "0"
        case m.BoolType() | m.RangeType() | m.DurationType() | m.EnumType():
            return value
        case _:
            assert_never(t)


def _sorts_in_json(t: m.Type) -> bool:
    return isinstance(t, m.BoolType | m.RangeType | m.DurationType | m.EnumType | m.RefType)
