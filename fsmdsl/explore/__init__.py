"""What must be decided by running every state: exploration of systems, and scenarios."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

from fsmdsl import model as m
from fsmdsl.explore.judge import coverage, judge
from fsmdsl.explore.rules import RULES as _EXPLORATION_RULES
from fsmdsl.explore.rules import diagnostics
from fsmdsl.explore.scenario import RULES as _SCENARIO_RULES
from fsmdsl.explore.scenario import Played, play
from fsmdsl.explore.search import Search
from fsmdsl.explore.trace import Entry, Trace, data, lines
from fsmdsl.explore.verdict import Coverage, Exploration, Limits, Outcome, Progress, Verdict, VerdictKind
from fsmdsl.step import Universe

__all__ = [
    "RULES", "Coverage", "Entry", "Exploration", "Limits", "Outcome", "Played", "Progress", "Trace", "Verdict",
    "VerdictKind", "data", "diagnostics", "explore", "lines", "play",
]  # fmt: skip

RULES = (*_EXPLORATION_RULES, *_SCENARIO_RULES)


def explore(
    model: m.Model,
    system: m.System,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Exploration:
    """Visit every reachable state of a system, breadth first, and answer what it asks.

    Takes time and memory in proportion to the states; `Limits` says where to stop.
    """
    begun = perf_counter()
    search = Search(Universe(model, system), limits or Limits(), progress)
    search.run()
    return Exploration(
        system,
        len(search.worlds),
        search.transitions,
        search.depth,
        search.stopped,
        perf_counter() - begun,
        judge(search),
        coverage(search),
    )
