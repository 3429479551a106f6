"""Numbers of one type as numbers of another: sets that count from elsewhere, lists with other room, none elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core import translate
from fsmdsl.core.translate import fitting
from fsmdsl.core.translate.context import NONE
from fsmdsl.dataclasses import replace
from fsmdsl.program.nodes import FALSE, TRUE, ZERO, Choice, Expr, Int, Operand
from fsmdsl.search.lower.context import Fail, Scope
from fsmdsl.search.shapes import Shape, none_of
from fsmdsl.text.source import NOWHERE


def shape_of(scope: Scope, t: m.Type) -> Shape:
    """The numbers of a type."""
    return scope.context.shape(t)


def element_of(scope: Scope, t: m.Type) -> Shape:
    """The numbers of what a set or list holds, if it fits in a number."""
    assert isinstance(t, m.SetType | m.ListType)
    shape_of(scope, t)
    return shape_of(scope, t.of)


# Codes: places in sets, items of lists, arguments in messages --------------------------------------------------------


def code_of(number: Expr, of: Shape) -> Expr:
    """The code of a number."""
    return _plus(number, -of.low)


def number_of(code: Expr, of: Shape) -> Expr:
    """The number of a code."""
    return _plus(code, of.low)


def _plus(x: Expr, number: int) -> Expr:
    if number == 0:
        return x
    return x + number if number > 0 else x - -number


def placed(scope: Scope, item: s.Expr, of: m.Type) -> tuple[list[Expr], Expr]:
    """What must be so for an item, in a variable, to be one of a type's values, and its code then."""
    if isinstance(item.type, m.NoneType) and not isinstance(of, m.OptionalType):
        return [FALSE], ZERO
    if isinstance(item.type, m.OptionalType) and not isinstance(of, m.OptionalType):
        is_there = scope.value(item).differs(none_of(item.type, scope.context.universe))
        with _there(scope, is_there):
            conditions, code = placed(scope, s.Apply("present", (item,), item.type.of), of)
        return [is_there, *conditions], code
    return _fits(scope, item, of), code_of(scope.value(item, of), shape_of(scope, of))


def _fits(scope: Scope, item: s.Expr, of: m.Type) -> list[Expr]:
    core = translate.Scope(scope.context.core, scope.names, None, NONE, {})
    with scope.names.aside() as needed:
        fitting.fits(core, of, item, fitting.Place("field", "", "", NONE, s.Location(NOWHERE)))
    conditions = [x.condition for x in needed if isinstance(x, s.Require)]
    if len(conditions) == len(needed):
        return [scope.value(x) for x in conditions]
    b, result = scope.builder, scope.builder.name()
    b.set(result, TRUE)
    replace(scope, fail=Fail(lambda _: b.set(result, FALSE))).execute(tuple(needed))
    return [result]


# Values --------------------------------------------------------------------------------------------------------------


def converted(scope: Scope, x: Expr, have: m.Type, want: m.Type) -> Expr:
    """A number of one type as one of another that has all its values in common with it.

    Values that the other type has not got stay what they are where that is a number; elements of a set that it has not
    got are dropped. Core statements have ensured that there are none.
    """
    if have == want:
        return x
    match have, want:
        case (m.OptionalType(a), m.OptionalType(b)):
            return _optional(scope, x, have, want, a, b)
        case (m.OptionalType(a), _):
            return converted(scope, x, a, want)
        case (_, m.OptionalType(b)) if isinstance(have, m.NoneType):
            return Int(none_of(want, scope.context.universe))
        case (_, m.OptionalType(b)):
            return converted(scope, x, have, b)
        case (m.SetType(a), m.SetType(b)) if not isinstance(a, m.NeverType | m.SetType):
            return _reset(scope, x, have, want)
        case (m.ListType(a), m.ListType(b)) if not isinstance(a, m.NeverType):
            return _relisted(scope, x, have, want)
        case _:
            return x


def _optional(scope: Scope, x: Expr, have: m.OptionalType, want: m.OptionalType, a: m.Type, b: m.Type) -> Expr:
    old, new = (none_of(t, scope.context.universe) for t in (have, want))
    if old == new and not isinstance(a, m.SetType | m.ListType):
        return x
    name = scope.builder.temporary(x)
    with _there(scope, name.differs(old)):
        inner = converted(scope, name, a, b)
    return name if inner == name and old == new else Choice(name.equals(old), Int(new), inner)


@contextmanager
def _there(scope: Scope, condition: Expr) -> Iterator[None]:
    """Statements that look into a value: only where it is not none."""
    b = scope.builder
    with b.capture() as statements:
        yield
    if statements:
        with b.if_(condition):
            b.splice(statements)


def _reset(scope: Scope, x: Expr, have: m.SetType, want: m.SetType) -> Expr:
    """A set whose elements have other places."""
    if isinstance(have.of, m.NoneType):
        return x  # {none} is 1 wherever none may be
    up = element_of(scope, have).low - element_of(scope, want).low
    if up == 0:
        return x
    if not isinstance(have.of, m.OptionalType):
        return _shifted(x, up)
    name = scope.builder.temporary(x)
    return name & 1 | _shifted(name & -2, up) & -2


def _shifted(x: Expr, up: int) -> Expr:
    return x << up if up > 0 else x >> -up


def _relisted(scope: Scope, x: Expr, have: m.ListType, want: m.ListType) -> Expr:
    """Element by element, where the elements stand elsewhere."""
    b = scope.builder
    old, new = element_of(scope, have), element_of(scope, want)
    new_at = want.bound.bit_length()
    if old == new and have.bound.bit_length() == new_at:
        return x
    source, result = b.temporary(x), b.name()
    b.set(result, length_of(source, have))
    place, item = b.name(), b.name()
    with b.count(place, length_of(source, have)):
        b.set(item, item_of(scope, source, have, place))
        code = code_of(converted(scope, item, have.of, want.of), new)
        b.update(result, "|", code << new_at + place * new.bits)
    return result


def length_of(code: Expr, t: m.ListType) -> Expr:
    """How many items a list has: its lowest bits."""
    return code & (1 << t.bound.bit_length()) - 1


def item_of(scope: Scope, code: Expr, t: m.ListType, place: Operand) -> Expr:
    """What stands at a place of a list."""
    of, at = element_of(scope, t), t.bound.bit_length()
    return number_of(code >> at + place * of.bits & (1 << of.bits) - 1, of)
