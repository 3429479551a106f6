"""Maximum bipartite matching by augmenting paths: a pairing is found whenever one exists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

Left = TypeVar("Left")
Right = TypeVar("Right")


def match(lefts: Sequence[Left], rights: Sequence[Right], fits: Callable[[Left, Right], bool]) -> list[int | None]:
    """For each left one the index of its right one, or none; as many are paired as possible.

    Right ones that come first are preferred. Linear in pairs where everything fits, cubic at worst.
    """
    partner: list[int | None] = [None] * len(rights)
    edges: dict[tuple[int, int], bool] = {}

    def edge(left: int, right: int) -> bool:
        if (left, right) not in edges:
            edges[left, right] = fits(lefts[left], rights[right])
        return edges[left, right]

    def augment(left: int, tried: set[int]) -> bool:
        for right in range(len(rights)):
            if partner[right] is None and right not in tried and edge(left, right):
                partner[right] = left
                return True
        for right, other in enumerate(partner):
            if other is None or right in tried or not edge(left, right):
                continue
            tried.add(right)
            if augment(other, tried):
                partner[right] = left
                return True
        return False

    for left in range(len(lefts)):
        augment(left, set())
    matches: list[int | None] = [None] * len(lefts)
    for right, owner in enumerate(partner):
        if owner is not None:
            matches[owner] = right
    return matches
