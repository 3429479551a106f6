"""Which of two transitions `priority` puts first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

from fsmdsl import model as m
from fsmdsl.core.guards import conjuncts
from fsmdsl.core.triggers import trigger_name

Pair = tuple[m.Transition, m.Transition]


def names(t: m.Transition) -> frozenset[str]:
    """By what a chain of `priority` can name a transition: its event, its label, derived values its guard asks for."""
    found = {trigger_name(t.trigger), t.label, *(x.name for x in conjuncts(t.guard) if isinstance(x, m.Derived))}
    return frozenset(x for x in found if x)


class Priority:
    """The chains of one machine, as an order of its transitions.

    Not always a strict one: two chains may contradict each other, and then each of some transitions gives way to
    another (`circular`).
    """

    def __init__(self, machine: m.Machine) -> None:
        self.machine = machine

    @cached_property
    def _places(self) -> tuple[tuple[int | None, ...], ...]:
        """The place of each transition in each chain: the best of its names, or that of `*`; None where it has none."""
        chains = self.machine.priority
        return tuple(tuple(_place(chain, names(t)) for chain in chains) for t in self.machine.transitions)

    def before(self, a: m.Transition, b: m.Transition) -> bool:
        """Does the first go before the second, in some chain? Takes time in proportion to the chains."""
        if not self.machine.priority:
            return False
        pairs = zip(self._places[a.index], self._places[b.index], strict=True)
        return any(x is not None and y is not None and x < y for x, y in pairs)

    def ranked(self, a: m.Transition, b: m.Transition) -> bool:
        """Does one of the two go before the other?"""
        return self.before(a, b) or self.before(b, a)

    def unranked(self, among: Sequence[m.Transition]) -> Iterator[Pair]:
        """The pairs of which neither goes before the other, in the order of the text."""
        return ((a, b) for a, b in combinations(among, 2) if not self.ranked(a, b))

    def best_first(self, among: Sequence[m.Transition]) -> tuple[m.Transition, ...]:
        """In the order of the text, but none before one that goes before it, as far as the chains agree."""
        if not self.machine.priority:
            return tuple(among)
        left, found = list(among), list[m.Transition]()
        while left:
            first = next((t for t in left if not any(self.before(u, t) for u in left)), left[0])
            left.remove(first)
            found.append(first)
        return tuple(found)

    def circular(self, among: Sequence[m.Transition]) -> bool:
        """Do chains contradict one another, so that of some of these each gives way to another of them?"""
        left = list(among)
        while best := [t for t in left if not any(self.before(u, t) for u in left)]:
            left = [t for t in left if t not in best]
        return bool(left)


def _place(chain: tuple[str, ...], known: frozenset[str]) -> int | None:
    return next((i for i, n in enumerate(chain) if n in known), chain.index("*") if "*" in chain else None)
