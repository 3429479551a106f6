"""What the fairness of a property asks, of which instances.

A name is an event's, an `action.outcome` or a transition's label, alone or behind a machine's name. Every instance that
knows it has an obligation of its own.
"""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.explore.liveness.graph import BITS
from fsmdsl.explore.liveness.plan import Obligation, UncheckedError
from fsmdsl.step import Universe
from fsmdsl.step.universe import trigger_name


class Duties:
    """The obligations of a system's properties, each once."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.obligations: list[Obligation] = []

    def of(self, p: m.Property) -> tuple[int, int, tuple[str, ...]]:
        """What a property relies on: the weak ones and the strong ones, as bits, and the names that nobody knows."""
        weak = strong = 0
        unanswered: list[str] = []
        for fairness in p.under:
            for name in fairness.names:
                bits, known = self._bits(name)
                if not known:
                    unanswered.append(name)
                if fairness.strength == "weak":
                    weak |= bits
                else:
                    strong |= bits
        return weak & ~strong, strong, tuple(unanswered)

    def _bits(self, name: str) -> tuple[int, bool]:
        """The obligations under a name, and whether some instance knows it at all."""
        bits, known = 0, False
        for instance, machine in enumerate(self.universe.machines):
            names = _meant(machine, name)
            known = known or bool(names & _names(machine))
            o = Obligation(
                instance,
                name,
                frozenset(t.index for t in machine.transitions if {t.label, trigger_name(t.trigger)} & names),
                frozenset(i.event for i in machine.ignores if i.event in names),
            )
            if o.transitions or o.ignored:
                bits |= 1 << self._number(o)
        return bits, known

    def any_move(self, instance: int, transitions: frozenset[int]) -> int:
        """The number of what an instance fulfils with any of these transitions."""
        return self._number(Obligation(instance, "", transitions, frozenset()))

    def _number(self, o: Obligation) -> int:
        if o not in self.obligations:
            if len(self.obligations) == BITS:
                raise UncheckedError(f"fairness has more than {BITS} obligations here, one for each instance and name")
            self.obligations.append(o)
        return self.obligations.index(o)


def _meant(machine: m.Machine, name: str) -> frozenset[str | None]:
    """The name, and what is behind the machine's own name in it."""
    fronts = (f"{x}." for x in (machine.name, machine.qualified))
    return frozenset({name, *(name.removeprefix(x) for x in fronts if name.startswith(x))})


def _names(machine: m.Machine) -> set[str | None]:
    """All that fairness can name in a machine."""
    outcomes = {f"{a.name}.{o}" for a in machine.actions for o in a.outcomes}
    return {*(e.name for e in machine.events), *(t.label for t in machine.transitions), *outcomes} - {None}
