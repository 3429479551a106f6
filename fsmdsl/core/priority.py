"""Which of two transitions `priority` puts first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

from fsmdsl import model as m
from fsmdsl.core.graphs import reachable
from fsmdsl.core.guards import conjuncts
from fsmdsl.core.triggers import trigger_name

Pair = tuple[m.Transition, m.Transition]


def names(t: m.Transition) -> frozenset[str]:
    """By what a chain of `priority` can name a transition: its event, its labels, derived values its guard asks for."""
    candidates = {trigger_name(t.trigger), *t.labels, *(x.name for x in conjuncts(t.guard) if isinstance(x, m.Derived))}
    return frozenset(x for x in candidates if x)


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

    def before_in(self, a: m.Transition, b: m.Transition) -> tuple[int, int]:
        """Of two transitions, the first of which goes before the second: the first chain that says so, and the place of
        the first transition in it."""
        pairs = zip(self._places[a.index], self._places[b.index], strict=True)
        return next((n, x) for n, (x, y) in enumerate(pairs) if x is not None and y is not None and x < y)

    def ranked(self, a: m.Transition, b: m.Transition) -> bool:
        """Does one of the two go before the other?"""
        return self.before(a, b) or self.before(b, a)

    def unranked(self, among: Sequence[m.Transition]) -> Iterator[Pair]:
        """The pairs of which neither goes before the other, in the order of the text."""
        return ((a, b) for a, b in combinations(among, 2) if not self.ranked(a, b))

    def contradictory(self, among: Sequence[m.Transition]) -> Iterator[Pair]:
        """The pairs of which each goes before the other, directly or by way of others, in the order of the text."""
        circular = self.circular(among)
        after = {t.index: [u.index for u in circular if self.before(t, u)] for t in circular}
        behind = {n: reachable(after[n], after.__getitem__) for n in after}
        return (
            (a, b) for a, b in combinations(circular, 2) if b.index in behind[a.index] and a.index in behind[b.index]
        )

    def best_first(self, among: Sequence[m.Transition]) -> tuple[m.Transition, ...]:
        """In the order of the text, but none before one that goes before it, as far as the chains agree."""
        if not self.machine.priority:
            return tuple(among)
        left, ordered = list(among), list[m.Transition]()
        while left:
            first = next((t for t in left if not any(self.before(u, t) for u in left)), left[0])
            left.remove(first)
            ordered.append(first)
        return tuple(ordered)

    def circular(self, among: Sequence[m.Transition]) -> tuple[m.Transition, ...]:
        """The transitions of which each gives way to another of them, because chains contradict one another. All that
        give way to none of these are left out. Where one of these is enabled and all enabled ones give way to others,
        that is the fault `overlap`."""
        left = tuple(among) if len(self.machine.priority) > 1 else ()
        while len(beaten := tuple(t for t in left if any(self.before(u, t) for u in left))) < len(left):
            left = beaten
        return left


def _place(chain: tuple[str, ...], names_of: frozenset[str]) -> int | None:
    return next((i for i, n in enumerate(chain) if n in names_of), chain.index("*") if "*" in chain else None)
