"""What must be decided by running every state: exploration of systems, and scenarios."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from fsmdsl import model as m
from fsmdsl.explore.judge import coverage, judge
from fsmdsl.explore.liveness import questions
from fsmdsl.explore.packed.select_engine import search as packed_search
from fsmdsl.explore.packed.shapes import UnpackableError
from fsmdsl.explore.rules import RULES as _EXPLORATION_RULES
from fsmdsl.explore.rules import diagnostics
from fsmdsl.explore.scenario import RULES as _SCENARIO_RULES
from fsmdsl.explore.scenario import Played, play
from fsmdsl.explore.search import Search
from fsmdsl.explore.search_result import Searched
from fsmdsl.explore.trace import Entry, Trace, data, lines
from fsmdsl.explore.verdict import (
    Coverage,
    Exploration,
    Keeping,
    Limits,
    Means,
    Outcome,
    Progress,
    Verdict,
    VerdictKind,
)
from fsmdsl.step import Universe

__all__ = [
    "RULES", "Coverage", "Entry", "Exploration", "Keeping", "Limits", "Means", "Outcome", "Played", "Progress", "Trace",
    "Verdict", "VerdictKind", "data", "diagnostics", "explore", "lines", "play",
]  # fmt: skip

RULES = (*_EXPLORATION_RULES, *_SCENARIO_RULES)


def explore(
    model: m.Model,
    system: m.System,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    means: Means | None = None,
    keeping: Keeping | None = None,
) -> Exploration:
    """Visit every reachable state of a system, breadth first, and answer what it asks.

    Takes time and memory in proportion to the states; `Limits` says where to stop. States are packed into words where
    that can be; where not, they are explored by the definition of the language itself, and `Exploration.note` says why.
    All processes that `mpiexec` has started explore together. `keeping` saves what is found, or goes on with it; raises
    `SavedError` and `UnavailableError` (see `packed.errors`).
    """
    begun = perf_counter()
    search = _searched(Universe(model, system), limits or Limits(), means or Means(), progress, keeping)
    verdicts = judge(search)
    return Exploration(
        system,
        search.states,
        search.transitions,
        search.depth,
        search.stopped,
        perf_counter() - begun,
        verdicts,
        coverage(search),
        tuple(search.levels),
        search.note,
        search.reduced,
    )


def _searched(
    universe: Universe,
    limits: Limits,
    means: Means,
    progress: Callable[[Progress], None] | None,
    keeping: Keeping | None,
) -> Searched:
    temporal = any(not isinstance(p.formula, m.Recovers) for p in universe.system.properties)
    plan = questions(universe) if temporal else None
    try:
        return packed_search(universe, limits, means, progress, plan, keeping)
    except UnpackableError as error:
        plain = Search(universe, limits, progress, plan)
        plain.run()
        plain.note = f"explored by definition, slowly: {error}"
        return plain
