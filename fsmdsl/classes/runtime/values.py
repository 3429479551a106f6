"""Operations on values, and checks that a variable can hold them."""

from __future__ import annotations

from itertools import combinations

from .errors import Full, MissingReference, OutOfRange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, TypeVar

    T = TypeVar("T")
    Numbers = TypeVar("Numbers", frozenset[int], frozenset[int | None], tuple[int, ...], tuple[int | None, ...])


# Operations -------------------------------------------------------------------------------------


def present(value: T | None, what: str) -> T:
    """The value, unless it is none."""
    if value is None:
        raise MissingReference(f"{what} is none")
    return value


def first(items: tuple[T, ...], what: str) -> T:
    """The first item of a list."""
    if not items:
        raise MissingReference(f"{what} is empty")
    return items[0]


def item(items: tuple[T, ...], index: int, what: str) -> T:
    """The item of a list at an index, counted from 0."""
    if not 0 <= index < len(items):
        raise MissingReference(f"{what} has no item {index}")
    return items[index]


def without(items: tuple[T, ...], item: T) -> tuple[T, ...]:
    """A list without the first item that equals another."""
    if item not in items:
        return items
    index = items.index(item)
    return items[:index] + items[index + 1 :]


def subsets(items: Iterable[T], size: int) -> frozenset[frozenset[T]]:
    """All subsets of a size."""
    return frozenset(frozenset(x) for x in combinations(items, size)) if size >= 0 else frozenset()


def in_order(machines: Iterable[T]) -> list[T]:
    """Machines in the order in which they were made."""
    return sorted(machines, key=number_of)


def number_of(machine: Any) -> int:
    """The place of a machine in that order."""
    number: int = machine._number
    return number


def divisor(number: int, what: str) -> int:
    """A divisor, unless it is 0."""
    if number == 0:
        raise MissingReference(f"division by zero: {what} is 0")
    return number


# Checks -----------------------------------------------------------------------------------------


def in_range(value: int, low: int, high: int, name: str) -> int:
    """A number, if its variable can hold it."""
    if not low <= value <= high:
        raise OutOfRange(f"{name} must be from {low} to {high}, not {value}")
    return value


def in_range_or_none(value: int | None, low: int, high: int, name: str) -> int | None:
    """A number or none, if its variable can hold it."""
    return None if value is None else in_range(value, low, high, name)


def each_in_range(values: Numbers, low: int, high: int, name: str) -> Numbers:
    """Numbers, each of them possibly none, if their variable can hold them."""
    for value in values:
        if value is not None:
            in_range(value, low, high, name)
    return values


def not_longer(items: tuple[T, ...], bound: int, name: str) -> tuple[T, ...]:
    """A list, if it is not too long."""
    if len(items) > bound:
        raise Full(f"{name} holds at most {bound}, not {len(items)}")
    return items


def either(names: Iterable[str]) -> str:
    """Alternatives in a sentence: `a, b or c`."""
    *others, last = names
    return f"{', '.join(others)} or {last}" if others else last
