"""Chord without failures, figure 7 of its paper: nodes on a circle join, stabilise and notify."""

from __future__ import annotations

from collections.abc import Iterator

State = tuple[tuple[int | None, int | None], ...]
"""For each node its successor and its predecessor."""


def start(nodes: int) -> State:
    """Node 0 has created the ring."""
    return ((0, None), *(((None, None),) * (nodes - 1)))


def inside(x: int, low: int, high: int, nodes: int) -> bool:
    """Is x in the open interval (low, high) of the circle? That from a node to itself is all others."""
    return 0 < (x - low) % nodes < ((high - low) % nodes or nodes)


def after(state: State) -> Iterator[State]:
    """A node joins where it belongs, stabilises, or notifies its successor."""
    size = len(state)

    def with_(n: int, successor: int | None, predecessor: int | None) -> State:
        return (*state[:n], (successor, predecessor), *state[n + 1 :])

    for n, (successor, predecessor) in enumerate(state):
        if successor is None:
            for m, (following, _) in enumerate(state):
                if following is not None and inside(n, m, following, size):
                    yield with_(n, following, None)
            continue
        x = state[successor][1]
        yield with_(n, x if x is not None and inside(x, n, successor, size) else successor, predecessor)
        known = state[successor][1]
        believes = known is None or inside(n, known, successor, size)
        yield with_(successor, state[successor][0], n if believes else known)
