"""A packed search that counts worlds once which differ only in which member of a symmetric set is which."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from fsmdsl.budget import Budget
from fsmdsl.explore.liveness import Plan
from fsmdsl.explore.packed.plain import Plain
from fsmdsl.explore.packed.search import PackedSearch
from fsmdsl.explore.program.cache import refusal
from fsmdsl.explore.symmetry import Reduction, reducible
from fsmdsl.explore.verdict import Limits, Means, Progress
from fsmdsl.step import Universe


def search(
    universe: Universe,
    limits: Limits,
    means: Means,
    progress: Callable[[Progress], None] | None = None,
    plan: Plan | None = None,
    make: Callable[..., PackedSearch] = PackedSearch,
    refused: Mapping[str, str] | None = None,
    budget: Budget | None = None,
) -> PackedSearch:
    """Search as far as limits allow. Where it comes up that members of a set are told apart, once more from the
    beginning, without reduction of that set. `refused`: sets that are not to be reduced. Raises `UnpackableError`."""
    budget = budget or Budget(limits.seconds)
    doubted: dict[str, str] = dict(refused or {})
    while True:
        reduction = reducible(universe, doubted, plan) if means.symmetry else Reduction()
        packed = make(universe, limits, means, progress, plan, reduction, budget)
        packed.run()
        if packed.doubt is None:
            uncached = None if isinstance(packed.engine, Plain) else refusal()
            notes = [*reduction.notes(), *(x for x in (packed.note, uncached) if x)]
            packed.note = "; ".join(notes) or None
            return packed
        doubted |= dict.fromkeys(packed.doubt.sets, packed.doubt.why)
