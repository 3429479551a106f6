"""Which run a verdict shows: the simplest, or the shortest."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.runs.explain import explain, fails
from fsmdsl.runs.rejection import deadlock_lines, fault_lines
from fsmdsl.runs.search_result import fault_key
from fsmdsl.runs.simplest_run import Effort, Goal, cost, simplest_runs
from fsmdsl.runs.timer_order import with_timer_order
from fsmdsl.runs.trace import Trace
from fsmdsl.runs.verdicts.verdict import Exploration, Verdict
from fsmdsl.step import Fault, Universe, World, stuck, unoffered, within
from fsmdsl.step.evaluate import Frame
from fsmdsl.text.budget import Budget, LimitError

AT_ONCE = 0.5
"""Seconds to look for the simplest runs of a system whose exploration stopped at a violation."""


def simplest(x: Exploration, model: m.Model, effort: Effort | None = None) -> Exploration:
    """The same verdicts, each violation with the simplest run to it, and what is wrong there."""
    universe = Universe(model, x.system)
    effort = effort or (Effort(seconds=AT_ONCE) if x.at_violation else Effort())
    goals = {n: (goal, v.trace) for n, v in enumerate(x.verdicts) if v.trace and (goal := _goal(universe, v))}
    if not goals:
        return x
    verdicts = list(x.verdicts)
    for n, trace in zip(goals, simplest_runs(universe, list(goals.values()), effort), strict=True):
        verdicts[n] = _with_run(universe, verdicts[n], trace, effort)
    return replace(x, verdicts=tuple(verdicts))


def with_runs(run: Callable[[], Exploration], model: m.Model, budget: Budget, *, simple: bool = True) -> Exploration:
    """What `run` explores inside a budget, with the simplest runs, or the shortest.

    The budget can end at any moment, also when the search is done and what follows has hardly begun.
    """
    x: Exploration | None = None
    simpler: Exploration | None = None
    try:
        with budget:
            x = run()
            simpler = simplest_in_time(x, model, budget) if simple else shortest(x)
    except LimitError:
        if x is None:
            raise
    return simpler or _unsimplified(x, budget)


def simplest_in_time(x: Exploration, model: m.Model, budget: Budget, effort: Effort | None = None) -> Exploration:
    """`simplest`, inside a budget; where that ends first, the shortest runs, and the verdicts say so."""
    with suppress(LimitError):
        if not budget.raised:
            return simplest(x, model, effort)
    return _unsimplified(x, budget)


def _unsimplified(x: Exploration, budget: Budget) -> Exploration:
    return shortest(x, f"{budget.reached} before a simpler one was looked for")


def shortest(x: Exploration, limit: str = "") -> Exploration:
    """The same verdicts; those with a counterexample say that it is the shortest, and which limit ended the search for
    a simpler one."""
    verdicts = (replace(v, basis=_shortest(v.trace), limit=limit) if v.trace and _has_run(v) else v for v in x.verdicts)
    return replace(x, verdicts=tuple(verdicts))


def _has_run(v: Verdict) -> bool:
    of_states = v.kind in ("invariant", "deadlock", "fault")
    return of_states and v.outcome == "violated" and v.trace is not None and bool(v.trace.entries)


# Goals ---------------------------------------------------------------------------------------------------------------


def _goal(universe: Universe, v: Verdict) -> Goal | None:
    """What another run must show to show the same; None where there is nothing to look for."""
    if v.trace is None or not _has_run(v):
        return None
    match v.kind:
        case "deadlock":
            return Goal(lambda world, steps: within(universe, world) and stuck(universe, world, list(steps)))
        case "invariant":
            return Goal(lambda world, _: broken(universe, v, world) is not None)
        case _:
            fault = v.trace.fault or _unoffered(universe, v, v.trace.end)
            return None if fault is None else Goal(fault=fault_key(fault))


def _unoffered(universe: Universe, v: Verdict, world: World) -> Fault | None:
    """The fault of a verdict, where it is one of the environment in a world."""
    return next((x for x in unoffered(universe, world) if x.span == v.span), None)


def broken(universe: Universe, v: Verdict, world: World) -> tuple[Frame, m.Invariant] | None:
    """Where the invariant of a verdict does not hold: in the system, or in the first such instance."""
    for n, x in _invariants(universe, v):
        frame = Frame(universe, world, n)
        if fails(frame, x.condition):
            return frame, x
    return None


def _invariants(universe: Universe, v: Verdict) -> list[tuple[int | None, m.Invariant]]:
    """The invariant that a verdict is about, with each instance that it is asked of."""
    if v.machine is None:
        return [(None, x) for x in universe.system.invariants if x.span == v.span]
    owners = ((n, k) for n, k in enumerate(universe.machines) if k.qualified == v.machine)
    return [(n, x) for n, k in owners for x in k.invariants if x.span == v.span]


# Verdicts ------------------------------------------------------------------------------------------------------------


def _with_run(universe: Universe, v: Verdict, trace: Trace | None, effort: Effort) -> Verdict:
    assert v.trace is not None
    if trace is None:
        limit = f"the search for the simplest stopped at {effort.worlds:,} states or {effort.seconds:g} seconds"
        return replace(v, basis=_shortest(v.trace), limit=limit)
    basis = f"the simplest run: {_cost_text(trace)}"
    if trace is v.trace:
        return replace(v, basis=basis)
    fault = trace.fault or v.fault
    v = replace(v, basis=basis, trace=trace, fault=fault, explanation=_explanation(universe, v, trace))
    return with_timer_order(universe, v)


def _shortest(trace: Trace) -> str:
    return f"the shortest run: {trace.length}"


def _cost_text(trace: Trace) -> str:
    """`1 crash, 3 steps`: of what makes a run hard to follow only what it has."""
    spent = cost(trace)
    parts = [f"{_count(spent.faults, 'fault')} of the environment"] if spent.faults else []
    parts += [_count(spent.crashes, "crash", "es")] if spent.crashes else []
    return ", ".join([*parts, _count(spent.steps, "step")])


def _count(n: int, what: str, plural: str = "s") -> str:
    return f"{n} {what}{plural * (n != 1)}"


def _explanation(universe: Universe, v: Verdict, trace: Trace) -> tuple[str, ...]:
    """What is wrong at the end of another run to the same violation."""
    if v.kind == "deadlock":
        return deadlock_lines(trace)
    if v.kind == "fault":
        fault = trace.fault or _unoffered(universe, v, trace.end)
        return v.explanation if fault is None else fault_lines(universe, fault)
    violation = broken(universe, v, trace.end)
    assert violation is not None
    frame, x = violation
    whose = "" if frame.instance is None else f"in {universe.name(frame.instance)}: "
    return tuple(whose + line for line in explain(frame, x.condition))
