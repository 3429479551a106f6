"""Placement of opportunistic gangs: on unused physical cells, promised or not."""

from __future__ import annotations

from collections.abc import Sequence

from runtime.cells import ALL, FREE, GUARANTEED, Device, Forest, PhysicalCell
from runtime.placement.assignment import assign_nodes
from runtime.placement.candidate_nodes import CandidateNodes
from runtime.placement.leaves import for_pods
from runtime.placement.packing import Class


def place(forest: Forest, sizes: Sequence[int], candidates: CandidateNodes) -> list[tuple[Device, ...]] | None:
    """The leaf cells of each pod; sizes fall.

    Opportunistic gangs are packed among themselves, and away from guaranteed ones and from where those will
    come next.
    """
    pairs = forest.nodes.classes(GUARANTEED, ALL, candidates.nodes(forest))
    nodes = {(free, room): bits for (room, free), bits in pairs if free}
    assignments = assign_nodes(nodes, sizes, _better, _filled, forest.around, shunned=forest.bound_nodes)
    if assignments is None:
        return None

    def price(node: PhysicalCell) -> dict[Device, int]:
        return {device: 0 for device in node.devices() if device.priority == FREE}

    return for_pods(forest.levels[forest.chain.node], assignments, sizes, price)


def _better(node: Class, size: int) -> tuple[int, ...]:
    """Most opportunistic pods first, then fewest guaranteed ones. The room next to these is what is not theirs."""
    free, room = node
    return (free - room, -room)


def _filled(node: Class, size: int) -> Class:
    free, room = node
    return (free - size, room)
