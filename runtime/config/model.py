"""A configuration that has been read: chains of cell types, physical cells, virtual clusters."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod

from runtime.errors import Problem


@dataclass(frozen=True, slots=True)
class Chain:
    """One shape of tree, named after the type of its top cell. Levels count from 1, the leaf.

    All cells of a level have the same number of children, so the cells of a level are numbered in the order of the
    tree, and containment is arithmetic on levels and positions.
    """

    name: str
    types: tuple[str, ...]
    """By level; the first is not used, as levels count from 1."""
    fanout: tuple[int, ...]
    """Children of a cell, by level; none at level 1."""
    leaves: tuple[int, ...]
    """Leaf cells in a cell, by level."""
    node: int
    """The level at which a cell is a node."""

    @property
    def top(self) -> int:
        """The level of the top cells."""
        return len(self.types) - 1

    @property
    def leaf_type(self) -> str:
        """The type of device that the chain offers."""
        return self.types[1]

    def below(self, level: int, lower: int) -> int:
        """How many cells of a lower level a cell has."""
        return prod(self.fanout[lower + 1 : level + 1])


@dataclass(frozen=True, slots=True)
class CellSpec:
    """A physical cell as configured; without children, these are all as by default."""

    address: str = ""
    pinned: str = ""
    children: tuple[CellSpec, ...] = ()
    line: int | None = None


@dataclass(frozen=True, slots=True)
class ForestSpec:
    """A chain with its top cells, each with its place among all top cells of the configuration."""

    chain: Chain
    tops: tuple[tuple[int, CellSpec], ...]


@dataclass(frozen=True, slots=True)
class Quota:
    """A number of preassigned cells of one level of a chain."""

    chain: str
    level: int
    number: int


@dataclass(frozen=True, slots=True)
class TenantSpec:
    """A virtual cluster."""

    name: str
    quotas: tuple[Quota, ...]
    pinned: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Settings:
    """What does not concern cells."""

    kube_api_server: str = ""
    kube_config: str = ""
    web_server: str = "127.0.0.1:9096"
    force_bind_threshold: int = 3
    waiting_block_milliseconds: int = 0


@dataclass(frozen=True, slots=True)
class Configuration:
    """All of it, checked."""

    forests: dict[str, ForestSpec]
    tenants: dict[str, TenantSpec]
    settings: Settings
    notes: tuple[Problem, ...] = field(default=(), compare=False)
    """Harmless findings: unknown keys."""
