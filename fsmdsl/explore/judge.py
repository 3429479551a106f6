"""What a search has found, as verdicts: each question that was asked, the answer, and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fsmdsl import model as m
from fsmdsl.budget import LimitError
from fsmdsl.explore.circular_wait import waiting_told
from fsmdsl.explore.explain import lines
from fsmdsl.explore.liveness import Answer, answers, counterexample, why
from fsmdsl.explore.recovery import check as recovers
from fsmdsl.explore.refinement import check as refines
from fsmdsl.explore.rejection import fault_told, no_way_on
from fsmdsl.explore.search_result import Finding, Question, Searched
from fsmdsl.explore.trace import Trace
from fsmdsl.explore.vacuity import premises, untested, untested_on_runs
from fsmdsl.explore.verdict import Coverage, Outcome, QuestionKey, Untested, Verdict, VerdictKind, outermost
from fsmdsl.source import Span
from fsmdsl.step import Universe
from fsmdsl.step.world import Fault

NO_FAULT, NO_DEADLOCK = "no step fails", "no deadlock"


def judge(search: Searched) -> tuple[Verdict, ...]:
    """Every verdict: invariants, witnesses, steps that fail, deadlock, properties of runs, recovery.

    Where a limit comes first, what was found is reported without a run, and properties are unknown."""
    found: list[Verdict] = []
    try:
        for v in _verdicts(search, _Shown(search, search.budget.reached if search.budget.raised else None)):
            found.append(v)  # noqa: PERF402 - what comes before the limit stays
    except LimitError as error:
        rest = list(_verdicts(search, _Shown(search, str(error))))
        found += rest[len(found) :]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Shown:
    """How verdicts are shown: with runs, or, when a limit has come, without."""

    search: Searched
    limit: str | None = None

    def trace(self, finding: Finding) -> Trace | None:
        """The run to a finding, while there is time."""
        return self.search.trace(finding) if self.limit is None else None

    def basis(self, trace: Trace | None) -> str:
        """The evidence of a verdict that was found in a state or step."""
        return f"{self.limit}, before the run to it could be shown" if trace is None else f"a trace of {trace.length}"


def unanswered(model: m.Model, system: m.System, reason: str) -> tuple[Verdict, ...]:
    """The verdicts where a limit came before the first state was looked at: all are unknown."""

    def unknown(kind: VerdictKind, name: str, span: Span, machine: str | None = None) -> Verdict:
        return Verdict(kind, name, "unknown", f"bounded: {reason}", span, machine=machine)

    found = [unknown("invariant", x.name, x.span) for x in system.invariants]
    for machine in (model.machines[name] for name in dict.fromkeys(i.machine for i in system.instances)):
        found += [
            unknown("invariant", f"{machine.name}: {x.name}", x.span, machine.qualified) for x in machine.invariants
        ]
    found += [unknown("reachable", x.name, x.span) for x in system.reachables]
    found += [unknown("fault", NO_FAULT, system.span), unknown("deadlock", NO_DEADLOCK, system.span)]
    found += [unknown("property", x.name, x.span) for x in system.properties]
    return (*found, *(unknown("refinement", x.shown, x.span) for x in (system.refines,) if x is not None))


def _verdicts(search: Searched, shown: _Shown) -> Iterator[Verdict]:
    yield from _questions(search, shown)
    yield from _faults(search, shown)
    yield _deadlock(search, shown)
    yield from _properties(search, shown)
    yield from _refinement(search, shown)


def basis(search: Searched) -> str:
    """The evidence for an answer that only a complete search can give."""
    if search.stopped is not None:
        return f"bounded: {search.stopped}"
    likes = f" up to symmetry of {' and '.join(search.reduced)}" if search.reduced else ""
    return f"exhaustive: {search.states} states{likes}"


def _questions(search: Searched, shown: _Shown) -> Iterator[Verdict]:
    never = _untested(search)
    for q in {q.key: q for q in search.questions}.values():
        if q.kind == "premise":
            continue
        found = search.settled.get(q.key)
        trace = None if found is None else shown.trace(found)
        parts = never.get(q.key, ()) if found is None else ()
        told = _lines(parts) if found is None else found.explanation
        rests = basis(search) if found is None else shown.basis(trace)
        outcome = _outcome(search, q, found)
        yield Verdict(q.kind, q.name, outcome, rests, q.asked.span, told, trace, parts, q.key.machine or None)


def _untested(search: Searched) -> dict[QuestionKey, tuple[Untested, ...]]:
    """What passed without being tested; only who has seen everything can say."""
    return untested(premises(search.universe), search.settled.keys()) if search.stopped is None else {}


def _lines(parts: Iterable[Untested]) -> tuple[str, ...]:
    return tuple(f"vacuous: {x.told}" for x in outermost(parts))


def _outcome(search: Searched, q: Question, found: Finding | None) -> Outcome:
    """A finding breaks an invariant, and is what `reachable` wants. No finding says something once all was seen."""
    if found is not None:
        return "violated" if q.kind == "invariant" else "holds"
    if search.stopped is not None:
        return "unknown"
    return "holds" if q.kind == "invariant" else "violated"


def _faults(search: Searched, shown: _Shown) -> Iterator[Verdict]:
    first = search.universe.fault
    if first is not None:
        yield _fault(search.universe, first, Trace(search.universe, search.universe.start), "the initial values")
    for finding in search.faults.values():
        assert finding.fault is not None
        trace = shown.trace(finding)
        yield _fault(search.universe, finding.fault, trace, shown.basis(trace))
    span = search.universe.system.span
    if search.unshown is not None:
        rests = f"{search.unshown}, before it could be said which and why"
        yield Verdict("fault", "some step fails", "violated", rests, span)
    elif first is None and not search.faults:
        outcome: Outcome = "holds" if search.stopped is None else "unknown"
        yield Verdict("fault", NO_FAULT, outcome, basis(search), span)


def _fault(universe: Universe, fault: Fault, trace: Trace | None, rests: str) -> Verdict:
    return Verdict("fault", fault.kind, "violated", rests, fault.span, fault_told(universe, fault), trace)


def _deadlock(search: Searched, shown: _Shown) -> Verdict:
    span = search.universe.system.span
    if search.deadlock is not None:
        trace = shown.trace(search.deadlock)
        stands = () if trace is None else (no_way_on(trace),)
        return Verdict("deadlock", NO_DEADLOCK, "violated", shown.basis(trace), span, stands, trace)
    outcome: Outcome = "holds" if search.stopped is None else "unknown"
    trace = None if search.waiting is None else shown.trace(search.waiting)
    told = () if trace is None else waiting_told(search.circular, trace, search.waiting_states)
    return Verdict("deadlock", NO_DEADLOCK, outcome, basis(search), span, told, trace)


def _properties(search: Searched, shown: _Shown) -> Iterator[Verdict]:
    system = search.universe.system
    if shown.limit is not None or search.abandoned:
        rests = f"bounded: {shown.limit or search.stopped}"
        yield from (Verdict("property", p.name, "unknown", rests, p.span) for p in system.properties)
        return
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
            first = a.breaches[0]
            trace = counterexample(search.plan, graph, a.question, first.lasso, search.shows)
            found = why(search.plan, a.question, first, trace)
            told = (*lines(search.universe, found), *_unanswered(a))
            deciding = tuple(dict.fromkeys(x for reason in found for x in reason.values))
            yield p.name, Verdict("property", p.name, "violated", _run(trace), p.span, told, trace, deciding=deciding)
        else:
            parts = untested_on_runs(a, never.get(QuestionKey("property", p.name), ())) if a.outcome == "holds" else ()
            rests = a.reason if a.outcome == "not checked" else basis(search)
            told = (*_lines(parts), *_unanswered(a))
            yield p.name, Verdict("property", p.name, a.outcome, rests, p.span, told, None, parts)


def _refinement(search: Searched, shown: _Shown) -> Iterator[Verdict]:
    x = search.universe.system.refines
    if x is None:
        return
    if shown.limit is not None or search.abandoned:
        yield Verdict("refinement", x.shown, "unknown", f"bounded: {shown.limit or search.stopped}", x.span)
        return
    if search.undecided is not None:
        yield Verdict("refinement", x.shown, "not checked", search.undecided, x.span)
        return
    a = refines(search.universe, x, search)
    still = f"no step of `{search.universe.system.name}` is one of `{x.shown}`: nothing is seen to change there"
    parts = () if a.moves else (Untested(still, x.span),)
    rests = basis(search) if a.trace is None else f"the shortest run: {a.trace.length}"
    told = a.explanation or _lines(parts)
    yield Verdict("refinement", x.shown, a.outcome, a.reason or rests, x.span, told, a.trace, parts, images=a.images)


def _unanswered(a: Answer) -> Iterator[str]:
    """Fairness that promises nothing: as documented, what it names may be an amendment's."""
    for name in a.question.unanswered:
        yield f"no instance has the `{name}` that is named after `under`, so nothing is promised of it"


def _run(trace: Trace) -> str:
    """`a run of 3 steps, the last 2 of them for ever`."""
    count = len(trace.entries)
    if trace.loop is None:
        return f"a trace of {trace.length}"
    match count - trace.loop:
        case 0:
            ever = "and then nothing more"
        case rest if rest == count:
            ever = "again and again"
        case 1:
            ever = "the last of them for ever"
        case rest:
            ever = f"the last {rest} of them for ever"
    return f"a run of {trace.length}, {ever}"


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
