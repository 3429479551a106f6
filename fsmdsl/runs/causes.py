"""Which violations have one cause: on their runs, the same goes wrong first.

A run to a violation often breaks something else on its way: a cell that is not given back breaks an invariant, and some
steps later an event arrives that no state handles. What goes wrong first is the step after which some invariant is
broken in every state up to the violation; where there is none, the violation itself. After a state in which all
invariants hold, the run is as good as any other, so what was broken before it explains nothing. Two violations have one
cause where this step begins with the same transition, of whatever instance in whatever system, and breaks the same
invariant.

That is what can be seen on the runs that are shown. There may be other runs, on which only the second happens.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.workspace import shipped
from fsmdsl.runs.replay import broken
from fsmdsl.runs.search_result import fault_key
from fsmdsl.runs.trace import Trace
from fsmdsl.runs.verdicts.verdict import Exploration, Verdict
from fsmdsl.runs.violation_groups import last_own_row
from fsmdsl.step import CrashStep, Followed, Universe
from fsmdsl.step.describe import describe
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class Cause:
    """What goes wrong first. Equal for all violations that have it."""

    key: Hashable
    name: str = field(compare=False)
    """`hived.AffinityGroup e4`: the transition that the step begins with, or what is violated by itself."""


def causes(x: Exploration, model: m.Model) -> dict[int, Cause]:
    """The cause of each violation that has a run, by its place among the verdicts. Takes time in proportion to the
    steps of the runs and the invariants that are broken."""
    violations = [(n, v, v.trace) for n, v in enumerate(x.verdicts) if v.outcome == "violated" and v.trace is not None]
    if not violations:
        return {}
    universe = Universe(model, x.system)
    invariants = [v for _, v, _ in violations if v.kind == "invariant"]
    return {n: _cause(universe, invariants, v, trace) for n, v, trace in violations}


def _cause(universe: Universe, invariants: Sequence[Verdict], v: Verdict, trace: Trace) -> Cause:
    at, first_broken = _first_broken(universe, invariants, trace)
    if first_broken is not None:
        what = (first_broken.machine, first_broken.name)
        return Cause(("start", what), "the initial values") if at == 0 else _step(trace, at - 1, what)
    if trace.fault is not None:
        return _own(trace, None, fault_key(trace.fault), trace.fault.span) or Cause(
            fault_key(trace.fault), f"fault {trace.fault.kind} at {trace.fault.span}"
        )
    if v.kind == "deadlock" and trace.entries:
        return _step(trace, len(trace.entries) - 1, v.kind)
    return Cause((v.kind, v.span), v.label)


def _first_broken(universe: Universe, invariants: Sequence[Verdict], trace: Trace) -> tuple[int, Verdict | None]:
    """The first of the worlds up to the end of a run in each of which some invariant is broken, by its place, and an
    invariant that is broken there: of a machine, if there is one, since other systems have the same."""
    worlds = [trace.start, *(e.world for e in trace.entries)]
    at, first_broken = len(worlds), list[Verdict]()
    for n in range(len(worlds) - 1, -1, -1):
        in_world = [x for x in invariants if broken(universe, x, worlds[n])]
        if not in_world:
            break
        at, first_broken = n, in_world
    return at, min(first_broken, key=lambda x: x.machine is None, default=None)


def _step(trace: Trace, number: int, what: Hashable) -> Cause:
    """The first transition that a step follows, which leads to all others, and what goes wrong in it; of a step without
    any, what it is. A row of the library is never named where a row of the author's led to it."""
    before, entry = list(trace.befores())[number]
    kind = "crash" if isinstance(entry.step, CrashStep) else "step"
    first = next((h for h in entry.cascade if isinstance(h, Followed)), None)
    if first is None:
        return Cause((type(entry.step).__name__, what), describe(trace.roster, entry.step, before))
    machine = trace.roster.machines[first.instance]
    t = machine.transitions[first.transition]
    key = (kind, machine.qualified, first.transition, what)
    if kind == "crash":
        return Cause(key, "a crash")
    return _own(trace, number + 1, key, t.span) or Cause(key, f"{machine.qualified} {t.name}")


def _own(trace: Trace, steps: int | None, key: Hashable, span: Span) -> Cause | None:
    """Of what goes wrong in the library: the last row of the author's on these steps, which led to it."""
    own = last_own_row(trace, steps) if shipped(span.source.name) else None
    return None if own is None else Cause((key, own), f"{own.machine} {own.name}")
