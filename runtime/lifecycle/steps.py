"""One step: time passes first, then something happens, then all that it leads to; what it has changed is journaled."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from types import TracebackType

from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.lifecycle.keys import life_key
from runtime.lifecycle.registry import Life, Registry


class BrokenError(Exception):
    """A fault in an earlier step: what is in memory cannot be trusted. What is journaled can."""


class Steps:
    """Entered for each step, never twice at once."""

    __slots__ = ("_durable", "_group", "_now", "broken", "registry")

    def __init__(self, registry: Registry) -> None:
        self.registry = registry
        allocator = registry.allocator
        self._durable = allocator if isinstance(allocator, DurableAllocator) else None
        self._group: AbstractContextManager[None] = nullcontext()
        self._now = 0.0
        self.broken = False

    def at(self, now: float) -> Steps:
        """A step at a time. What was due before it comes first; what is due at that very moment, later."""
        self._now = now
        return self

    def __enter__(self) -> None:
        if self.broken:
            raise BrokenError("a step has failed before; the journal has what was before it")
        if self._durable is not None:
            self._group = self._durable.cycle()
            self._group.__enter__()
        timers = self.registry.timers
        if not timers.due(self._now):
            timers.set_time(self._now)
            return
        try:
            timers.advance(self._now, self.settle, through=False)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None or isinstance(error, UserError):
            try:
                if self.registry.dirty:
                    self.settle()
            except BaseException as fault:
                self._end(fault)
                raise
            self._end(None)
        else:
            self._end(error)

    def _end(self, fault: BaseException | None) -> None:
        """What has changed is journaled; nothing is, after a fault."""
        self.broken = fault is not None
        if self._durable is None:
            return
        if fault is None:
            self._group.__exit__(None, None, None)
        else:
            self._group.__exit__(type(fault), fault, fault.__traceback__)

    def settle(self) -> None:
        """All that has moved is looked after."""
        registry = self.registry
        while registry.dirty:
            life, _ = registry.dirty.popitem()
            if life.slots:
                registry.settle(life)
                _count(life)
                registry.dirty.pop(life, None)
            registry.note(life_key(life.name))


def _count(life: Life) -> None:
    """Among those that wait, or not."""
    waits = life.queued > 0 and not life.ending
    if waits != life.counted:
        queue = life.registry.queues.get(life.spec.queue)
        (queue.add if waits else queue.discard)(life)
        life.counted = waits
