"""Who takes part in a system: what the names of its formulas stand for."""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl import model as m
from fsmdsl.step.world import Value


class Roster:
    """The instances and channels of a system, by number, and the constants of each instance."""

    def __init__(self, model: m.Model, system: m.System) -> None:
        self.model = model
        self.system = system
        self.machines: tuple[m.Machine, ...] = tuple(model.machines[i.machine] for i in system.instances)
        """The machine of each instance."""
        self.slots: tuple[Mapping[str, int], ...] = tuple(_slots(self.machines))
        """The place of each field, for each instance."""
        self.params: tuple[dict[str, Value], ...] = tuple({} for _ in system.instances)
        self.channels: tuple[m.Channel, ...] = tuple(model.channels[c] for c in system.channels)
        self.channel_place: Mapping[str, int] = {c: n for n, c in enumerate(system.channels)}
        """By qualified name. A channel that is missing has no receiver here: it leads out of the system."""
        self._of_group: dict[str, frozenset[int]] = {}
        self._of_machine: dict[str, frozenset[int]] = {}
        self._lets: dict[tuple[str, str], m.Let] = {}

    def instances_called(self, group: str) -> frozenset[int]:
        """The instances of a group."""
        if group not in self._of_group:
            found = (n for n, i in enumerate(self.system.instances) if i.group == group)
            self._of_group[group] = frozenset(found)
        return self._of_group[group]

    def instances_of(self, machine: str) -> frozenset[int]:
        """The instances of a machine (qualified)."""
        if machine not in self._of_machine:
            found = (n for n, i in enumerate(self.system.instances) if i.machine == machine)
            self._of_machine[machine] = frozenset(found)
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


def _slots(machines: tuple[m.Machine, ...]) -> list[Mapping[str, int]]:
    known = {x.qualified: {f.name: n for n, f in enumerate(x.fields)} for x in machines}
    return [known[x.qualified] for x in machines]
