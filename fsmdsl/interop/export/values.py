"""Values as whole numbers of 64 bits, for targets that have no sets, lists or `none`.

A bool is 0 or 1, a number itself, an enum's member its place, an instance its number, `none` the least number. A set
has a bit for each value of its element's type, a list its length in the lowest bits and its items above, a record its
parts and a map its values, the first in the highest bits. Inside them a value stands as its index among those of its
type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.interop.export.refusals import Reason, Refusal, RefusedError
from fsmdsl.model.typing import bare, is_structured
from fsmdsl.step.data import RecordValue, Table, Value
from fsmdsl.step.values import elements
from fsmdsl.text.source import Span

BITS = 62
"""Maximum number of bits of a set, list, record or map."""

NONE = -(1 << 63)
"""The number for `none`."""


class Values:
    """Types and values of one system. `where` is the place that refusals name; `members`: how many instances there are
    of each machine."""

    def __init__(self, instances: int, where: Span, members: Mapping[str, int] | None = None) -> None:
        self.instances = instances
        self.where = where
        self.members = members or {}

    def refused(self, reason: Reason, t: m.Type) -> RefusedError:
        """The error that ends the export."""
        return RefusedError(Refusal(reason, type_shown(t), self.where))

    def size(self, t: m.Type) -> int:
        """How many indexes a type has. Raises `RefusedError`."""
        match t:
            case m.BoolType():
                return 2
            case m.RangeType(low, high):
                return high - low + 1
            case m.EnumType(members=members):
                return len(members)
            case m.RefType():
                return self.instances
            case m.OptionalType(of):
                return 1 + self.size(of)
            case m.RecordType(parts=parts):
                return 1 << self._bits(t, sum(self.item_bits(of) for _, of in parts))
            case m.SetType(of):
                if isinstance(bare(of), m.RecordType) and is_structured(of):
                    raise self.refused("no order", t)
                return 1 << self._bits(t, self.size(of))
            case m.ListType(of, bound):
                return 1 << self._bits(t, self.length_bits(bound) + bound * self.item_bits(of))
            case m.DurationType():
                raise self.refused("open duration", t)
            case m.MapType(of=of):
                return 1 << self._bits(t, self.keys(t) * self.item_bits(of))
            case m.NeverType():
                return 0
            case m.OpaqueType() | m.NoneType() | m.ErrorType():
                return 1
            case _:
                assert_never(t)

    def _bits(self, t: m.Type, bits: int) -> int:
        if bits > BITS:
            raise self.refused("wide value", t)
        return bits

    def length_bits(self, bound: int) -> int:
        """Of a list's length."""
        return bound.bit_length()

    def item_bits(self, of: m.Type) -> int:
        """Of each item of a list, and of a part of a record."""
        return max(self.size(of) - 1, 0).bit_length()

    def keys(self, t: m.MapType) -> int:
        """How many keys a map has."""
        key = bare(t.key)
        return self.members.get(key.machine, 0) if isinstance(key, m.RefType) else self.size(key)

    def part_places(self, t: m.RecordType) -> list[int]:
        """The bit at which each part of a record begins."""
        widths = [self.item_bits(of) for _, of in t.parts]
        return [sum(widths[n + 1 :]) for n in range(len(widths))]

    def index(self, t: m.Type, value: Value) -> int:
        """The place of a value among those of its type."""
        match t:
            case m.RangeType(low):
                assert isinstance(value, int)
                return value - low
            case m.OptionalType(of):
                return 0 if value is None else 1 + self.index(of, value)
            case m.NoneType():
                return 0
            case _:
                return self.number(t, value)

    def number(self, t: m.Type, value: Value) -> int:
        """A value as a number."""
        if value is None:
            return NONE
        match t:
            case m.MapType(of=of):
                assert isinstance(value, Table)
                self.size(t)
                number = 0
                for _, x in value.entries:
                    number = number << self.item_bits(of) | self.index(of, x)
                return number
            case m.OptionalType(of):
                return self.number(of, value)
            case m.EnumType(members=members):
                assert isinstance(value, str)
                return members.index(value)
            case m.RecordType(parts=parts):
                assert isinstance(value, RecordValue)
                indexes = (self.index(of, x) for (_, of), x in zip(parts, value.parts, strict=True))
                return sum(index << at for index, at in zip(indexes, self.part_places(t), strict=True))
            case m.SetType(of):
                self.size(t)
                return sum(1 << self.index(of, x) for x in elements(t, value))
            case m.ListType(of, bound):
                self.size(t)
                items = elements(t, value)
                at, width = self.length_bits(bound), self.item_bits(of)
                return len(items) + sum(self.index(of, x) << at + n * width for n, x in enumerate(items))
            case m.OpaqueType():
                return 0
            case _:
                assert isinstance(value, int)
                return int(value)


def machine_of(t: m.Type) -> str:
    """The machine that a reference is to."""
    of = bare(t)
    assert isinstance(of, m.RefType)
    return of.machine


def type_shown(t: m.Type) -> str:
    """A type as a spec writes it."""
    match t:
        case m.BoolType():
            return "bool"
        case m.RangeType(low, high):
            return f"{low}..{high}"
        case m.EnumType(name) | m.RecordType(name) | m.OpaqueType(name):
            return name.rpartition(".")[2]
        case m.RefType(machine):
            return machine.rpartition(".")[2]
        case m.OptionalType(of):
            return f"{type_shown(of)}?"
        case m.SetType(of):
            return f"set<{type_shown(of)}>"
        case m.ListType(of, bound):
            return f"list<{type_shown(of)}, {bound}>"
        case m.MapType(key, of):
            return f"map<{type_shown(key)}, {type_shown(of)}>"
        case m.DurationType():
            return "duration"
        case m.NoneType():
            return "none"
        case m.NeverType():
            return "nothing"
        case m.ErrorType():
            return "error"
        case _:
            assert_never(t)
