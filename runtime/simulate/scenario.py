"""All that decides a run, and the simulation made from it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from runtime.allocator import Allocator
from runtime.config import Configuration, read_configuration
from runtime.durable import DurableAllocator
from runtime.errors import UserError
from runtime.images import digest
from runtime.simulate.engine import Clock, Rules, Simulation
from runtime.simulate.figures import Figures
from runtime.simulate.full import FullLife
from runtime.simulate.generate import generate, read_recipe
from runtime.simulate.outages import Outage, make_outages, read_outages
from runtime.simulate.rooms import Rooms
from runtime.simulate.scheduler import GangScheduler, PodByPod
from runtime.simulate.trace import read_trace
from runtime.simulate.workload import Request, check


@dataclass(frozen=True, slots=True)
class Scenario:
    """What to simulate. Exactly one of `workload` and `recipe` is given."""

    config: Path
    workload: Path | None = None
    """A trace."""
    recipe: str | None = None
    """Settings of the generator."""
    outages: str = ""
    """A file, or settings as in `every=90d repair=4h`; empty: no node fails."""
    seed: int = 1
    rules: Rules = field(default_factory=Rules)
    every: float | None = None
    """Seconds of an interval of the time series; none: by the length of the workload."""
    journal: Path | None = None
    """The file of the journal of a `DurableAllocator`; none: an `Allocator`."""
    full_life: bool = False
    """Whether gangs go through all machines of the documents, not those of cells and gangs alone."""

    def simulation(self) -> Simulation:
        """Reads and makes everything. Raises `UserError` with all that is wrong."""
        configuration = read_configuration(self.config)
        requests = self.requests(configuration)
        check(requests, configuration)
        outages = self._outages(configuration, requests)
        clock = Clock()
        scheduler = self._scheduler(configuration, clock)
        return Simulation(configuration, scheduler, clock, requests, outages, self.rules, self.every)

    def _scheduler(self, configuration: Configuration, clock: Clock) -> GangScheduler:
        if self.full_life and self.journal is not None:
            raise UserError("--full-life cannot be combined with --journal")
        if self.full_life:
            return FullLife(Allocator(configuration, clock), clock)
        if self.journal is None:
            return PodByPod(Allocator(configuration, clock))
        if self.journal.exists():
            raise UserError(f"the journal {self.journal} already exists: a simulation begins with an empty cluster")
        return PodByPod(DurableAllocator.open(self.config, self.journal, clock))

    def requests(self, configuration: Configuration) -> list[Request]:
        """The workload."""
        if self.workload is not None:
            return read_trace(self.workload)
        return generate(read_recipe(self.recipe or ""), configuration, self.seed)

    def _outages(self, configuration: Configuration, requests: list[Request]) -> list[Outage]:
        if not self.outages:
            return []
        nodes = Rooms(configuration).nodes
        if "=" in self.outages:
            span = max((request.submitted for request in requests), default=0.0)
            return make_outages(self.outages, nodes, span, self.seed)
        return read_outages(Path(self.outages), nodes)

    def settings(self, configuration: Configuration) -> Figures:
        """What to write down with the results."""
        generated = "=" in self.outages
        return {
            "configuration": digest(configuration)[:16],
            "seed": self.seed if self.recipe is not None or generated else None,
            "generate": self.recipe,
            "outages": self.outages if generated else ("file" if self.outages else None),
            "scheduler": "full life" if self.full_life else "memory" if self.journal is None else "journal",
        }
