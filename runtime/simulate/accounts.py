"""The books of a simulation: leaf cells in use by virtual cluster, free ones by node, what was preempted and lost."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from runtime.config import Configuration
from runtime.simulate.job import Job
from runtime.simulate.ledger import Ledger, Level, width_for
from runtime.simulate.quotas import capacity
from runtime.simulate.rooms import Rooms

GANGS = (2, 4, 8, 16, 32, 64, 128)
"""Numbers of devices for which fragmentation is measured."""


def used_level(tenant: str, *, guaranteed: bool) -> str:
    """The name of the level of leaf cells in use."""
    return f"{'guaranteed' if guaranteed else 'opportunistic'} {tenant}"


class Accounts:
    """Is told what happens, by the engine."""

    def __init__(
        self, configuration: Configuration, jobs: Sequence[Job], waiting: Callable[[], int], width: float | None
    ) -> None:
        self.capacity = capacity(configuration)
        self.rooms = Rooms(configuration)
        span = max((job.request.submitted for job in jobs), default=0.0)
        self.ledger = Ledger(width or width_for(span), cut=span)
        self._levels: dict[tuple[str, bool], Level] = {}
        self._over = 0
        tenants = dict.fromkeys([*configuration.tenants, *sorted({job.request.tenant for job in jobs})])
        for guaranteed in (True, False):
            for tenant in tenants:
                level = self.ledger.level(used_level(tenant, guaranteed=guaranteed))
                self._levels[tenant, guaranteed] = level
        self._healthy = self.ledger.level("capacity", self.rooms.healthy())
        node, most = max(self.rooms.sizes.values(), default=1), self.rooms.largest()
        self.gangs = [n for n in GANGS if n <= most and (n <= node or n % node == 0)]
        self.ledger.sample("waiting", waiting)
        self.ledger.sample("free", self.rooms.free)
        for devices in self.gangs:
            self.ledger.sample(f"stranded {devices}", lambda n=devices: self.rooms.stranded(n))  # type: ignore[misc]

    def started(self, job: Job, time: float) -> None:
        """A gang has its leaf cells."""
        self._move(job, time, 1)

    def stopped(self, job: Job, time: float) -> None:
        """Its leaf cells are free."""
        self._move(job, time, -1)
        job.used += job.request.devices * (time - job.started)

    def _move(self, job: Job, time: float, by: int) -> None:
        assert job.placed is not None, "it runs"
        for node, devices in job.placed.pods:
            self.rooms.change(job.placed.chain, node, -by * devices)
        self._levels[job.request.tenant, job.request.guaranteed].change(time, by * job.request.devices)

    def interrupted(self, job: Job, again: float, why: str) -> None:
        """A gang was displaced or lost; `again` is the number of seconds of its work that it has to redo."""
        work = again * job.request.devices
        job.wasted += work
        self.ledger.count(f"{why} {job.request.kind}")
        self.ledger.count("wasted", work)

    def ended(self, job: Job, time: float) -> None:
        """A gang does not come back."""
        job.ended = time
        self._over += 1

    def take_over(self) -> int:
        """How many gangs have ended since this was asked last."""
        over, self._over = self._over, 0
        return over

    def node(self, node: str, time: float, *, healthy: bool) -> None:
        """A node fails, or is repaired."""
        self.rooms.set_health(node, healthy=healthy)
        self._healthy.change(time, self.rooms.healthy() - self._healthy.value)

    def opportunistic(self, tenant: str) -> float:
        """Leaf cells that a virtual cluster uses without a guarantee."""
        return self._levels[tenant, False].value
