"""Channels and locks, which stand between machines."""

from __future__ import annotations

from typing import Literal

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.text.source import NOWHERE, Span

__all__ = [
    "Channel", "Hold", "LockPair", "LockUse", "Locks", "Operation",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Channel:
    """Messages are the receiver's events that name the channel as sender. In a system it has one receiving instance;
    or `each` instance of the receiver has a queue of its own; or, with a `sender`, each pair of both has."""

    name: str
    module: str
    order: Literal["fifo", "bag"]
    bound: int
    lossy: bool
    duplicating: bool
    waiting: bool
    """A message is delivered only where its receiver handles or ignores the event."""
    sender: str | None
    """Qualified, as is the receiver."""
    each: bool
    receiver: str
    doc: str
    span: Span = field(compare=False, default=NOWHERE)

    @property
    def qualified(self) -> str:
        return f"{self.module}.{self.name}"

    @property
    def chooses(self) -> bool:
        """Does the state of the receiver decide which of several messages it takes?"""
        return self.waiting and self.order == "bag"


@dataclass(frozen=True, slots=True)
class LockUse:
    name: str
    mode: Literal["read", "write", "any"]
    child: bool
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class LockPair:
    """`inner` may be taken while `outer` is held."""

    outer: LockUse
    inner: LockUse
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Hold:
    lock: LockUse
    inside: tuple[Hold, ...]
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Operation:
    name: str
    holds: tuple[Hold, ...]
    doc: str
    amended: str | None
    span: Span = field(compare=False, default=NOWHERE)


@dataclass(frozen=True, slots=True)
class Locks:
    name: str
    module: str
    pairs: tuple[LockPair, ...]
    operations: tuple[Operation, ...]
    doc: str
    span: Span = field(compare=False, default=NOWHERE)
