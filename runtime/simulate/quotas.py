"""How many leaf cells there are, and how many of them each virtual cluster is promised."""

from __future__ import annotations

from runtime.config import Configuration
from runtime.config.model import CellSpec, ForestSpec


def capacity(configuration: Configuration) -> int:
    """Leaf cells of all chains."""
    return sum(len(f.tops) * f.chain.leaves[f.chain.top] for f in configuration.forests.values())


def quota(configuration: Configuration, tenant: str) -> dict[str, int]:
    """By chain: the leaf cells that a virtual cluster is promised, pinned cells left out; none where there are none."""
    by_chain: dict[str, int] = {}
    for promise in configuration.tenants[tenant].quotas:
        leaves = configuration.forests[promise.chain].chain.leaves[promise.level] * promise.number
        if leaves:
            by_chain[promise.chain] = by_chain.get(promise.chain, 0) + leaves
    return by_chain


def promised(configuration: Configuration, tenant: str) -> int:
    """All leaf cells that a virtual cluster is promised, pinned ones included."""
    pins = set(configuration.tenants[tenant].pinned)
    pinned = sum(_pinned(forest, pins) for forest in configuration.forests.values()) if pins else 0
    return sum(quota(configuration, tenant).values()) + pinned


def _pinned(forest: ForestSpec, pins: set[str]) -> int:
    def count(cell: CellSpec, level: int) -> int:
        if cell.pinned in pins:
            return forest.chain.leaves[level]
        return sum(count(child, level - 1) for child in cell.children)

    return sum(count(cell, forest.chain.top) for _, cell in forest.tops)
