"""What an affinity group stands for."""

from __future__ import annotations

from dataclasses import dataclass

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class CliqueSpec:
    """Pods of a gang that are alike. All of them must run."""

    name: str
    pods: int
    leaf_cells: int
    """For each pod."""


@dataclass(frozen=True, slots=True)
class ApplicationSpec:
    """An application of one gang."""

    name: str
    queue: str
    """A virtual cluster."""
    cliques: tuple[CliqueSpec, ...]
    priority: int
    """-1: opportunistic; 0 to 1000: guaranteed."""
    termination_delay: float
    """For how many seconds a clique may run below its minimum before the whole gang is torn down and made anew."""
