"""Maps. They import `typing`, which is slow: packages without maps do without this module."""

from __future__ import annotations

import typing

from .errors import MissingReference
from .kinds import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any, NoReturn

Key = typing.TypeVar("Key")
Value = typing.TypeVar("Value")


class Table(typing.Generic[Key, Value]):
    """A map: values for some keys, and one value for all the rest. It does not know which keys exist."""

    __slots__ = ("entries", "rest")

    def __init__(self, rest: Value, entries: Mapping[Key, Value] | None = None) -> None:
        self.rest = rest
        self.entries = {key: x for key, x in (entries or {}).items() if x != rest}

    def __getitem__(self, key: Key) -> Value:
        return self.entries.get(key, self.rest)

    def __repr__(self) -> str:
        return f"Table({self.rest!r}, {self.entries!r})"

    def replaced(self, key: Key, value: Value) -> Table[Key, Value]:
        """The map with another value for a key."""
        return Table(self.rest, {**self.entries, key: value})


def alike(one: Table[Key, Value], other: Table[Key, Value], keys: Iterable[Key]) -> bool:
    """Do two maps have the same values for all keys?"""
    return all(one[key] == other[key] for key in keys)


def key_of(number: int, low: int, high: int, what: str) -> int:
    """A number, if it is a key of a map."""
    if not low <= number <= high:
        raise MissingReference(f"{what} has the keys {low} to {high}, not {number}")
    return number


class TableKind(Kind):
    """Maps."""

    __slots__ = ("key", "of")

    def __init__(self, key: Kind, of: Kind) -> None:
        super().__init__(f"a Table, with values that are {of.expected}")
        self.key = key
        self.of = of

    def has(self, value: Any, system: object) -> bool:
        return (
            isinstance(value, Table)
            and self.of.has(value.rest, system)
            and all(self.key.has(key, system) and self.of.has(x, system) for key, x in value.entries.items())
        )

    def refuse(self, value: Any, system: object, holder: object, label: str) -> NoReturn:
        if isinstance(value, Table):
            self.of.check(value.rest, system, holder, f"the value of {label} for other keys")
            for key, x in value.entries.items():
                self.key.check(key, system, holder, f"a key of {label}")
                self.of.check(x, system, holder, f"a value of {label}")
        super().refuse(value, system, holder, label)
