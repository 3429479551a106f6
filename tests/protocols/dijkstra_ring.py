"""Dijkstra: self-stabilizing systems, the solution with k-state machines, which begin in any state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

Ring = tuple[int, ...]
"""The states of the machines."""


def starts(size: int, k: int) -> tuple[Ring, ...]:
    """Whatever the machines are in."""
    return tuple(product(range(k), repeat=size))


def privileged(ring: Ring, at: int) -> bool:
    """May a machine move?"""
    return (ring[at] == ring[at - 1]) is (at == 0)


def after(k: int) -> Callable[[Ring], Iterator[Ring]]:
    """The steps of a ring with k states."""

    def steps(ring: Ring) -> Iterator[Ring]:
        for at, own in enumerate(ring):
            if privileged(ring, at):
                yield (*ring[:at], (own + 1) % k if at == 0 else ring[at - 1], *ring[at + 1 :])

    return steps


def stabilises(size: int, k: int) -> bool:
    """Does every run come to states with one privilege only, and stay there?

    Those that are left when states are taken away all of whose steps lead to good states, until none is, are those
    from which a run can avoid the good ones for ever.
    """
    next_of, left = after(k), set(starts(size, k))
    good = {ring for ring in left if sum(privileged(ring, at) for at in range(size)) == 1}
    if any(x not in good for ring in good for x in next_of(ring)):
        return False
    sure = set(good)
    while True:
        more = {x for x in left - sure if (to := list(next_of(x))) and all(y in sure for y in to)}
        if not more:
            return sure == left
        sure |= more
