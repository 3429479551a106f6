"""What a search has found, as verdicts: each question that was asked, the answer, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.explore.search import Finding, Question, Search
from fsmdsl.explore.trace import Trace
from fsmdsl.explore.verdict import Coverage, Outcome, Verdict
from fsmdsl.step import Universe
from fsmdsl.step.world import Fault

NO_RUNS = "this explorer looks at one state at a time, and this is about whole runs"
NO_RECOVERY = "this explorer does not compare the worlds after recovery with those without a crash"


def judge(search: Search) -> tuple[Verdict, ...]:
    """Every verdict: invariants, witnesses, steps that fail, deadlock, and what was not checked."""
    return (*_questions(search), *_faults(search), _deadlock(search), *_properties(search))


def basis(search: Search) -> str:
    """What an answer rests on that only a complete search can give."""
    return f"exhaustive: {len(search.worlds)} states" if search.stopped is None else f"bounded: {search.stopped}"


def _shown(trace: Trace) -> str:
    count = len(trace.entries)
    return f"a trace of {count} step{'s' * (count != 1)}"


def _questions(search: Search) -> Iterator[Verdict]:
    for q in {q.key: q for q in search.questions}.values():
        found = search.settled.get(q.key)
        trace = None if found is None else search.trace(found)
        told = () if found is None else found.explanation
        rests = basis(search) if trace is None else _shown(trace)
        yield Verdict(q.kind, q.name, _outcome(search, q, found), rests, q.asked.span, told, trace)


def _outcome(search: Search, q: Question, found: Finding | None) -> Outcome:
    """A finding breaks an invariant, and is what `reachable` wants. No finding says something once all was seen."""
    if found is not None:
        return "violated" if q.kind == "invariant" else "holds"
    if search.stopped is not None:
        return "unknown"
    return "holds" if q.kind == "invariant" else "violated"


def _faults(search: Search) -> Iterator[Verdict]:
    first = search.universe.fault
    if first is not None:
        yield _fault(first, Trace(search.universe, search.universe.start), "the initial values")
    for finding in search.faults.values():
        assert finding.fault is not None
        trace = search.trace(finding)
        yield _fault(finding.fault, trace, _shown(trace))
    if first is None and not search.faults:
        outcome: Outcome = "holds" if search.stopped is None else "unknown"
        yield Verdict("fault", "no step fails", outcome, basis(search), search.universe.system.span)


def _fault(fault: Fault, trace: Trace, rests: str) -> Verdict:
    return Verdict("fault", fault.kind, "violated", rests, fault.span, (fault.message,), trace)


def _deadlock(search: Search) -> Verdict:
    span = search.universe.system.span
    if search.deadlock is not None:
        trace = search.trace(search.deadlock)
        told = (f"no step leads on from here: {_where(search.universe, trace)}",)
        return Verdict("deadlock", "no deadlock", "violated", _shown(trace), span, told, trace)
    outcome: Outcome = "holds" if search.stopped is None else "unknown"
    return Verdict("deadlock", "no deadlock", outcome, basis(search), span)


def _where(universe: Universe, trace: Trace) -> str:
    return ", ".join(f"{universe.name(n)} in {state}" for n, state in enumerate(trace.end.states))


def _properties(search: Search) -> Iterator[Verdict]:
    for p in search.universe.system.properties:
        why = NO_RECOVERY if isinstance(p.formula, m.Recovers) else NO_RUNS
        yield Verdict("property", p.name, "not checked", why, p.span)


def coverage(search: Search) -> Coverage:
    """What never happened."""
    machines = {x.qualified: x for x in search.universe.machines}
    transitions = [(name, t.index) for name, x in machines.items() for t in x.transitions]
    seen = search.universe.guards_seen
    return Coverage(
        tuple(t for t in transitions if t not in search.followed),
        tuple(t for t in transitions if (*t, False) in seen and (*t, True) not in seen),
        tuple(t for t in transitions if (*t, True) in seen and (*t, False) not in seen),
    )
