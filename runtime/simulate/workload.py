"""What is asked of a cluster: gangs, each with the time when it comes and the time that it needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from runtime.config import Configuration
from runtime.errors import UserError
from runtime.pods import OPPORTUNISTIC, GangSpec, Member, PodSpec


@dataclass(frozen=True)
class Request:
    """A gang as submitted."""

    gang: str
    tenant: str
    """The virtual cluster."""
    submitted: float
    """Seconds since the beginning."""
    duration: float
    """Seconds that it runs without interruption."""
    members: tuple[Member, ...]
    priority: int = 0
    leaf_type: str = ""
    pinned_cell: str = ""
    lazy_preemption: bool = False
    failed: bool = False
    """It ends with an error of its own, after `duration`."""

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Leaf cells of each pod, falling."""
        return tuple(sorted((m.leaf_cells for m in self.members for _ in range(m.pods)), reverse=True))

    @cached_property
    def devices(self) -> int:
        """Leaf cells of all pods."""
        return sum(self.sizes)

    @property
    def guaranteed(self) -> bool:
        """Whether it counts against what its virtual cluster is promised."""
        return self.priority != OPPORTUNISTIC

    @property
    def kind(self) -> str:
        """As figures name it."""
        return "guaranteed" if self.guaranteed else "opportunistic"

    @cached_property
    def specs(self) -> tuple[PodSpec, ...]:
        """What each pod asks for; members in the order in which they are written."""
        gang = GangSpec(self.gang, self.members)
        return tuple(
            PodSpec(
                self.tenant,
                self.priority,
                member.leaf_cells,
                gang,
                self.leaf_type,
                self.pinned_cell,
                self.lazy_preemption,
            )
            for member in self.members
            for _ in range(member.pods)
        )


class WorkloadError(UserError):
    """All that is wrong in a workload."""

    MAX_PROBLEMS = 50
    """How many to print."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(self.lines))

    @property
    def lines(self) -> tuple[str, ...]:
        more = len(self.problems) - self.MAX_PROBLEMS
        return (*self.problems[: self.MAX_PROBLEMS], *([f"and {more} more like these"] if more > 0 else []))


def suggestion(word: str, candidates: Iterable[str]) -> str:
    """A suggestion of what was meant, as the end of a sentence."""
    candidates = sorted(candidates)
    close = get_close_matches(word, candidates, n=1, cutoff=0.6)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; there are {', '.join(candidates[:12])}{', …' if len(candidates) > 12 else ''}" if candidates else ""


def check(requests: Iterable[Request], configuration: Configuration) -> None:
    """Refuses a workload whose tenants or leaf cell types are not those of the configuration, all at once."""
    tenants = configuration.tenants
    types = {forest.chain.leaf_type for forest in configuration.forests.values()}
    strangers: dict[tuple[str, str], int] = {}
    for request in requests:
        if request.tenant not in tenants:
            strangers["virtual cluster", request.tenant] = strangers.get(("virtual cluster", request.tenant), 0) + 1
        elif request.pinned_cell and request.pinned_cell not in tenants[request.tenant].pinned:
            key = (f"pinned cell of {request.tenant}", request.pinned_cell)
            strangers[key] = strangers.get(key, 0) + 1
        if request.leaf_type and request.leaf_type not in types:
            strangers["leaf cell type", request.leaf_type] = strangers.get(("leaf cell type", request.leaf_type), 0) + 1
    candidates = {"virtual cluster": tenants.keys(), "leaf cell type": types}
    problems = [
        f"{number} gang{'s' if number > 1 else ''} of {what} {name!r}, which is not configured"
        f"{suggestion(name, candidates.get(what, ()))}"
        for (what, name), number in strangers.items()
    ]
    if problems:
        raise WorkloadError(problems)
