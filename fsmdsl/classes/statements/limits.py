"""Checks of values in generated code: whether a place may hold what it is given."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.classes.files import File
from fsmdsl.classes.statements.code import Binds, Block, Text
from fsmdsl.classes.statements.text import literal
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.typing import holds, is_limited
from fsmdsl.syntax.operators import LARGEST


@dataclass(frozen=True, slots=True)
class Border:
    """Where values come in from outside: by a class, or (`itself`) by a machine that is there already."""

    class_: str
    itself: bool = False

    def message(self, label: str) -> str:
        """A string literal that names a value and where it came in."""
        return f"f{literal(f'{{self!r}}: {label}')}" if self.itself else literal(f"{self.class_}: {label}")


def argument_checks(file: File, names: Sequence[str], parameters: Sequence[m.Variable], where: Border) -> Block:
    """Statements that refuse arguments from outside which their parameters cannot hold."""
    pairs = zip(names, parameters, strict=True)
    return tuple(f"{n} = {checked(file, p.type, n, p.name, where)}" for n, p in pairs if _is_checked(p.type, where))


def checked_part(file: File, place: m.Type, name: str, label: str) -> str | None:
    """An expression that is refused where a part of a record cannot be what it is; None where nothing can be wrong."""
    return _checked(file, place, Text(f"self.{name}"), label).text if is_limited(place) else None


def checked(file: File, place: m.Type, name: str, label: str, where: Border) -> str:
    """The value of a variable from outside, with a check where its place may not hold it."""
    return _checked(file, place, Text(name), label, where).text


def member_or_refused(file: File, enum: str, name: str, label: str, where: Border) -> str:
    """A variable, if it holds a member of an enum; otherwise an exception. Written out, as a call costs more."""
    refused = f"{file.machinery('misfit')}({name}, {enum}, {where.message(label)})"
    return f"{name} if isinstance({name}, {enum}) else {refused}"


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


def _is_checked(t: m.Type, where: Border | None) -> bool:
    """Is a value looked at of which nothing but its kind is known? From outside (`where`), not even that is."""
    match t:
        case m.EnumType():
            return where is not None
        case m.OptionalType(of) | m.SetType(of):
            return _is_checked(of, where)
        case m.MapType(of=of):
            return where is not None and _is_checked(of, where)
        case _:
            return is_limited(t)


def _checked(file: File, t: m.Type, text: Text, label: str, where: Border | None = None) -> Text:
    """A value of which nothing but its kind is known; from outside (`where`), nothing at all."""
    if not _is_checked(t, where):
        return text
    match t:
        case m.EnumType() if where is not None:
            return Text(member_or_refused(file, file.type_(t), text.text, label, where), Binds.CONDITIONAL)
        case m.RangeType(low, high):
            return Text(f"{file.machinery('in_range')}({_as_argument(text)}, {low}, {high}, {literal(label)})")
        case m.OptionalType(of=m.RangeType(low, high)):
            return Text(f"{file.machinery('in_range_or_none')}({_as_argument(text)}, {low}, {high}, {literal(label)})")
        case m.OptionalType(of):
            conditional = (
                f"None if {text.within(Binds.ATOM)} is None else {_checked(file, of, text, label, where).text}"
            )
            return Text(conditional, Binds.CONDITIONAL)
        case m.SetType(of):
            return _each(file, of, "frozenset", text, label, where)
        case m.ListType(of=of, bound=bound):
            short = _short(file, text, bound, label)
            return _each(file, of, "tuple", short, label, where) if _is_checked(of, where) else short
        case m.MapType(of=of):
            table = text.within(Binds.ATOM)
            rest, item = (
                _checked(file, of, Text(x), label, where).text for x in (f"{table}.rest", f"{table}.entries[at]")
            )
            return Text(f"{file.machinery('Table')}({rest}, {{at: {item} for at in {table}.entries}})")
        case _:
            raise TypeError(t)


def _as_argument(text: Text) -> str:
    return text.within(Binds.CONDITIONAL)


def _short(file: File, text: Text, bound: int, label: str) -> Text:
    return Text(f"{file.machinery('not_longer')}({_as_argument(text)}, {bound}, {literal(label)})")


def _each(file: File, of: m.Type, kind: str, text: Text, label: str, where: Border | None = None) -> Text:
    """A set or list with a check of what it holds."""
    match of:
        case m.RangeType(low, high) | m.OptionalType(of=m.RangeType(low, high)):
            return Text(f"{file.machinery('each_in_range')}({_as_argument(text)}, {low}, {high}, {literal(label)})")
        case _:
            item = _checked(file, of, Text("x"), label, where).text
            return Text(f"{kind}({item} for x in {text.within(Binds.ATOM)})")
