"""A gang on its way through a simulation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from runtime.simulate.scheduler import Placed
from runtime.simulate.workload import Request


class Stage(Enum):
    """How far a gang has come; as the outer scheduler sees it, not the allocator."""

    WAITING = "waiting"
    CLAIMING = "claiming"
    """It has reserved leaf cells, and waits for others to leave."""
    RUNNING = "running"
    LEAVING = "leaving"
    """It runs, but has been told to leave."""
    FINISHED = "finished"
    FAILED = "failed"
    REFUSED = "refused"
    """It can never run."""

    @property
    def has_leaf_cells(self) -> bool:
        """Whether it runs, even if it was told to leave."""
        return self in (Stage.RUNNING, Stage.LEAVING)

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self in (Stage.FINISHED, Stage.FAILED, Stage.REFUSED)


@dataclass(slots=True, eq=False)
class Job:
    """A gang in the simulation, and its progress. Times are seconds since the beginning, work is in device-seconds."""

    request: Request
    number: int
    """Among all gangs, in the order of submission."""
    stage: Stage = Stage.WAITING
    waiting_since: float = 0.0
    waited: float = 0.0
    """All its waits together, but for one that has not ended."""
    overtaken: int = 0
    """How many others went before it while it was the first of its queue."""
    first_started: float | None = None
    started: float = 0.0
    """The latest run."""
    ended: float | None = None
    progress: float = 0.0
    """Seconds of its work that are done and kept."""
    runs: int = 0
    preempted: int = 0
    lost: int = 0
    """How often a node failed under it."""
    used: float = 0.0
    """Device-seconds that it held leaf cells, runs that have ended."""
    wasted: float = 0.0
    """Of these, the work that it had to do again."""
    demoted: bool = False
    """It was preempted lazily: it went on without a guarantee."""
    placed: Placed | None = None
    victims: dict[Job, None] = field(default_factory=dict)
    """Those it waits for, while it claims their leaf cells."""
    claimants: dict[Job, None] = field(default_factory=dict)
    """Those that wait for it to leave."""
    reason: str = ""
    """Why it was refused."""

    @property
    def turn(self) -> tuple[float, ...]:
        """Who comes first in a queue: the stronger, then the older."""
        return (-self.request.priority, self.request.submitted, self.number)

    def __lt__(self, other: Job) -> bool:
        return self.turn < other.turn
