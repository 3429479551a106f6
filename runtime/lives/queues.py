"""Virtual clusters as queues, and the whole cluster as their partition."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass, field

from generated.yunikorn.core import ObjectStateState, System
from generated.yunikorn.core.actions import ObjectStateActions
from runtime.errors import UserError
from runtime.lives.life import Life
from runtime.lives.machines import QueueState
from runtime.lives.timers import Timers

Turn = tuple[int, float, int]


@dataclass(slots=True, eq=False)
class Queue:
    """A virtual cluster, or the whole cluster, which has no name."""

    name: str
    machine: QueueState
    timers: Timers
    used: int = 0
    """Leaf cells that are held for its pods."""
    changed: float | None = None
    """When its state last did."""
    waiting: list[tuple[Turn, Life]] = field(default_factory=list)
    """Applications that have pods without a place, in their order."""

    @property
    def state(self) -> ObjectStateState:
        """Whether it takes part in scheduling."""
        return self.machine.state

    @property
    def scheduled(self) -> bool:
        """May what waits be placed? While it drains, too."""
        return self.machine.state is not ObjectStateState.STOPPED

    def stamp(self) -> None:
        """Its state has changed."""
        self.changed = self.timers.time()

    def add(self, life: Life) -> None:
        """It waits."""
        insort(self.waiting, (life.turn, life))

    def discard(self, life: Life) -> None:
        """It waits no longer."""
        del self.waiting[bisect_left(self.waiting, life.turn, key=lambda entry: entry[0])]


class Queues:
    """All queues, and their partition."""

    __slots__ = ("by_name", "partition", "system")

    def __init__(self, names: list[str], actions: ObjectStateActions, timers: Timers) -> None:
        self.system = System(timers)
        self.partition = self._make("", actions, timers)
        self.by_name = {name: self._make(name, actions, timers) for name in names}

    def _make(self, name: str, actions: ObjectStateActions, timers: Timers) -> Queue:
        machine = QueueState(self.system, actions)
        queue = machine.queue = Queue(name, machine, timers)
        return queue

    def keep(self, names: Iterable[str], actions: ObjectStateActions, timers: Timers) -> None:
        """Queues that are still used: those that have left the configuration are on their way out."""
        for name in sorted(set(names) - self.by_name.keys()):
            queue = self.by_name[name] = self._make(name, actions, timers)
            queue.machine.remove()

    def get(self, name: str) -> Queue:
        """By name; the partition, if that is empty."""
        queue = self.by_name.get(name) if name else self.partition
        if queue is None:
            raise UserError(f"there is no queue {name}; there are {', '.join(sorted(self.by_name)) or 'none'}")
        return queue

    def refusal(self, name: str) -> str:
        """Why a queue takes no new applications; empty where it does."""
        if self.partition.state is not ObjectStateState.ACTIVE:
            return f"the cluster is {self.partition.state.display.lower()}, and takes no new applications"
        if self.get(name).state is ObjectStateState.DRAINING:
            return f"queue {name} is draining, and takes no new applications"
        return ""
