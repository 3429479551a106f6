"""What data can be: the values of fields, arguments and expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

Value: TypeAlias = "bool | int | str | frozenset[Value] | tuple[Value, ...] | RecordValue | None"
"""A bool; a number, or a duration's milliseconds; an instance's number; a member's or an opaque type's name; none; a
set; a list; a record. Which of them it is, its type says."""


@dataclass(frozen=True, slots=True)
class RecordValue:
    """A record: the values of its parts, in order."""

    parts: tuple[Value, ...]
