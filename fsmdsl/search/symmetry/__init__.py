"""Worlds that differ only in which instance of a symmetric set is which, counted once.

That is sound where exchanging members of a set changes nothing but names: then from exchanged worlds exchanged worlds
are reached, by as many steps, and no question tells them apart. The conditions are those of scalarsets (C. N. Ip,
D. L. Dill: Better Verification Through Symmetry, Formal Methods in System Design 9, 1996), as Murphi and its successors
check them, and the same for what this language does in the order in which instances were made. Decided from the text:

* nothing that the system says names a member by itself;
* members begin alike, or with any value, and what refers to them in the beginning refers to all, none, or any;
* crash transitions of members, which follow one another, do not read what others have just changed;
* a property of runs asks nothing of one member alone, neither in a condition nor by fairness: on a run, members keep
  who they are; `recovers`, which compares worlds, is not asked.

References have no order in this language, `first` is of lists, and a channel ends at an instance that is the only one
of its machine. What is left is that loops visit members in the order in which they were made, that quantifiers stop at
the first one that decides, and that rounds follow the first one that can go on. There the order must make no
difference. A loop whose turns touch their own member alone passes as it is; any other is run in every order, from every
world that is expanded: see `search.lower.orders`. Where the order does make a difference the search begins anew with
the members told apart.
"""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl.dataclasses import dataclass, field
from fsmdsl.runs.independence import independent
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.search.symmetry.arrangements import MAX_ARRANGEMENTS, arrangements, division
from fsmdsl.search.symmetry.conditions import objection
from fsmdsl.search.symmetry.sets import SymmetricSet, symmetric_sets
from fsmdsl.step.universe import Universe

__all__ = ["Reduction", "SymmetricSet", "independent", "reducible"]


@dataclass(frozen=True, slots=True)
class Reduction:
    """The sets whose members are exchanged for one another, and why others are not."""

    ordered: tuple[SymmetricSet, ...] = ()
    """Brought into order member by member: what concerns one does not depend on how the others are called."""
    arranged: tuple[SymmetricSet, ...] = ()
    """Of these, all arrangements are compared."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """By name of the set."""

    @property
    def sets(self) -> tuple[SymmetricSet, ...]:
        """All that are reduced."""
        return tuple(sorted((*self.ordered, *self.arranged), key=lambda x: x.first))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(x.name for x in self.sets)

    def of_machine(self, machine: str) -> tuple[SymmetricSet, ...]:
        """The reduced sets of instances of a machine."""
        return tuple(x for x in self.sets if x.machine == machine)

    def notes(self) -> list[str]:
        """Why sets are not reduced, those with the same reason together."""
        by_reason: dict[str, list[str]] = {}
        for name, why in self.refused.items():
            by_reason.setdefault(why, []).append(name)
        return [f"not reduced by symmetry of {' and '.join(names)}: {why}" for why, names in by_reason.items()]


def reducible(universe: Universe, doubted: Mapping[str, str] | None = None, plan: Plan | None = None) -> Reduction:
    """What of a system can be reduced. `doubted`: sets that a search has found to be told apart, and how. `plan`: what
    temporal properties ask, if they are to be decided."""
    refused = dict(doubted or {})
    left: list[SymmetricSet] = []
    for x in symmetric_sets(universe):
        why = refused.get(x.name) or objection(universe, x, plan)
        if why is None:
            left.append(x)
        else:
            refused[x.name] = why
    ordered, arranged = division(universe, left)
    while arrangements(arranged) > MAX_ARRANGEMENTS:
        largest = max(arranged, key=lambda x: x.count)
        count = f"{arrangements(arranged):,} arrangements"
        refused[largest.name] = f"{count} would have to be compared in every state, more than {MAX_ARRANGEMENTS}"
        left.remove(largest)
        ordered, arranged = division(universe, left)
    return Reduction(tuple(ordered), tuple(arranged), refused)
