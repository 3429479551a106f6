"""What the texts of one exported system share, in C and in TLA+: names, machines, places in the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar, Self

from fsmdsl import model as m
from fsmdsl.core.elaborate import Elaboration
from fsmdsl.core.selection import Selection
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.interop.export.refusals import Refusal, RefusedError
from fsmdsl.step import Universe
from fsmdsl.step.values import MAX_VALUES, cardinality
from fsmdsl.text.source import Span

MAX_STARTS = 1024
"""Maximum number of first states in an export."""


def identifier(*parts: str) -> str:
    """A name of the source as a name in C and in TLA+: `Cell_user`."""
    return "_".join(re.sub(r"\W", "_", x) for x in parts)


@dataclass(slots=True)
class Scope:
    """One system on its way to another language."""

    FIRST: ClassVar[int] = 1
    """The number of the first place."""
    FIRST_QUEUE: ClassVar[int] = 0
    """The number of the first queue."""
    EQUAL: ClassVar[str] = "{} == {}"
    BOTH: ClassVar[str] = " && "
    CHOICE: ClassVar[str] = "({} ? {} : {})"
    """How it is written that two numbers are equal, that two things are true, and what depends on a condition."""

    universe: Universe
    elaboration: Elaboration
    selections: dict[str, Selection]
    places: dict[Span, int] = field(default_factory=dict)
    used: int = 0

    @classmethod
    def of(cls, model: m.Model, system: m.System) -> Self:
        """Ready to export a system."""
        universe = Universe(model, system)
        if universe.cannot_begin:
            raise RefusedError(Refusal("no start", system.name, system.span))
        if len(universe.starts) > MAX_STARTS:
            raise RefusedError(Refusal("many starts", system.name, system.span))
        elaboration = Elaboration(model, system, lambda t: min(cardinality(t, universe), MAX_VALUES))
        return cls(universe, elaboration, {x.qualified: Selection(x) for x in dict.fromkeys(universe.machines)})

    @property
    def machines(self) -> tuple[m.Machine, ...]:
        """Each machine of the system once."""
        return tuple(x.machine for x in self.selections.values())

    def machine_name(self, machine: m.Machine | str) -> str:
        """Of a machine; with its module where two are called the same."""
        resolved = self.universe.model.machines[machine] if isinstance(machine, str) else machine
        same = [x for x in self.machines if x.name == resolved.name]
        return identifier(resolved.name) if len(same) == 1 else identifier(resolved.module, resolved.name)

    def numbers(self, machine: m.Machine) -> list[int]:
        """The instances of a machine."""
        return sorted(self.universe.instances_of(machine.qualified))

    def queue(self, channel: str, ends: Sequence[str]) -> str | None:
        """The number of a channel's queue, by its ends. None where the channel leads out of the system."""
        queues = [
            (n, x) for n, x in enumerate(self.universe.queues, self.FIRST_QUEUE) if x.channel.qualified == channel
        ]
        if not queues:
            return None
        text = str(queues[-1][0])
        for n, x in reversed(queues[:-1]):
            here = self.BOTH.join(self.EQUAL.format(a, b) for a, b in zip(ends, x.ends, strict=True))
            text = self.CHOICE.format(here, n, text)
        return text

    def place(self, span: Span) -> int:
        """The number of a place in the source."""
        return self.places.setdefault(span, self.FIRST + len(self.places))
