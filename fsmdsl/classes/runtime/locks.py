"""Locks that refuse to be taken in an undeclared order."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal, TypeAlias

    Mode: TypeAlias = Literal["read", "write"]
    Pair: TypeAlias = tuple[str, str, str, str, bool]
    """What is held, in which mode (`any` for both), what may be taken then, in which mode, one level down?"""


class LockOrderBroken(Exception):
    """A thread would take a lock that the order does not allow there. It has not taken it."""


class LockOrder:
    """Locks with a declared order. What counts is the lock that a thread has taken last."""

    __slots__ = ("_threads", "pairs")

    def __init__(self, pairs: tuple[Pair, ...]) -> None:
        self.pairs = pairs
        self._threads = threading.local()

    def held(self) -> list[Holding]:
        """What this thread holds, first taken first."""
        stack: list[Holding] | None = getattr(self._threads, "stack", None)
        if stack is None:
            stack = self._threads.stack = []
        return stack

    def check(self, holding: Holding) -> None:
        """Raises `LockOrderBroken` if this thread may not take a lock now."""
        stack = self.held()
        if any(x.lock is holding.lock for x in stack):
            raise LockOrderBroken(f"this thread already holds {holding.lock.kind}, and would wait for itself")
        if stack and not any(_allows(pair, stack[-1], holding) for pair in self.pairs):
            raise LockOrderBroken(f"{holding!r} may not be taken while {stack[-1]!r} is held")


def _allows(pair: Pair, outer: Holding, inner: Holding) -> bool:
    kind, mode, inner_kind, inner_mode, child = pair
    same = outer.lock.kind == kind and inner.lock.kind == inner_kind
    below = inner.lock.parent is outer.lock if child else kind != inner_kind
    return same and below and mode in ("any", outer.mode) and inner_mode in ("any", inner.mode)


class Lock:
    """A lock that many can hold to read, or one to write."""

    __slots__ = ("_changed", "_readers", "_writing", "kind", "order", "parent")

    def __init__(self, order: LockOrder, kind: str, parent: Lock | None = None) -> None:
        self.order = order
        self.kind = kind
        self.parent = parent
        self._changed = threading.Condition()
        self._readers = 0
        self._writing = False

    def read(self) -> Holding:
        """To be used with `with`: holds the lock together with other readers."""
        return Holding(self, "read")

    def write(self) -> Holding:
        """To be used with `with`: holds the lock alone."""
        return Holding(self, "write")

    def acquire(self, mode: Mode) -> None:
        """Waits until the lock is free for the mode, and takes it."""
        with self._changed:
            while self._writing or (mode == "write" and self._readers):
                self._changed.wait()
            if mode == "write":
                self._writing = True
            else:
                self._readers += 1

    def release(self, mode: Mode) -> None:
        """Gives the lock back."""
        with self._changed:
            if mode == "write":
                self._writing = False
            else:
                self._readers -= 1
            self._changed.notify_all()


class Holding:
    """A lock held by a thread, for a `with`."""

    __slots__ = ("lock", "mode")

    def __init__(self, lock: Lock, mode: Mode) -> None:
        self.lock = lock
        self.mode = mode

    def __repr__(self) -> str:
        return f"{self.mode}({self.lock.kind})"

    def __enter__(self) -> Lock:
        self.lock.order.check(self)
        self.lock.acquire(self.mode)
        self.lock.order.held().append(self)
        return self.lock

    def __exit__(self, *_: object) -> None:
        self.lock.order.held().remove(self)
        self.lock.release(self.mode)
