"""Whether the physical cells can serve what the virtual clusters are promised."""

from __future__ import annotations

from collections.abc import Iterable

from runtime.config.model import ForestSpec, TenantSpec
from runtime.config.physical import pins
from runtime.config.reader import Reader
from runtime.config.source import Value


def check_quota(reader: Reader, value: Value, forests: dict[str, ForestSpec], tenants: dict[str, TenantSpec]) -> None:
    """Counts cells from the top of each chain down: what a level is promised is split no further."""
    for name, spec in forests.items():
        chain = spec.chain
        demand = promised(spec, tenants.values())
        available = len(spec.tops)
        for level in range(chain.top, 0, -1):
            if demand[level] > available:
                owners = ", ".join(t.name for t in tenants.values() if promised(spec, [t])[level])
                reader.wrong(
                    "virtualClusters",
                    value,
                    f"{demand[level]} cells of type {chain.types[level]} of chain {name} are promised to {owners}, "
                    f"but there are {available} after all larger ones",
                    "lower a cellNumber, or add physical cells",
                )
                break
            available = (available - demand[level]) * chain.fanout[level]


def promised(spec: ForestSpec, tenants: Iterable[TenantSpec]) -> list[int]:
    """How many cells of each level of a chain are promised, pinned ones included."""
    counts = [0] * (spec.chain.top + 1)
    levels = {name: level for name, level, _ in pins(spec)}
    for tenant in tenants:
        for quota in tenant.quotas:
            if quota.chain == spec.chain.name:
                counts[quota.level] += quota.number
        for pin in tenant.pinned:
            if pin in levels:
                counts[levels[pin]] += 1
    return counts
