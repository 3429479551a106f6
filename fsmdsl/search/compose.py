"""Which search runs, and what it is put together from. The only place that says so.

A system whose states fit in words is searched by a `PackedSearch`, which has three parts (see `search.engine`): an
engine in plain Python to begin with, what hands over to the next engine (machine code, or, where `mpiexec` has started
several processes, one that all share), and a store, where the search is kept on a disk. Any other system is searched by
the definition of the language.
"""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl.program.cache import refusal
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.search_result import Searched
from fsmdsl.runs.verdicts.verdict import Keeping, Limits, Means, Progress
from fsmdsl.search.definition_search import Search
from fsmdsl.search.packed_search import PackedSearch
from fsmdsl.search.plain import Plain
from fsmdsl.search.ranks.exchange import exchange
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.search.symmetry import Reduction, reducible
from fsmdsl.step import Universe
from fsmdsl.text.budget import Budget


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
    try:
        return packed(universe, limits, means, progress, plan, keeping, budget)
    except UnpackableError as error:
        slow = Search(universe, limits, progress, plan, budget)
        slow.run()
        slow.note = f"explored by definition, slowly: {error}"
        return slow


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
    budget = budget or Budget(limits.seconds)
    doubted = _refused_before(keeping, universe)
    while True:
        reduction = reducible(universe, doubted, plan) if means.symmetry else Reduction()
        made = PackedSearch(universe, limits, means, progress, plan, reduction, budget)
        if keeping is not None or several():
            _kept_or_shared(made, keeping or Keeping(), means)
        made.run()
        if made.doubt is None:
            uncached = None if isinstance(made.engine, Plain) else refusal()
            made.note = "; ".join([*reduction.notes(), *(x for x in (made.note, uncached) if x)]) or None
            return made
        doubted |= dict.fromkeys(made.doubt.sets, made.doubt.why)
        # What was saved until now is of no use.
        keeping = keeping and keeping.again()


def _kept_or_shared(made: PackedSearch, keeping: Keeping, means: Means) -> None:
    """Give a search the parts that most do without: a store, and the engine that several processes share."""
    from fsmdsl.search.checkpoint.write import Saver

    between = exchange()
    saver = made.store = Saver(keeping, made, between)
    if between.size > 1:
        from fsmdsl.search.ranks.process import Ranks

        made.engines = Ranks(made, between, saver)
    else:
        from fsmdsl.search.resumable import take_up

        take_up(made, saver, means)


def _refused_before(keeping: Keeping | None, universe: Universe) -> dict[str, str]:
    """Why sets were not reduced by the search that is gone on with."""
    if keeping is None or keeping.resume is None:
        return {}
    from fsmdsl.search.checkpoint.write import refused_before

    return dict(refused_before(keeping.resume, universe.system.qualified))
