"""What data can be: the values of fields, arguments and expressions, and what does not fit in its place."""

from __future__ import annotations

from typing import Literal, TypeAlias

from fsmdsl.dataclasses import dataclass

Value: TypeAlias = "bool | int | str | frozenset[Value] | tuple[Value, ...] | RecordValue | Table | None"
"""A bool; a number, or a duration's milliseconds; an instance's number; a member's or an opaque type's name; none; a
set; a list; a record; a map. Which of them it is, its type says."""


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A record: the values of its parts, in order."""

    parts: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A map: each key with its value, in the order of the keys."""

    entries: tuple[tuple[Value, Value], ...]

    def has(self, key: Value) -> bool:
        """Is there an entry for a key?"""
        return any(k == key for k, _ in self.entries)

    def value(self, key: Value) -> Value:
        """The value for a key that there is."""
        return next(x for k, x in self.entries if k == key)

    def replaced(self, key: Value, value: Value) -> Table:
        """The map with another value for a key."""
        return Table(tuple((k, value if k == key else x) for k, x in self.entries))


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value that a place cannot hold: outside `low..high` (`range`), longer than `high` (`overflow`), or none."""

    kind: Literal["range", "overflow", "none"]
    value: Value
    low: int = 0
    high: int = 0
