"""What must be decided by running every state: exploration of systems, and scenarios.

What only a search needs is imported when it begins: a scenario is played without.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from time import perf_counter

from fsmdsl import model as m
from fsmdsl.core.elaborate import TooLargeNumberError
from fsmdsl.runs.scenario import RULES as _SCENARIO_RULES
from fsmdsl.runs.scenario import Played, play
from fsmdsl.runs.trace import Entry, Trace, data, lines
from fsmdsl.runs.verdicts.diagnose import diagnostics
from fsmdsl.runs.verdicts.rules import RULES as _EXPLORATION_RULES
from fsmdsl.runs.verdicts.verdict import (
    AFTER_VIOLATION,
    Coverage,
    Exploration,
    Keeping,
    Limits,
    Means,
    Outcome,
    Progress,
    Tally,
    Verdict,
    VerdictKind,
)
from fsmdsl.step import Universe
from fsmdsl.text.budget import SLACK, Budget, LimitError, available, resident

__all__ = [
    "AFTER_VIOLATION", "RULES", "Coverage", "Entry", "Exploration", "Keeping", "Limits", "Means", "Outcome",
    "Played", "Progress", "Tally", "Trace", "Verdict", "VerdictKind", "budget_of", "data", "diagnostics", "explore",
    "lines", "play",
]  # fmt: skip

RULES = (*_EXPLORATION_RULES, *_SCENARIO_RULES)


def explore(
    model: m.Model,
    system: m.System,
    limits: Limits | None = None,
    progress: Callable[[Progress], None] | None = None,
    means: Means | None = None,
    keeping: Keeping | None = None,
    budget: Budget | None = None,
    *,
    stutter: bool = False,
) -> Exploration:
    """Visit every reachable state of a system, breadth first, and answer what it asks.

    Takes time and memory in proportion to the states; `Limits` says where to stop. States are packed into words where
    that can be; where not, they are explored by the definition of the language itself, and `Exploration.note` says why.
    All processes that `mpiexec` has started explore together. `keeping` saves what is found, or goes on with it; raises
    `SavedError` and `UnavailableError` (see `search.errors`).

    With `stutter`, a run may also stand still for ever where a step is possible, as far as the fairness of a property
    lets it: properties of runs then rely on that alone.

    The limits of time and memory hold from the beginning, also before the search and behind it: what is not known by
    then is unknown. They are those of `budget`, which the caller has entered, else of `limits`.
    """
    begun, limits = perf_counter(), limits or Limits()
    with budget_of(limits) if budget is None else nullcontext(budget) as within:
        from fsmdsl.runs.verdicts.judge import judged, unanswered, without_start
        from fsmdsl.search.compose import run

        try:
            within.check()
            universe = Universe(model, system)
            if universe.cannot_begin:
                return without_start(universe, begun)
            plan = None
            if system.properties or system.refines is not None:
                from fsmdsl.runs.liveness.grounding import questions

                plan = questions(universe, stutters=stutter)
            within.check()
            return judged(run(universe, limits, means or Means(), progress, plan, keeping, within), begun)
        except LimitError as error:
            reason = str(error)
        except MemoryError:
            within.crowded = True
            reason = "stopped: no memory is left"
        except TooLargeNumberError as error:  # the model was not checked
            reason = f"not explored: {error}"
        spent = perf_counter() - begun
        return Exploration(
            system, 0, 0, 0, reason, spent, unanswered(model, system, f"bounded: {reason}"), Coverage((), (), ())
        )


def budget_of(limits: Limits) -> Budget:
    """The budget of one exploration: `Limits.memory` is what it may take beside what the process has."""
    from fsmdsl.search.compose import several

    memory = available() * 3 // 4 if limits.memory is None else limits.memory + SLACK
    return Budget(limits.seconds, resident() + memory, shared=several())
