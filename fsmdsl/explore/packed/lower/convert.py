"""Numbers of one type as numbers of another: sets that count from elsewhere, lists with other room, none elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fsmdsl import model as m
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.lower.widen import within
from fsmdsl.explore.packed.shapes import Shape, UnpackableError, element, shape


def shape_of(scope: Scope, t: m.Type) -> Shape:
    """The numbers of a type."""
    return shape(t, scope.context.universe)


def element_of(scope: Scope, t: m.Type) -> Shape:
    """The numbers of what a set or list holds, if it fits in a word."""
    assert isinstance(t, m.SetType | m.ListType)
    shape_of(scope, t)
    return element(t.of, scope.context.universe)


# Codes: places in sets, items of lists, arguments in messages --------------------------------------------------------


def coded(scope: Scope, text: str, s: Shape) -> str:
    """A number as its code."""
    first = s.low if s.none is None else s.low - 1
    if s.none is not None and s.none != first:
        name = scope.writer.named(text)
        return f"(0 if {name} == {s.none} else {_plus(name, -first)})"
    return f"({_plus(text, -first)})" if first else text


def decoded(scope: Scope, text: str, s: Shape) -> str:
    """The number of a code."""
    first = s.low if s.none is None else s.low - 1
    if s.none is not None and s.none != first:
        name = scope.writer.named(text)
        return f"({s.none} if {name} == 0 else {_plus(name, first)})"
    return f"({_plus(text, first)})" if first else text


def _plus(text: str, number: int) -> str:
    if number == 0:
        return text
    if text.lstrip("-").isdigit():
        return str(int(text) + number)
    return f"{text} + {number}" if number > 0 else f"{text} - {-number}"


def placed(scope: Scope, item: str, have: m.Type, of: m.Type) -> tuple[list[str], str]:
    """What must be so for an item, in a name, to be one of a type's values, and its code then."""
    universe = scope.context.universe
    if isinstance(have, m.NoneType):
        return ([], "0") if isinstance(of, m.OptionalType) else (["False"], "0")
    given, s = shape(have, universe), element(of, universe)
    inside = []
    if given.low < s.low or given.high > s.high:
        inside.append(f"{s.low} <= {item} <= {s.high}")
    if given.none is None:
        return inside, coded(scope, item, Shape(s.low, s.high, None if s.none is None else s.low - 1))
    if s.none is None:
        return [f"{item} != {given.none}", *inside], coded(scope, item, s)
    inside = [f"({item} == {given.none} or {x})" for x in inside]
    return inside, coded(scope, item, Shape(s.low, s.high, given.none))


# Values --------------------------------------------------------------------------------------------------------------


def converted(scope: Scope, text: str, have: m.Type, want: m.Type) -> str:
    """A number of one type as one of another that has all its values in common with it.

    Values that the other type has not got stay what they are where that is a number; elements of a set that it has not
    got are dropped: whoever may have such values looks first, see `misfit`.
    """
    if have == want:
        return text
    match have, want:
        case (m.OptionalType(a), m.OptionalType(b)):
            return _optional(scope, text, have, want, a, b)
        case (m.OptionalType(a), _):
            return converted(scope, text, a, want)
        case (_, m.OptionalType(b)) if isinstance(have, m.NoneType):
            return str(shape_of(scope, want).none)
        case (_, m.OptionalType(b)):
            return converted(scope, text, have, b)
        case (m.SetType(a), m.SetType(b)) if not isinstance(a, m.NeverType | m.SetType):
            return _reset(scope, text, have, want)
        case (m.ListType(a), m.ListType(b)) if not isinstance(a, m.NeverType):
            return _relisted(scope, text, have, want)
        case _:
            return text


def _optional(scope: Scope, text: str, have: m.Type, want: m.Type, a: m.Type, b: m.Type) -> str:
    old, new = shape_of(scope, have).none, shape_of(scope, want).none
    if old == new and not isinstance(a, m.SetType | m.ListType):
        return text
    name = scope.writer.named(text)
    with _there(scope, f"{name} != {old}"):
        inner = converted(scope, name, a, b)
    return name if inner == name and old == new else f"({new} if {name} == {old} else {inner})"


@contextmanager
def _there(scope: Scope, condition: str) -> Iterator[None]:
    """Lines that look into a value: only where it is not none."""
    w = scope.writer
    with w.aside() as lines:
        yield
    if lines:
        w.line(f"if {condition}:")
        w.put(lines, deeper=1)


def _reset(scope: Scope, text: str, have: m.SetType, want: m.SetType) -> str:
    """A set whose elements have other places."""
    if isinstance(have.of, m.NoneType):
        return text  # {none} is 1 wherever none may be
    old, new = element_of(scope, have), element_of(scope, want)
    up = new.code(old.low) - old.code(old.low)
    if up == 0:
        return text
    if old.none is None:
        return _shifted(text, up)
    name = scope.writer.named(text)
    return f"({name} & 1 | {_shifted(f'({name} & -2)', up)} & -2)"


def _shifted(text: str, up: int) -> str:
    return f"({text} << {up})" if up > 0 else f"({text} >> {-up})"


def _relisted(scope: Scope, text: str, have: m.ListType, want: m.ListType) -> str:
    """Element by element, where the elements stand elsewhere."""
    w = scope.writer
    old, new = element_of(scope, have), element_of(scope, want)
    old_at, new_at = have.bound.bit_length(), want.bound.bit_length()
    if old == new and old_at == new_at:
        return text
    listed, made = w.named(text), w.name()
    w.line(f"{made} = {listed} & {(1 << old_at) - 1}")
    count, x = w.name(), w.name()
    with w.block(f"for {count} in range({listed} & {(1 << old_at) - 1}):"):
        w.line(f"{x} = {item_of(scope, listed, have, count)}")
        code = coded(scope, converted(scope, x, have.of, want.of), new)
        w.line(f"{made} |= {code} << {new_at} + {count} * {new.bits}")
    return made


def item_of(scope: Scope, listed: str, t: m.ListType, place: str) -> str:
    """What stands at a place of a list."""
    of, at = element_of(scope, t), t.bound.bit_length()
    shift = str(at + int(place) * of.bits) if place.isdigit() else f"{at} + {place} * {of.bits}"
    return decoded(scope, f"({listed} >> {shift} & {(1 << of.bits) - 1})", of)


# What does not fit ---------------------------------------------------------------------------------------------------


def misfit(scope: Scope, text: str, have: m.Type, want: m.Type) -> list[tuple[str, str]]:
    """When a place of one type cannot hold a value of another: conditions on its number, and the kind of fault, in the
    order in which they are looked at. Those that can never hold are left out. See `step.values.outside`."""
    match have, want:
        case (m.NoneType(), _):
            return []
        case (m.OptionalType(a), m.OptionalType(b)):
            there = f"{text} != {shape_of(scope, have).none}"
            with _there(scope, there):
                found = misfit(scope, text, a, b)
            return [(f"{there} and ({c})", kind) for c, kind in found]
        case (_, m.OptionalType(b)):
            return misfit(scope, text, have, b)
        case (m.OptionalType(a), _):
            none = shape_of(scope, have).none
            with _there(scope, f"{text} != {none}"):
                found = misfit(scope, text, a, want)
            return [(f"{text} == {none}", "none"), *found]
        case (m.RangeType(low, high), m.RangeType(least, most)):
            below, above = [f"{text} < {least}"] * (low < least), [f"{text} > {most}"] * (high > most)
            return [(" or ".join(below + above), "range")] if below or above else []
        case (m.SetType(a), m.SetType(b)) if not isinstance(a, m.NeverType | m.NoneType | m.SetType):
            outside = _outside(element_of(scope, have), element_of(scope, want))
            return [(f"{text} & {outside}", "range")] if outside else []
        case (m.ListType(), m.ListType()):
            return _list_misfit(scope, text, have, want)
        case _:
            return []


def _outside(old: Shape, new: Shape) -> int:
    """The places of the elements of one shape that are no values of the other, as bits."""
    if old.low >= new.low and old.high <= new.high:
        return 0
    return sum(1 << old.code(x) for x in range(old.low, old.high + 1) if not new.low <= x <= new.high)


def _list_misfit(scope: Scope, text: str, have: m.ListType, want: m.ListType) -> list[tuple[str, str]]:
    w, at = scope.writer, have.bound.bit_length()
    length = f"({text} & {(1 << at) - 1})"
    found = [(f"{length} > {want.bound}", "overflow")] if have.bound > want.bound else []
    if isinstance(have.of, m.NeverType) or within(have.of, want.of):
        return found
    if isinstance(want.of, m.SetType | m.ListType):
        raise UnpackableError("a list of sets or lists of numbers that may be out of range")
    wrong, count, x = w.name(), w.name(), w.name()
    w.line(f"{wrong} = False")
    with w.block(f"for {count} in range{length}:"):
        w.line(f"{x} = {item_of(scope, text, have, count)}")
        for condition, _ in misfit(scope, x, have.of, want.of):
            with w.block(f"if {condition}:"):
                w.line(f"{wrong} = True")
    return [*found, (wrong, "range")]
