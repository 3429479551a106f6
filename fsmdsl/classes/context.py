"""One call of the emitter: the model, the names in it, and where the packages lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Literal

from fsmdsl import model as m
from fsmdsl.classes.names import RESERVED, Namespace, module_of, snake
from fsmdsl.classes.naming import MachineNames, PackageNames, folder, package_names
from fsmdsl.classes.traits import Traits, beyond_tables, family, reads_wait, standalone, traits
from fsmdsl.core.elaborate import Elaboration
from fsmdsl.core.selection import Selection
from fsmdsl.dataclasses import dataclass


@dataclass(frozen=True)
class Context:
    """The whole model, as the writers of files look at it."""

    model: m.Model
    dialect: Literal["classes", "transitions"] = "classes"
    """For our own classes, or for models of the `transitions` library, whose state is a string."""

    @cached_property
    def modules(self) -> Mapping[str, m.Module]:
        return {x.name: x for x in self.model.modules}

    @cached_property
    def packages(self) -> Mapping[str, PackageNames]:
        """By module."""
        folders = [folder(name) for name in self.modules]
        return {
            name: package_names(module, {f[len(at)] for f in folders if f[: len(at)] == at and len(f) > len(at)})
            for name, module in self.modules.items()
            for at in [folder(name)]
        }

    @cached_property
    def functions(self) -> frozenset[tuple[str, str]]:
        """Derived values of modules: what the function of each is called, and what it is called in the spec."""
        return frozenset((name, let) for package in self.packages.values() for let, name in package.lets.items())

    @cached_property
    def selections(self) -> Mapping[str, Selection]:
        """Which transitions come into question where, by machine."""
        return {qualified: Selection(x) for qualified, x in self.model.machines.items()}

    def elaboration(self, system: m.System | None) -> Elaboration:
        """Expressions as wide as their values, as part of a system or of a machine."""
        name = None if system is None else system.qualified
        return self._elaborations.setdefault(name, Elaboration(self.model, system))

    @cached_property
    def _elaborations(self) -> dict[str | None, Elaboration]:
        return {}

    def machine(self, qualified: str) -> MachineNames:
        """The names of a machine."""
        return self.packages[module_of(qualified)].machines[qualified]

    @cached_property
    def _homes(self) -> Mapping[str, tuple[str, ...]]:
        """Modules that have to do with one another share the machinery of the folder that holds them all."""
        return {name: _shared([folder(x) for x in family(self.model, name)]) for name in self.modules}

    def home(self, module: str) -> tuple[str, ...]:
        """The folder of the machinery that a module's package uses."""
        return self._homes[module]

    @cached_property
    def _traits(self) -> Mapping[tuple[str, ...], Traits]:
        return {home: traits(self.model, self.sharing(name)) for name, home in self._homes.items()}

    def sharing(self, module: str) -> list[str]:
        """The modules that share the machinery of one, which is among them."""
        return [name for name, home in self._homes.items() if home == self.home(module)]

    def traits(self, module: str) -> Traits:
        """What is made use of by the modules that share a machinery."""
        return self._traits[self.home(module)]

    @cached_property
    def _standalone(self) -> frozenset[str]:
        return frozenset(n for n, x in self.model.machines.items() if standalone(self.model, x))

    def standalone(self, machine: m.Machine) -> bool:
        """Does a machine do without a system?"""
        return machine.qualified in self._standalone

    @cached_property
    def waiting(self) -> frozenset[str]:
        """The machines of which something reads `wait`."""
        return frozenset(n for n, x in self.model.machines.items() if reads_wait(x))

    def channel_methods(self, channel: str) -> Mapping[str, str]:
        """What the methods of a channel that send messages are called."""
        declaration = self.model.channels[channel]
        space = Namespace(
            [*RESERVED, "bound", "messages", "deliver", "lose", "duplicate", "sender", "receiver", "system"]
        )
        events = self.model.machines[declaration.receiver].events
        return {e.name: space.claim(snake(e.name)) for e in events if channel in e.senders}

    def written(self, machine: str) -> bool:
        """Does a machine become a class? `transitions` cannot run them all."""
        return self.dialect == "classes" or beyond_tables(self.model, self.model.machines[machine]) is None

    def crashes(self, machine: m.Machine) -> bool:
        """Can a crash reach a machine?"""
        return self.traits(machine.module).crashes and not self.standalone(machine)


def _shared(folders: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The innermost folder that holds all of some folders."""
    first = min(folders, key=len)
    return next(first[:n] for n in range(len(first), -1, -1) if all(f[:n] == first[:n] for f in folders))
