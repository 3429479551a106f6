"""From classes of nodes to nodes: who sits where."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from runtime.cells.bits import first
from runtime.placement.packing import Class, pack


def seat(
    nodes: Mapping[Class, int],
    sizes: Sequence[int],
    better: Callable[[Class, int], tuple[int, ...]],
    filled: Callable[[Class, int], Class],
    shunned: int = 0,
) -> list[int] | None:
    """The node of each pod, for sets of nodes by class; none where the gang does not fit.

    Nodes that already have a pod of the gang come first within their class, then those first in the tree, so that a
    gang that needs several nodes has neighbours; shunned nodes come last.
    """
    classes = pack({c: bits.bit_count() for c, bits in nodes.items()}, sizes, better, filled)
    if classes is None:
        return None
    untouched = dict(nodes)
    begun: dict[Class, list[int]] = defaultdict(list)
    seats: list[int] = []
    for size, chosen in zip(sizes, classes, strict=True):
        if begun[chosen]:
            node = begun[chosen].pop()
        else:
            node = first(untouched[chosen] & ~shunned or untouched[chosen])
            untouched[chosen] ^= 1 << node
        begun[filled(chosen, size)].append(node)
        seats.append(node)
    return seats
