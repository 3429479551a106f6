"""Who searches: this process alone, this process with a folder to keep the search in, or all ranks together."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from fsmdsl.budget import Budget
from fsmdsl.explore.liveness import Plan
from fsmdsl.explore.packed import reduced
from fsmdsl.explore.packed.ranks.exchange import exchange
from fsmdsl.explore.packed.search import PackedSearch
from fsmdsl.explore.symmetry import Reduction
from fsmdsl.explore.verdict import Keeping, Limits, Means, Progress
from fsmdsl.step import Universe


def several() -> bool:
    """Do several processes search together?"""
    return exchange().size > 1


def search(
    universe: Universe,
    limits: Limits,
    means: Means,
    progress: Callable[[Progress], None] | None,
    plan: Plan | None,
    keeping: Keeping | None,
    budget: Budget,
) -> PackedSearch:
    """See `reduced.search`. Raises `UnpackableError`, `UnavailableError`, and `SavedError`."""
    between, attempts = exchange(), count()
    if between.size == 1 and keeping is None:
        return reduced.search(universe, limits, means, progress, plan, budget=budget)
    # Most searches do without these.
    from fsmdsl.explore.packed.checkpoint.write import refused_before
    from fsmdsl.explore.packed.ranks.process import RanksSearch
    from fsmdsl.explore.packed.resumable import KeptSearch

    def make(
        universe: Universe,
        limits: Limits,
        means: Means,
        progress: Callable[[Progress], None] | None,
        plan: Plan | None,
        reduction: Reduction,
        budget: Budget,
    ) -> PackedSearch:
        kept = keeping or Keeping()
        if next(attempts):
            # What the attempts before have saved is of no use.
            kept = kept.again()
        if between.size > 1:
            return RanksSearch(universe, limits, means, progress, plan, reduction, between, kept, budget)
        return KeptSearch(universe, limits, means, progress, plan, reduction, kept, budget)

    resumed = None if keeping is None else keeping.resume
    before = {} if resumed is None else refused_before(resumed, universe.system.qualified)
    return reduced.search(universe, limits, means, progress, plan, make, before, budget)
