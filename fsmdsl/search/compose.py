"""Which search runs, and what it is put together from. The only place that says so.

A system whose states fit in words is searched by a `PackedSearch`, which has three parts (see `search.engine`): an
engine in plain Python to begin with, what hands over to the next engine (machine code, or, where `mpiexec` has started
several processes, one that all share), and a store, where the search is kept on a disk. Any other system is searched by
the definition of the language, and so is a very small one where the modules of a packed search are not loaded yet: that
takes longer.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING

from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.search_result import Searched
from fsmdsl.runs.verdicts.verdict import Keeping, Limits, Means, Progress
from fsmdsl.search.definition_search import Search
from fsmdsl.search.ranks.exchange import exchange
from fsmdsl.step import Universe
from fsmdsl.text.budget import Budget

if TYPE_CHECKING:
    from fsmdsl.search.packed_search import PackedSearch

SMALL = 20
"""Maximum number of states of a very small system."""

MAX_SMALL_INSTANCES = 10
"""Maximum number of instances of a very small system: with more, one state can take long."""

SMALL_SECONDS = 0.1
"""Seconds after which a system no longer counts as very small."""


def several() -> bool:
    """Do several processes search together?"""
    return exchange().size > 1


def run(
    universe: Universe,
    limits: Limits,
    means: Means,
    progress: Callable[[Progress], None] | None = None,
    plan: Plan | None = None,
    keeping: Keeping | None = None,
    budget: Budget | None = None,
) -> Searched:
    """Search as far as limits allow: packed, where the states fit in words. Raises `UnavailableError`, `SavedError`."""
    if keeping is None and _may_be_small(universe, limits, means):
        small = Search(universe, Limits(SMALL), None, plan, Budget(SMALL_SECONDS), counted=means.counted)
        small.run()
        if small.stopped is None:
            # Verdicts, which may take longer, have the time that was asked for.
            small.budget = budget or Budget(limits.seconds)
            return small
    from fsmdsl.search.shapes import UnpackableError

    try:
        return packed(universe, limits, means, progress, plan, keeping, budget)
    except UnpackableError as error:
        slow = Search(universe, limits, progress, plan, budget, counted=means.counted)
        slow.run()
        slow.note = f"explored by definition, slowly: {error}"
        return slow


def _may_be_small(universe: Universe, limits: Limits, means: Means) -> bool:
    """Is it worth a try to explore a system without a packed search?"""
    groups = universe.system.groups
    plain = means.compiled is None and not (means.symmetry and any(x.symmetric for x in groups))
    return (
        plain
        and not (_loaded() or several())
        and limits.states is None
        and len(universe.machines) <= MAX_SMALL_INSTANCES
    )


def _loaded() -> bool:
    """Are the modules of a packed search there?"""
    return "fsmdsl.search.packed_search" in sys.modules


def load() -> None:
    """Load what most searches need, once for all processes that are forked off."""
    for name in ("fsmdsl.search.packed_search", "fsmdsl.runs.verdicts.judge_runs"):
        import_module(name)


def packed(
    universe: Universe,
    limits: Limits,
    means: Means,
    progress: Callable[[Progress], None] | None = None,
    plan: Plan | None = None,
    keeping: Keeping | None = None,
    budget: Budget | None = None,
) -> PackedSearch:
    """A packed search. Where it comes up that members of a symmetric set are told apart, once more from the beginning,
    without reduction of that set. Raises `UnpackableError`, `UnavailableError`, `SavedError`."""
    from fsmdsl.program.cache import refusal
    from fsmdsl.search.packed_search import PackedSearch
    from fsmdsl.search.plain import Plain
    from fsmdsl.search.symmetry import Reduction, reducible

    budget = budget or Budget(limits.seconds)
    doubted = _refused_before(keeping, universe)
    while True:
        reduction = reducible(universe, doubted, plan) if means.symmetry else Reduction()
        search = PackedSearch(universe, limits, means, progress, plan, reduction, budget)
        if keeping is not None or several():
            _attach_store_and_ranks(search, keeping or Keeping(), means)
        search.run()
        if search.doubt is None:
            uncached = None if isinstance(search.engine, Plain) else refusal()
            search.note = "; ".join([*reduction.notes(), *(x for x in (search.note, uncached) if x)]) or None
            return search
        doubted |= dict.fromkeys(search.doubt.sets, search.doubt.why)
        # What was saved until now is of no use.
        keeping = keeping and keeping.again()


def _attach_store_and_ranks(search: PackedSearch, keeping: Keeping, means: Means) -> None:
    """Give a search the parts that most do without: a store, and the engine that several processes share."""
    from fsmdsl.search.checkpoint.write import Saver

    between = exchange()
    saver = search.store = Saver(keeping, search, between)
    if between.size > 1:
        from fsmdsl.search.ranks.process import Ranks

        search.engines = Ranks(search, between, saver)
    else:
        from fsmdsl.search.resumable import take_up

        take_up(search, saver, means)


def _refused_before(keeping: Keeping | None, universe: Universe) -> dict[str, str]:
    """Why sets were not reduced by the search that is gone on with."""
    if keeping is None or keeping.resume is None:
        return {}
    from fsmdsl.search.checkpoint.write import refused_before

    return dict(refused_before(keeping.resume, universe.system.qualified))
