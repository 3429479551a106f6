"""Checks of values in generated code: whether a place may hold what it is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.classes.files import File
from fsmdsl.classes.names import own_name, upper
from fsmdsl.classes.statements.code import Binds, Block, Branch, If, Statement, Text
from fsmdsl.classes.statements.text import literal
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.typing import holds, is_limited, referred
from fsmdsl.syntax.operators import LARGEST


@dataclass(frozen=True, slots=True)
class Border:
    """Where values come in from outside."""

    holder: str
    """An expression for what messages begin with: `self`, or the name of a class."""
    system: str = "None"
    """An expression for the system that machines have to belong to."""


# From outside: of any type -------------------------------------------------------------------------------------------


def argument_checks(file: File, names: Sequence[str], parameters: Sequence[m.Variable], where: Border) -> Block:
    """Statements that refuse arguments from outside which are not of the types of their parameters."""
    pairs = zip(names, parameters, strict=True)
    return tuple(check(file, p.type, n, p.name, where) for n, p in pairs)


def where_outside(outside: str, checks: Block, limits: Block) -> Statement:
    """Statements for arguments that come from outside, and others for those of other machines."""
    match checks:
        case (If((Branch(test, refusal),)),) if not limits:
            return If((Branch(Text(f"{outside} and {test.within(Binds.AND)}", Binds.AND), refusal),))
        case _:
            return If((Branch(Text(outside), checks),), limits)


def check(file: File, t: m.Type, name: str, label: str, where: Border) -> Statement:
    """A statement that refuses the value of a variable if it is not of a type."""
    test = _test(file, t, name, where)
    refusal = f"{kind_constant(file, t)}.refuse({name}, {where.system}, {where.holder}, {literal(label)})"
    return If((Branch(Text(f"not {test.within(Binds.NOT)}", Binds.NOT), (refusal,)),))


def each_checked(file: File, of: m.RefType, name: str, label: str, where: Border) -> str:
    """An expression for the machines of a collection, each of which is checked, as a tuple."""
    return f"{kind_constant(file, of)}.each({name}, {where.system}, {where.holder}, {literal(label)})"


def _test(file: File, t: m.Type, name: str, where: Border) -> Text:
    """The condition that a variable is of a type. Comparisons are written out, as a call costs more."""
    match t:
        case m.BoolType():
            return Text(f"isinstance({name}, bool)")
        case m.RangeType(low, high):
            return Text(f"{name}.__class__ is int and {low} <= {name} <= {high}", Binds.AND)
        case m.EnumType():
            return Text(f"isinstance({name}, {file.type_(t)})")
        case m.OptionalType(of):
            return Text(f"{name} is None or {_test(file, of, name, where).within(Binds.NOT)}", Binds.OR)
        case _:
            return Text(f"{kind_constant(file, t)}.has({name}, {where.system})")


def kind_constant(file: File, t: m.Type) -> str:
    """The constant of a file that is a type at run time."""
    return file.constant(f"_{upper(_title(t))}", _kind(file, t))


def _kind(file: File, t: m.Type) -> str:
    """An expression for a type at run time."""
    match t:
        case m.BoolType():
            return f"{file.machinery('TruthKind')}()"
        case m.RangeType(low, high):
            return f"{file.machinery('NumberKind')}({low}, {high})"
        case m.DurationType():
            return f"{file.machinery('SecondsKind')}()"
        case m.EnumType():
            return f"{file.machinery('MemberKind')}({file.type_(t)})"
        case m.RecordType(parts=parts):
            referring = [(name, of) for name, of in parts if any(referred(of))]
            inner = [f"{file.part(t, name)}={kind_constant(file, of)}" for name, of in referring]
            return f"{file.machinery('RecordKind')}({', '.join([file.type_(t), *inner])})"
        case m.RefType(machine) if file.context.dialect == "classes":
            return f"{file.machinery('ReferenceKind')}({literal(own_name(machine))}, {file.states_class(machine)})"
        case m.RefType(machine) if file.context.written(machine):
            late = f"lambda: {file.running_class(machine)}"
            return f"{file.machinery('ModelKind')}({literal(own_name(machine))}, {late})"
        case m.OptionalType(of):
            return f"{file.machinery('OptionalKind')}({kind_constant(file, of)})"
        case m.SetType(of):
            return f"{file.machinery('SetKind')}({kind_constant(file, of)})"
        case m.ListType(of=of, bound=bound):
            return f"{file.machinery('ListKind')}({kind_constant(file, of)}, {bound})"
        case m.MapType(key, of):
            return f"{file.machinery('TableKind')}({kind_constant(file, key)}, {kind_constant(file, of)})"
        case m.RefType() | m.OpaqueType() | m.NoneType() | m.NeverType() | m.ErrorType():
            return f"{file.machinery('OpaqueKind')}()"
        case _:
            assert_never(t)


def _title(t: m.Type) -> str:
    """A type in words, for the name of its constant."""
    match t:
        case m.BoolType():
            return "truth"
        case m.RangeType(low, high):
            return f"from_{_digits(low)}_to_{_digits(high)}"
        case m.DurationType():
            return "seconds"
        case m.EnumType(name=name, machine=machine):
            return f"state_of_{own_name(machine)}" if machine else own_name(name)
        case m.RecordType(name=name) | m.OpaqueType(name=name) | m.RefType(machine=name):
            return own_name(name)
        case m.OptionalType(of):
            return f"{_title(of)}_or_none"
        case m.SetType(of):
            return f"set_of_{_title(of)}"
        case m.ListType(of=of, bound=bound):
            return f"list_of_{bound}_{_title(of)}"
        case m.MapType(key, of):
            return f"map_from_{_title(key)}_to_{_title(of)}"
        case m.NoneType() | m.NeverType() | m.ErrorType():
            return "nothing"
        case _:
            assert_never(t)


def _digits(number: int) -> str:
    return f"minus_{-number}" if number < 0 else str(number)


# Within a step: of the right type, but possibly beyond its limits ----------------------------------------------------


def limit_checks(file: File, names: Sequence[str], parameters: Sequence[m.Variable]) -> Block:
    """Statements that refuse arguments of other machines which their parameters cannot hold."""
    pairs = zip(names, parameters, strict=True)
    return tuple(f"{n} = {_checked(file, p.type, Text(n), p.name).text}" for n, p in pairs if is_limited(p.type))


def fitting(file: File, t: m.Type, text: Text, wide: m.Type, label: str) -> Text:
    """A value of a type as wide as its values, with a check where its place may not hold it."""
    if holds(t, wide):
        return text
    match t, wide:
        case m.ListType(of=of, bound=bound), m.ListType(of=inner, bound=longest):
            short = text if longest <= bound else _short(file, text, bound, label)
            return short if holds(of, inner) else _each(file, of, "tuple", short, label)
        case _:
            return _checked(file, t, text, label)


def unlimited(t: m.Type) -> m.Type:
    """A type, with any number and lists of any length."""
    match t:
        case m.RangeType():
            return m.RangeType(-LARGEST, LARGEST)
        case m.OptionalType(of):
            return m.OptionalType(unlimited(of))
        case m.SetType(of):
            return m.SetType(unlimited(of))
        case m.ListType(of=of):
            return m.ListType(unlimited(of), LARGEST)
        case _:
            return t


def _checked(file: File, t: m.Type, text: Text, label: str) -> Text:
    """A value of which nothing but its kind is known."""
    match t:
        case m.RangeType(low, high):
            return Text(f"{file.machinery('in_range')}({_as_argument(text)}, {low}, {high}, {literal(label)})")
        case m.OptionalType(of=m.RangeType(low, high)):
            return Text(f"{file.machinery('in_range_or_none')}({_as_argument(text)}, {low}, {high}, {literal(label)})")
        case m.OptionalType(of) if is_limited(of):
            conditional = f"None if {text.within(Binds.ATOM)} is None else {_checked(file, of, text, label).text}"
            return Text(conditional, Binds.CONDITIONAL)
        case m.SetType(of) if is_limited(of):
            return _each(file, of, "frozenset", text, label)
        case m.ListType(of=of, bound=bound):
            short = _short(file, text, bound, label)
            return _each(file, of, "tuple", short, label) if is_limited(of) else short
        case _:
            return text


def _as_argument(text: Text) -> str:
    return text.within(Binds.CONDITIONAL)


def _short(file: File, text: Text, bound: int, label: str) -> Text:
    return Text(f"{file.machinery('not_longer')}({_as_argument(text)}, {bound}, {literal(label)})")


def _each(file: File, of: m.Type, kind: str, text: Text, label: str) -> Text:
    """A set or list with a check of what it holds."""
    match of:
        case m.RangeType(low, high) | m.OptionalType(of=m.RangeType(low, high)):
            return Text(f"{file.machinery('each_in_range')}({_as_argument(text)}, {low}, {high}, {literal(label)})")
        case _:
            item = _checked(file, of, Text("x"), label).text
            return Text(f"{kind}({item} for x in {text.within(Binds.ATOM)})")
