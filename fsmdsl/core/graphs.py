"""What is reached in a graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

N = TypeVar("N", bound=Hashable)


def reachable(starts: Iterable[N], after: Callable[[N], Iterable[N]]) -> set[N]:
    """The starts and all that they lead to. Takes time in proportion to the nodes and edges that are reached."""
    reached: set[N] = set()
    waiting = list(starts)
    while waiting:
        at = waiting.pop()
        if at not in reached:
            reached.add(at)
            waiting.extend(after(at))
    return reached
