"""What the operators of one system share in TLA+: names, places in the source, `let`s, loops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from fsmdsl import model as m
from fsmdsl.core.elaborate import Body, Elaboration
from fsmdsl.core.selection import Selection
from fsmdsl.export.refusals import Reason, Refusal, RefusedError
from fsmdsl.source import Span
from fsmdsl.step import Universe
from fsmdsl.step.values import MOST, cardinality


def name_in_tla(*parts: str) -> str:
    """A name of the source as a name of an operator or field: `Cell_user`."""
    return "_".join(re.sub(r"\W", "_", x) for x in parts)


@dataclass(frozen=True, slots=True)
class Env:
    """Where an expression is read: the world (a name), the instance, and what variables are called."""

    world: str = "w"
    self: str = "self"
    names: Mapping[str, str] = field(default_factory=dict)

    def bind(self, name: str) -> tuple[str, Env]:
        """A variable, called as nothing around it is."""
        plain = text = f"v_{name_in_tla(name)}"
        count = 1
        while text in self.names.values():
            count += 1
            text = f"{plain}_{count}"
        return text, replace(self, names={**self.names, name: text})

    def at(self, world: str) -> Env:
        """The same in another world."""
        return replace(self, world=world)


@dataclass(slots=True)
class TlaScope:
    """One system on its way to TLA+."""

    universe: Universe
    elaboration: Elaboration
    selections: dict[str, Selection]
    places: dict[Span, int] = field(default_factory=dict)
    operators: list[str] = field(default_factory=list)
    recursive: list[str] = field(default_factory=list)
    lets: dict[tuple[str, str, int], tuple[str, Body, bool]] = field(default_factory=dict)
    used: int = 0
    reader: str = ""
    """The machine (qualified) that reads; empty: the system."""

    @classmethod
    def of(cls, model: m.Model, system: m.System) -> TlaScope:
        """Ready to export a system."""
        universe = Universe(model, system)
        elaboration = Elaboration(model, system, lambda t: min(cardinality(t, universe), MOST))
        return cls(universe, elaboration, {x.qualified: Selection(x) for x in dict.fromkeys(universe.machines)})

    @contextmanager
    def read_by(self, machine: str) -> Iterator[None]:
        """Inside, `self` is an instance of a machine."""
        before, self.reader = self.reader, machine
        yield
        self.reader = before

    @property
    def machines(self) -> tuple[m.Machine, ...]:
        """Each machine of the system once."""
        return tuple(x.machine for x in self.selections.values())

    def machine_name(self, machine: m.Machine | str) -> str:
        """Of a machine; with its module where two are called the same."""
        found = self.universe.model.machines[machine] if isinstance(machine, str) else machine
        same = [x for x in self.machines if x.name == found.name]
        return name_in_tla(found.name) if len(same) == 1 else name_in_tla(found.module, found.name)

    def numbers(self, machine: m.Machine) -> list[int]:
        """The instances of a machine."""
        return sorted(self.universe.instances_of(machine.qualified))

    def fresh(self, name: str) -> str:
        """A name that nothing else has."""
        self.used += 1
        return f"{name}{self.used}"

    def place(self, span: Span) -> int:
        """The number of a place in the source, from 1."""
        return self.places.setdefault(span, len(self.places) + 1)

    def refused(self, reason: Reason, what: str) -> RefusedError:
        """The error that ends the export."""
        return RefusedError(Refusal(reason, what, self.universe.system.span))
