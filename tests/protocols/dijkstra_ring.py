"""Dijkstra: self-stabilizing systems, the solution with k-state machines, which are disturbed for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator

State = tuple[bool, tuple[int, ...]]
"""Do disturbances go on? The states of the machines."""


def start(size: int) -> State:
    """All alike."""
    return True, (0,) * size


def privileged(ring: tuple[int, ...], at: int) -> bool:
    """May a machine move?"""
    return (ring[at] == ring[at - 1]) is (at == 0)


def after(k: int) -> Callable[[State], Iterator[State]]:
    """The steps of a ring with k states."""

    def steps(state: State) -> Iterator[State]:
        disturbed, ring = state
        if disturbed:
            yield False, ring
        for at, own in enumerate(ring):
            new = [x for x in range(k) if x != own] if disturbed else []
            if privileged(ring, at):
                new.append((own + 1) % k if at == 0 else ring[at - 1])
            yield from ((disturbed, (*ring[:at], x, *ring[at + 1 :])) for x in new)

    return steps


def stabilises(size: int, k: int) -> bool:
    """Does every run without disturbances come to states with one privilege only, and stay there?

    Those that are left when states are taken away all of whose steps lead to good states, until none is, are those
    from which a run can avoid the good ones for ever.
    """
    next_of = after(k)
    left = {ring for _, ring in _rings(size, k)}
    good = {ring for ring in left if sum(privileged(ring, at) for at in range(size)) == 1}
    if any(x not in good for ring in good for _, x in next_of((False, ring))):
        return False
    sure = set(good)
    while True:
        more = {x for x in left - sure if (to := [y for _, y in next_of((False, x))]) and all(y in sure for y in to)}
        if not more:
            return sure == left
        sure |= more


def _rings(size: int, k: int) -> set[State]:
    found: set[State] = {start(size)}
    for _ in range(size):
        found |= {(True, (*ring[:at], x, *ring[at + 1 :])) for _, ring in found for at in range(size) for x in range(k)}
    return found
