"""Who takes part in a system: what the names of its formulas stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import NamedTuple
from fsmdsl.step.world import Value


class Queue(NamedTuple):
    """Where messages of a channel wait for one instance; `sender`: those of one, where each pair has a queue."""

    channel: m.Channel
    receiver: int
    sender: int | None = None

    @property
    def ends(self) -> tuple[int, ...]:
        """What tells it from the other queues of its channel, in the order of `model.Post.ends`."""
        if self.sender is not None:
            return self.sender, self.receiver
        return (self.receiver,) if self.channel.each else ()


class Roster:
    """The instances and queues of a system, by number, and the constants of each instance."""

    def __init__(self, model: m.Model, system: m.System) -> None:
        self.model = model
        self.system = system
        self.machines: tuple[m.Machine, ...] = tuple(model.machines[i.machine] for i in system.instances)
        """The machine of each instance."""
        self.slots: tuple[Mapping[str, int], ...] = tuple(_slots(self.machines))
        """The place of each field, for each instance."""
        self.params: tuple[dict[str, Value], ...] = tuple({} for _ in system.instances)
        self._of_group: dict[str, frozenset[int]] = {}
        self._of_machine: dict[str, frozenset[int]] = {}
        channels = (model.channels[c] for c in system.channels)
        self.queues: tuple[Queue, ...] = tuple(
            Queue(c, n, sender)
            for c in channels
            for n in sorted(self.instances_of(c.receiver))
            for sender in (sorted(self.instances_of(c.sender)) if c.sender is not None else (None,))
        )
        """One for each channel; where it leads to each instance of a machine, for each of these; where it leads from
        each instance of another, for each pair."""
        self._numbers = {(x.channel.qualified, x.ends): n for n, x in enumerate(self.queues)}
        self._lets: dict[tuple[str, str], m.Let] = {}

    def instances_called(self, group: str) -> frozenset[int]:
        """The instances of a group."""
        if group not in self._of_group:
            numbers = (n for n, i in enumerate(self.system.instances) if i.group == group)
            self._of_group[group] = frozenset(numbers)
        return self._of_group[group]

    def instances_of(self, machine: str) -> frozenset[int]:
        """The instances of a machine (qualified)."""
        if machine not in self._of_machine:
            numbers = (n for n, i in enumerate(self.system.instances) if i.machine == machine)
            self._of_machine[machine] = frozenset(numbers)
        return self._of_machine[machine]

    def let(self, derived: m.Derived) -> m.Let:
        """The declaration of a derived value."""
        key = (derived.owner, derived.name)
        if key not in self._lets:
            self._lets[key] = self.model.let(derived, self.system)
        return self._lets[key]

    def name(self, instance: int) -> str:
        """What the author calls an instance."""
        return self.system.instances[instance].name

    def queue(self, channel: str, ends: Sequence[int]) -> int | None:
        """The number of a channel's queue. None: it leads out of the system."""
        return self._numbers.get((channel, tuple(ends)))

    def queue_name(self, queue: int) -> str:
        """What the author calls a queue: `to_cache`, `inbox of p0`, `link from p0 to p1`."""
        return f"{self.queues[queue].channel.name}{self.whose(queue)}"

    def whose(self, queue: int) -> str:
        """What tells a queue from the other ones of its channel: ` of p0`, ` from p0 to p1`."""
        names = [self.name(n) for n in self.queues[queue].ends]
        return ["", " of {}", " from {} to {}"][len(names)].format(*names)


def _slots(machines: tuple[m.Machine, ...]) -> list[Mapping[str, int]]:
    slots = {x.qualified: {f.name: n for n, f in enumerate(x.fields)} for x in machines}
    return [slots[x.qualified] for x in machines]
