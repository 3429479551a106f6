"""What users submit, and what holds for all of it."""

from __future__ import annotations

from dataclasses import dataclass

from runtime.errors import UserError

HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class CliqueSpec:
    """Pods of a gang that are alike."""

    name: str
    pods: int
    leaf_cells: int = 1
    """For each pod."""
    minimum: int | None = None
    """How many of them must run; the others are best effort. None: all must."""

    @property
    def must(self) -> int:
        """How many of them must run."""
        return self.pods if self.minimum is None else self.minimum


@dataclass(frozen=True, slots=True)
class ApplicationSpec:
    """An application of one gang."""

    name: str
    queue: str
    """A virtual cluster."""
    cliques: tuple[CliqueSpec, ...]
    priority: int = 0
    """-1: opportunistic; 0 to 1000: guaranteed."""
    termination_delay: float = 4 * HOUR
    """For how many seconds a clique may run below its minimum before the whole gang is torn down and made anew."""
    failures: int = 10
    """How many of its pods may fail before the application fails."""
    leaf_type: str = ""
    pinned_cell: str = ""
    lazy_preemption: bool = False

    def check(self) -> None:
        """Refuses what cannot be meant, whatever the cluster."""
        if not self.name or "/" in self.name:
            raise UserError(f"an application needs a name without slashes, not {self.name!r}")
        if not self.cliques:
            raise UserError(f"application {self.name} has no cliques")
        names = [clique.name for clique in self.cliques]
        if len(set(names)) < len(names):
            raise UserError(f"application {self.name} has two cliques of one name: {', '.join(names)}")
        for clique in self.cliques:
            if clique.pods < 1 or clique.leaf_cells < 1:
                raise UserError(f"clique {clique.name} of {self.name}: pods and leaf cells must be positive: {clique}")
            if not 1 <= clique.must <= clique.pods:
                raise UserError(f"clique {clique.name} of {self.name}: 1 to {clique.pods} must run, not {clique.must}")
        if self.termination_delay <= 0:
            raise UserError(f"application {self.name}: the termination delay must be longer than nothing")
        if self.failures < 0:
            raise UserError(f"application {self.name}: a number of failures cannot be negative")


@dataclass(frozen=True, slots=True)
class Settings:
    """How patient the scheduler is. Times are in seconds."""

    prompt: bool = False
    """Pods are deployed and started at once, and nobody is ordered to do anything: for simulations. Of pods that are
    told to go, `pod_gone` says that they are gone, as ever."""
    look_ahead: int = 32
    """How many waiting applications of a queue are tried in a cycle, in their order; those behind them are not."""
    attempts: int = 5
    """How often in a row a step of bringing up a pod may fail, before the pod counts as failed."""
    first_retry: float = 10.0
    """After the first failure. Each further one in a row doubles it."""
    last_retry: float = 300.0
    """The longest that a retry is put off."""
    stable: float = 600.0
    """A pod that has run for so long begins to count its failures anew."""

    def retry(self, failures: int) -> float:
        """How long to wait after so many failures in a row."""
        return min(self.first_retry * 2.0 ** (failures - 1), self.last_retry)
