"""Compares what the simulation believes with what the allocator says. For tests, and for `--check`."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from runtime.errors import SafetyBrokenError
from runtime.simulate.job import Stage
from runtime.simulate.observe import ClusterFace, Event
from runtime.simulate.quotas import promised

if TYPE_CHECKING:
    from runtime.simulate.engine import Simulation

MOMENTS = 200
"""Approximate number of moments of a run that are checked."""


class Checking:
    """An observer that looks at all leaf cells now and then, and raises `SafetyBrokenError` if something is wrong:

    * every leaf cell that a gang has is one that the simulation gave it, on the same node, and no other;
    * no virtual cluster uses more guaranteed leaf cells than it is promised, but for gangs that lost their guarantee;
    * free leaf cells by node are what the books say, and so are healthy ones;
    * gangs that wait have none.
    """

    def __init__(self, simulation: Simulation, moments: int = MOMENTS) -> None:
        self.simulation = simulation
        self.step = max(1, 2 * len(simulation.jobs) // moments)
        self.comparisons = 0
        self._moment = 0

    def begin(self, cluster: ClusterFace, capacity: int) -> None:
        """All is free."""
        self.cluster = cluster
        self.compare()

    def advance(self, to: float) -> None:
        """The present moment is over: everything must fit together."""
        self._moment += 1
        if self._moment % self.step == 0:
            self.compare()

    def event(self, event: Event) -> None:
        """In the middle of a moment, nothing needs to fit."""

    def end(self, time: float) -> None:
        """At last."""
        self.compare()

    def compare(self) -> None:
        """Compares."""
        self.comparisons += 1
        expected: Counter[tuple[str, str, str]] = Counter()
        for job in self.simulation.jobs:
            if job.stage.has_leaf_cells:
                assert job.placed is not None, "it runs"
                for node, devices in job.placed.pods:
                    expected[job.request.gang, job.placed.chain, node] += devices
        actual: Counter[tuple[str, str, str]] = Counter()
        free = healthy = 0
        for cell in self.cluster.leaf_cells():
            healthy += cell.healthy
            if cell.owner is not None:
                actual[cell.owner, cell.chain, cell.node] += 1
            else:
                free += cell.healthy
        rooms = self.simulation.accounts.rooms
        _same("leaf cells of gangs", actual, expected)
        _same("free leaf cells", free, rooms.free())
        _same("healthy leaf cells", healthy, rooms.healthy())
        self._promises()
        _same("gangs that wait", self.simulation.waiting, _waiting(self.simulation))

    def _promises(self) -> None:
        used: Counter[str] = Counter()
        for job in self.simulation.jobs:
            request = job.request
            if job.stage.has_leaf_cells and request.guaranteed and not request.lazy_preemption:
                used[request.tenant] += request.devices
        for tenant, devices in used.items():
            most = promised(self.simulation.configuration, tenant)
            if devices > most:
                raise SafetyBrokenError(f"{tenant} uses {devices} leaf cells with a guarantee, but is promised {most}")


def _waiting(simulation: Simulation) -> int:
    """Gangs come in the order in which they are numbered."""
    stages = (Stage.WAITING, Stage.CLAIMING)
    return sum(job.stage in stages for job in simulation.jobs[: simulation.came])


def _same(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise SafetyBrokenError(f"{what}: the allocator has {actual}, the simulation {expected}")
