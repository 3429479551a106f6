"""Snapshots: which version they have, and whether they fit the part of a system that they are restored into."""

from __future__ import annotations

from .errors import ForeignSnapshot, StepRefused
from .values import either

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from enum import Enum
    from typing import Any, TypeAlias, TypeVar

    E = TypeVar("E", bound=Enum)

    Data: TypeAlias = dict[str, Any]
    """A JSON object."""
    Saved: TypeAlias = tuple[Any, ...]
    """Everything that can change in a machine or channel."""
    Migrations: TypeAlias = Mapping[str, Callable[[Data], Data]]
    """Converters to the present version of snapshots, by the version that they convert."""


def converted(data: Data, version: str, migrate: Migrations | None) -> Data:
    """A snapshot in the present version. Without `migrate`, and where it has no version, it is taken as it is."""
    own = data.get("version", version) if isinstance(data, dict) else version
    if own == version or migrate is None:
        return data
    if not isinstance(own, str) or own not in migrate:
        raise ForeignSnapshot(f"`migrate` does not convert version {own} to {version}")
    return migrate[own](data)


def fitting(
    part: object, decode: Callable[[Any, Mapping[int, Any]], Saved], data: Any, machines: Mapping[int, Any]
) -> Saved:
    """The values that a snapshot has for a part of a system."""
    try:
        return decode(data, machines)
    except ForeignSnapshot:
        raise
    except (LookupError, TypeError, AttributeError) as error:
        raise ForeignSnapshot(f"what the snapshot has does not fit {part!r}: {error!r}") from error
    except (StepRefused, ValueError) as error:
        raise ForeignSnapshot(f"what the snapshot has does not fit {part!r}: {error}") from error


def state_named(kind: type[E], value: Any) -> E:
    """The state with a name."""
    try:
        return kind(value)
    except ValueError as error:
        raise ValueError(f"{error}, which has {', '.join(str(x.value) for x in kind)}") from None


def named(kind: type[E], name: Any, what: str) -> E:
    """The member of an enum with a name."""
    if name not in kind.__members__:
        raise ValueError(f"{what} must be {either(kind.__members__)}, not {name!r}")
    return kind[name]


# Values: of exactly one type, as JSON knows fewer types than classes -----------------------------


def truth(value: Any, what: str) -> bool:
    """A truth value."""
    if type(value) is not bool:
        raise ValueError(f"{what} must be true or false, not {value!r}")
    return value


def whole(value: Any, low: int, high: int, what: str) -> int:
    """A whole number in a range."""
    if type(value) is not int or not low <= value <= high:
        raise ValueError(f"{what} must be a whole number from {low} to {high}, not {value!r}")
    return value


def duration(value: Any, what: str) -> float:
    """A length of time."""
    if type(value) not in (int, float) or not 0 <= value < float("inf"):
        raise ValueError(f"{what} must be a number of seconds, not {value!r}")
    return float(value)


def items(value: Any, what: str, size: int | None = None) -> list[Any]:
    """A list, of a size if one is given."""
    if type(value) is not list or size not in (None, len(value)):
        raise ValueError(f"{what} must be a list{'' if size is None else f' of {size}'}, not {value!r}")
    return value


def reference(machines: Mapping[int, Any], number: Any, states: type[Enum], what: str) -> Any:
    """The machine with a number, if it has these states."""
    if type(number) is not int or number not in machines:
        raise ValueError(f"{what} must be the number of a machine, not {number!r}")
    if not isinstance(machines[number].state, states):
        raise ValueError(f"{what} must be the number of a machine with {states.__name__}, not of {machines[number]!r}")
    return machines[number]
