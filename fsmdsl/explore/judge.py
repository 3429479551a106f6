"""What a search has found, as verdicts: each question that was asked, the answer, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl import model as m
from fsmdsl.explore.explain import lines
from fsmdsl.explore.liveness import Answer, answers, counterexample, why
from fsmdsl.explore.recovery import check as recovers
from fsmdsl.explore.rejection import fault_told
from fsmdsl.explore.search_result import Finding, Question, Searched
from fsmdsl.explore.trace import Trace
from fsmdsl.explore.vacuity import premises, untested, untested_on_runs
from fsmdsl.explore.verdict import Coverage, Outcome, QuestionKey, Untested, Verdict, outermost
from fsmdsl.step import Universe
from fsmdsl.step.world import Fault


def judge(search: Searched) -> tuple[Verdict, ...]:
    """Every verdict: invariants, witnesses, steps that fail, deadlock, properties of runs, recovery."""
    return (*_questions(search), *_faults(search), _deadlock(search), *_properties(search))


def basis(search: Searched) -> str:
    """What an answer rests on that only a complete search can give."""
    if search.stopped is not None:
        return f"bounded: {search.stopped}"
    likes = f" up to symmetry of {' and '.join(search.reduced)}" if search.reduced else ""
    return f"exhaustive: {search.states} states{likes}"


def _shown(trace: Trace) -> str:
    count = len(trace.entries)
    return f"a trace of {count} step{'s' * (count != 1)}"


def _questions(search: Searched) -> Iterator[Verdict]:
    never = _untested(search)
    for q in {q.key: q for q in search.questions}.values():
        if q.kind == "premise":
            continue
        found = search.settled.get(q.key)
        trace = None if found is None else search.trace(found)
        parts = never.get(q.key, ()) if found is None else ()
        told = _lines(parts) if found is None else found.explanation
        rests = basis(search) if trace is None else _shown(trace)
        outcome = _outcome(search, q, found)
        yield Verdict(q.kind, q.name, outcome, rests, q.asked.span, told, trace, parts, q.key.machine or None)


def _untested(search: Searched) -> dict[QuestionKey, tuple[Untested, ...]]:
    """What passed without being tested; only who has seen everything can say."""
    return untested(premises(search.universe), search.settled.keys()) if search.stopped is None else {}


def _lines(parts: Iterable[Untested]) -> tuple[str, ...]:
    return tuple(f"not put to the test: {x.told}" for x in outermost(parts))


def _outcome(search: Searched, q: Question, found: Finding | None) -> Outcome:
    """A finding breaks an invariant, and is what `reachable` wants. No finding says something once all was seen."""
    if found is not None:
        return "violated" if q.kind == "invariant" else "holds"
    if search.stopped is not None:
        return "unknown"
    return "holds" if q.kind == "invariant" else "violated"


def _faults(search: Searched) -> Iterator[Verdict]:
    first = search.universe.fault
    if first is not None:
        yield _fault(search.universe, first, Trace(search.universe, search.universe.start), "the initial values")
    for finding in search.faults.values():
        assert finding.fault is not None
        trace = search.trace(finding)
        yield _fault(search.universe, finding.fault, trace, _shown(trace))
    if first is None and not search.faults:
        outcome: Outcome = "holds" if search.stopped is None else "unknown"
        yield Verdict("fault", "no step fails", outcome, basis(search), search.universe.system.span)


def _fault(universe: Universe, fault: Fault, trace: Trace, rests: str) -> Verdict:
    return Verdict("fault", fault.kind, "violated", rests, fault.span, fault_told(universe, fault), trace)


def _deadlock(search: Searched) -> Verdict:
    span = search.universe.system.span
    if search.deadlock is not None:
        trace = search.trace(search.deadlock)
        told = (f"no step leads on from here: {_where(search.universe, trace)}",)
        return Verdict("deadlock", "no deadlock", "violated", _shown(trace), span, told, trace)
    outcome: Outcome = "holds" if search.stopped is None else "unknown"
    return Verdict("deadlock", "no deadlock", outcome, basis(search), span)


def _where(universe: Universe, trace: Trace) -> str:
    return ", ".join(f"{universe.name(n)} in {state}" for n, state in enumerate(trace.end.states))


def _properties(search: Searched) -> Iterator[Verdict]:
    system = search.universe.system
    if search.undecided is not None:
        yield from (Verdict("property", p.name, "not checked", search.undecided, p.span) for p in system.properties)
        return
    decided = dict(_temporal(search))
    for p in system.properties:
        if isinstance(p.formula, m.Recovers):
            a = recovers(search.universe, p.formula, search.explored())
            parts = tuple(Untested(x, p.span) for x in a.explanation if a.outcome == "holds")
            told = _lines(parts) or a.explanation
            yield Verdict("property", p.name, a.outcome, a.basis, p.span, told, a.trace, parts)
        else:
            yield decided[p.name]


def _temporal(search: Searched) -> Iterator[tuple[str, Verdict]]:
    """Properties of runs, by name."""
    if search.plan is None or not search.plan.questions:
        return
    never = _untested(search)
    graph = search.graph()
    for a in answers(search.plan, graph):
        p = a.question.property
        if a.outcome == "violated":
            claim, lasso = a.breaches[0].claim, a.breaches[0].lasso
            trace = counterexample(search.plan, graph, a.question, lasso, search.shows)
            found = why(search.plan, a.question, claim, trace)
            told = (*lines(search.universe, found), *_unanswered(a))
            deciding = tuple(dict.fromkeys(x for reason in found for x in reason.values))
            yield p.name, Verdict("property", p.name, "violated", _run(trace), p.span, told, trace, deciding=deciding)
        else:
            parts = untested_on_runs(a, never.get(QuestionKey("property", p.name), ())) if a.outcome == "holds" else ()
            rests = a.reason if a.outcome == "not checked" else basis(search)
            told = (*_lines(parts), *_unanswered(a))
            yield p.name, Verdict("property", p.name, a.outcome, rests, p.span, told, None, parts)


def _unanswered(a: Answer) -> Iterator[str]:
    """Fairness that promises nothing: as documented, what it names may be an amendment's."""
    for name in a.question.unanswered:
        yield f"no instance has the `{name}` that is named after `under`, so nothing is promised of it"


def _run(trace: Trace) -> str:
    """`a run of 3 steps, the last 2 of them for ever`."""
    count = len(trace.entries)
    if trace.loop is None:
        return _shown(trace)
    match count - trace.loop:
        case 0:
            ever = "and then nothing more"
        case rest if rest == count:
            ever = "again and again"
        case 1:
            ever = "the last of them for ever"
        case rest:
            ever = f"the last {rest} of them for ever"
    return f"a run of {count} step{'s' * (count != 1)}, {ever}"


def coverage(search: Searched) -> Coverage:
    """What never happened."""
    machines = {x.qualified: x for x in search.universe.machines}
    transitions = [(name, t.index) for name, x in machines.items() for t in x.transitions]
    seen = search.guards_seen
    return Coverage(
        tuple(t for t in transitions if t not in search.followed),
        tuple(t for t in transitions if (*t, False) in seen and (*t, True) not in seen),
        tuple(t for t in transitions if (*t, True) in seen and (*t, False) not in seen),
    )
