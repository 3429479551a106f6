"""Verdicts on states: invariants, witnesses, steps that fail, and deadlock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.runs.circular_wait import describe_waiting
from fsmdsl.runs.rejection import deadlock_lines, fault_lines
from fsmdsl.runs.search_result import Finding, Question, Searched
from fsmdsl.runs.trace import Trace
from fsmdsl.runs.verdicts.vacuity import premises, untested
from fsmdsl.runs.verdicts.verdict import Outcome, QuestionKey, Untested, Verdict, extent, outermost
from fsmdsl.step import Universe
from fsmdsl.step.describe import words
from fsmdsl.step.world import Fault

NO_FAULT, NO_DEADLOCK = "no step fails", "no deadlock"


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence of verdicts: the run to each finding, or none once a limit has been reached."""

    search: Searched
    limit: str | None = None

    def trace(self, finding: Finding) -> Trace | None:
        """The run to a finding, while there is time."""
        return self.search.trace(finding) if self.limit is None else None

    def basis(self, trace: Trace | None) -> str:
        """The evidence of a verdict that was found in a state or step."""
        return f"{self.limit}, before the run to it could be shown" if trace is None else f"a trace of {trace.length}"


def on_states(search: Searched, evidence: Evidence) -> Iterator[Verdict]:
    """What was asked of states and steps, a verdict each."""
    yield from _questions(search, evidence)
    yield from _faults(search, evidence)
    yield _deadlock(search, evidence)


def basis(search: Searched) -> str:
    """The evidence for an answer that only a complete search can give."""
    if search.stopped is not None:
        return f"bounded: {search.stopped}"
    likes = f" up to symmetry of {' and '.join(search.reduced)}" if search.reduced else ""
    beyond = f", {search.beyond} of them beyond it" if search.beyond else ""
    return f"{extent(None, search.beyond, fails=search.fails)}: {search.states} states{beyond}{likes}"


def untested_parts(search: Searched) -> dict[QuestionKey, tuple[Untested, ...]]:
    """The parts that passed without being tested. Only a complete search can tell."""
    if search.stopped is not None:
        return {}
    by_question = untested(premises(search.universe), search.settled.keys())
    return {key: tuple(within_bound(search, x) for x in parts) for key, parts in by_question.items()}


def within_bound(search: Searched, x: Untested) -> Untested:
    """What was not tested, as far as is known: beyond the bounds it may be."""
    return replace(x, message=f"{x.message} within the bound") if search.beyond else x


def vacuous_lines(parts: Iterable[Untested]) -> tuple[str, ...]:
    """What to say of parts that passed without being tested."""
    return tuple(f"vacuous: {x.message}" for x in outermost(parts))


def _questions(search: Searched, evidence: Evidence) -> Iterator[Verdict]:
    never = untested_parts(search)
    for q in {q.key: q for q in search.questions}.values():
        if q.kind == "premise":
            continue
        finding = search.settled.get(q.key)
        trace = None if finding is None else evidence.trace(finding)
        is_tested = finding is not None or q.kind == "reachable"
        parts = () if is_tested else never.get(q.key, ())
        if finding is not None:
            explanation = finding.explanation
        elif q.kind == "reachable":
            explanation = _unreachable(search, q, never.get(q.key, ()))
        else:
            explanation = vacuous_lines(parts)
        rests = basis(search) if finding is None else evidence.basis(trace)
        outcome = _outcome(search, q, finding)
        yield Verdict(
            q.kind, q.name, outcome, rests, q.declaration.span, explanation, trace, parts, q.key.machine or None
        )


def _unreachable(search: Searched, q: Question, never: Sequence[Untested]) -> tuple[str, ...]:
    """That a `reachable` is never true, and which of its parts; nothing where not all was explored."""
    if search.stopped is not None:
        return ()
    within = " within the bound" if search.beyond else ""
    whole = f"`{words(q.declaration.condition)}` is never true{within}"
    if not any(x.kind == "premise" and replace(x.key, premise=-1) == q.key for x in search.questions):
        return (whole,)
    parts = tuple(x.message for x in never)
    return (whole, *(parts or (f"each part is true in some state, but never all of them at once{within}",)))


def _outcome(search: Searched, q: Question, finding: Finding | None) -> Outcome:
    """A finding breaks an invariant, and is what `reachable` wants. No finding says something once all was seen."""
    if finding is not None:
        return "violated" if q.kind == "invariant" else "holds"
    if search.stopped is not None:
        return "unknown"
    return "holds" if q.kind == "invariant" else "violated"


def _faults(search: Searched, evidence: Evidence) -> Iterator[Verdict]:
    first = search.universe.fault
    if first is not None:
        yield _fault(search.universe, first, Trace(search.universe, search.universe.start), "the initial values")
    for finding in search.faults.values():
        assert finding.fault is not None
        trace = evidence.trace(finding)
        yield _fault(search.universe, finding.fault, trace, evidence.basis(trace))
    span = search.universe.system.span
    if search.unshown is not None:
        rests = f"{search.unshown}, before the failing step could be identified"
        yield Verdict("fault", "some step fails", "violated", rests, span)
    elif first is None and not search.faults:
        outcome: Outcome = "holds" if search.stopped is None else "unknown"
        yield Verdict("fault", NO_FAULT, outcome, basis(search), span)


def _fault(universe: Universe, fault: Fault, trace: Trace | None, rests: str) -> Verdict:
    explanation = fault_lines(universe, fault)
    return Verdict("fault", fault.kind, "violated", rests, fault.span, explanation, trace, fault=fault)


def _deadlock(search: Searched, evidence: Evidence) -> Verdict:
    span = search.universe.system.span
    if search.deadlock is not None:
        trace = evidence.trace(search.deadlock)
        stands = () if trace is None else deadlock_lines(trace)
        return Verdict("deadlock", NO_DEADLOCK, "violated", evidence.basis(trace), span, stands, trace)
    outcome: Outcome = "holds" if search.stopped is None else "unknown"
    trace = None if search.waiting is None else evidence.trace(search.waiting)
    explanation = () if trace is None else describe_waiting(search.circular, trace, search.waiting_states)
    return Verdict("deadlock", NO_DEADLOCK, outcome, basis(search), span, explanation, trace)
