"""How the values of a type stand in one whole number.

A bool is 0 or 1, a range itself, an enum's member its place, an instance its number, none the number below all others
of its type, a set a bit for each possible element, a list its length and then its elements, lowest bits first, a record
its parts, highest bits first, a map its values where the codes of their keys say. An element, part or value stands
there as its code: its place among the values there are, none first.
"""

from __future__ import annotations

from typing import assert_never
from weakref import WeakKeyDictionary

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.typing import is_structured
from fsmdsl.step.data import RecordValue, Table, Value
from fsmdsl.step.instances import Roster
from fsmdsl.step.values import keys

LARGEST = 62
"""Bits of a number of the usual width: what stands in one word, and the answers to so many questions."""

WIDEST = 1022
"""Bits that one value may have. With more than `LARGEST`, all numbers of the program are wider; see `width`."""

LONGEST_DURATION = 1 << 40


class UnpackableError(Exception):
    """The system has something that does not fit in words; the message says what."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers from `low` to `high`."""

    low: int
    high: int

    @property
    def codes(self) -> int:
        """How many different values there are."""
        return self.high - self.low + 1

    @property
    def bits(self) -> int:
        return (self.codes - 1).bit_length()

    def code(self, number: int) -> int:
        """A number as one of 0 … codes - 1."""
        return number - self.low

    def number(self, code: int) -> int:
        """The number of a code."""
        return code + self.low


_CACHE: WeakKeyDictionary[Roster, dict[m.Type, Shape]] = WeakKeyDictionary()
"""The shapes that were asked for: a world is encoded value by value."""


def shape(t: m.Type, roster: Roster) -> Shape:
    """The numbers of a type. Raises `UnpackableError` where a value needs more than `WIDEST` bits."""
    shapes = _CACHE.setdefault(roster, {})
    cached = shapes.get(t)
    if cached is None:
        cached = shapes[t] = _shape(t, roster)
    return cached


def _shape(t: m.Type, roster: Roster) -> Shape:
    match t:
        case m.BoolType():
            return Shape(0, 1)
        case m.RangeType(low, high):
            return Shape(low, high)
        case m.DurationType():
            return Shape(0, LONGEST_DURATION)
        case m.EnumType(members=members):
            return Shape(0, len(members) - 1)
        case m.RefType(machine):
            of = roster.instances_of(machine)
            return Shape(min(of, default=0), max(of, default=0))
        case m.RecordType():
            parts = parts_of(t, roster)
            _fitting(sum(s.bits for _, s, _ in parts.values()), "a record with too many parts")
            return Shape(0, sum(s.codes - 1 << at for _, s, at in parts.values()))
        case m.OptionalType(of=m.OptionalType()):
            raise UnpackableError("a value that may be none in two ways")
        case m.OptionalType(of):
            inner = shape(of, roster)
            return Shape(inner.low - 1, inner.high)
        case m.SetType(of) if is_structured(of):
            raise UnpackableError("a set of sets or lists")
        case m.SetType(of):
            return Shape(0, (1 << _fitting(shape(of, roster).codes, "a set of too many possible elements")) - 1)
        case m.ListType(of, bound):
            bits = bound.bit_length() + bound * shape(of, roster).bits
            return Shape(0, (1 << _fitting(bits, "a list that is too long")) - 1)
        case m.MapType(key, of):
            entries = shape(key, roster).codes * shape(of, roster).bits
            return Shape(0, (1 << _fitting(entries, "a map that is too large")) - 1)
        case m.OpaqueType() | m.NoneType() | m.NeverType() | m.ErrorType():
            return Shape(0, 0)
        case _:
            assert_never(t)


def parts_of(t: m.RecordType, roster: Roster) -> dict[str, tuple[m.Type, Shape, int]]:
    """The parts of a record, in order: the type, the shape, and the bit at which the code begins."""
    parts: dict[str, tuple[m.Type, Shape, int]] = {}
    at = 0
    for name, of in reversed(t.parts):
        parts[name] = of, (s := shape(of, roster)), at
        at += s.bits
    return dict(reversed(parts.items()))


def none_of(t: m.OptionalType, roster: Roster) -> int:
    """The number that stands for none."""
    return shape(t, roster).low


def _fitting(bits: int, what: str) -> int:
    if bits > WIDEST:
        raise UnpackableError(f"{what}: {bits} bits, more than {WIDEST}")
    return bits


def width(bits: int) -> int:
    """Bits of a number, a power of two, where values have so many: one for the sign, and one that none may need."""
    return max(64, 1 << (bits + 1).bit_length())


# Values to numbers and back ------------------------------------------------------------------------------------------


def to_number(t: m.Type, value: Value, roster: Roster) -> int:
    """The number of a value of a type."""
    if isinstance(value, int):  # whatever the type, and most are
        return int(value)
    match t, value:
        case m.OptionalType(of), _:
            return none_of(t, roster) if value is None else to_number(of, value, roster)
        case m.EnumType(members=members), str():
            return members.index(value)
        case m.RecordType(), RecordValue(values):
            parts = zip(parts_of(t, roster).values(), values, strict=True)
            return sum(s.code(to_number(of, x, roster)) << at for (of, s, at), x in parts)
        case m.SetType(of), frozenset():
            inner = shape(of, roster)
            return sum(1 << inner.code(to_number(of, x, roster)) for x in value)
        case m.ListType(of, bound), tuple():
            return _list_number(shape(of, roster), bound, [to_number(of, x, roster) for x in value])
        case m.MapType(key, of), Table(entries):
            at, inner = shape(key, roster), shape(of, roster)
            return sum(
                inner.code(to_number(of, x, roster)) << at.code(to_number(key, k, roster)) * inner.bits
                for k, x in entries
            )
        case _:
            return 0


def _list_number(of: Shape, bound: int, numbers: list[int]) -> int:
    at = bound.bit_length()
    return len(numbers) | sum(of.code(x) << (at + n * of.bits) for n, x in enumerate(numbers))


def from_number(t: m.Type, number: int, roster: Roster) -> Value:
    """The value that a number of a type stands for."""
    match t:
        case m.BoolType():
            return bool(number)
        case m.RangeType() | m.DurationType() | m.RefType():
            return number
        case m.EnumType(members=members):
            return members[number]
        case m.OpaqueType(name):
            return name
        case m.OptionalType(of):
            return None if number == none_of(t, roster) else from_number(of, number, roster)
        case m.RecordType():
            parts = parts_of(t, roster).values()
            codes = ((of, s, number >> at & (1 << s.bits) - 1) for of, s, at in parts)
            return RecordValue(tuple(from_number(of, s.number(code), roster) for of, s, code in codes))
        case m.SetType(of):
            inner = shape(of, roster)
            return frozenset(from_number(of, inner.number(n), roster) for n in range(inner.codes) if number >> n & 1)
        case m.ListType(of, bound):
            return tuple(_list_elements(of, bound, number, roster))
        case m.MapType():
            return Table(tuple((k, _entry(t, k, number, roster)) for k in keys(t, roster)))
        case m.NoneType() | m.NeverType() | m.ErrorType():
            return None
        case _:
            assert_never(t)


def _entry(t: m.MapType, key: Value, number: int, roster: Roster) -> Value:
    inner = shape(t.of, roster)
    at = shape(t.key, roster).code(to_number(t.key, key, roster)) * inner.bits
    return from_number(t.of, inner.number(number >> at & (1 << inner.bits) - 1), roster)


def _list_elements(of: m.Type, bound: int, number: int, roster: Roster) -> list[Value]:
    inner, at = shape(of, roster), bound.bit_length()
    length = number & ((1 << at) - 1)
    mask = (1 << inner.bits) - 1
    codes = (number >> (at + n * inner.bits) & mask for n in range(length))
    return [from_number(of, inner.number(code), roster) for code in codes]


__all__ = [
    "LARGEST", "WIDEST", "Shape", "UnpackableError", "from_number", "none_of", "parts_of", "shape", "to_number",
    "width",
]  # fmt: skip
