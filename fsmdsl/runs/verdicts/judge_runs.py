"""Verdicts on runs: temporal properties, recovery, refinement. Imported where a system has one of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.runs.explain import lines
from fsmdsl.runs.liveness.answer import Answer, answers, counterexample
from fsmdsl.runs.liveness.assumptions import (
    MAX_EDGES,
    exclusions,
    may_stand_still,
    standing_still,
    steps_possible,
    stronger,
)
from fsmdsl.runs.liveness.explanation import why
from fsmdsl.runs.liveness.formula import FALSE, TRUE, And, Formula, Literal, Or, Until
from fsmdsl.runs.recovery import check as recovers
from fsmdsl.runs.refinement import check as refines
from fsmdsl.runs.rows import stuttering_lines
from fsmdsl.runs.search_result import Searched
from fsmdsl.runs.trace import Trace
from fsmdsl.runs.verdicts.judge_states import Evidence, basis, untested_parts, vacuous_lines, within_bound
from fsmdsl.runs.verdicts.verdict import Outcome, QuestionKey, Reliance, Untested, Verdict
from fsmdsl.step import CrashStep, Fault, TooManyValuesError, Universe, enabled, fire, unoffered
from fsmdsl.step.describe import describe, words

SHOWN_STEPS = 3
"""Number of failing steps that are named at the end of a run."""


def on_runs(search: Searched, evidence: Evidence) -> Iterator[Verdict]:
    """What was asked of runs, a verdict each."""
    if evidence.limit is not None or search.abandoned:
        yield from _open(search, "unknown", f"bounded: {evidence.limit or search.stopped}")
    elif search.undecided is not None:
        yield from _open(search, "not checked", search.undecided)
    else:
        yield from _properties(search)
        yield from _refinement(search)


def _open(search: Searched, outcome: Outcome, rests: str) -> Iterator[Verdict]:
    """The verdicts where nothing could be decided."""
    system = search.universe.system
    yield from (Verdict("property", p.name, outcome, rests, p.span) for p in system.properties)
    if system.refines is not None:
        yield Verdict("refinement", system.refines.path, outcome, rests, system.refines.span)


def _properties(search: Searched) -> Iterator[Verdict]:
    decided = dict(_temporal(search))
    for p in search.universe.system.properties:
        if isinstance(p.formula, m.Recovers):
            a = recovers(search.universe, p.formula, search)
            parts = tuple(Untested(x, p.span) for x in a.explanation if a.outcome == "holds")
            explanation = vacuous_lines(parts) or a.explanation
            faults = () if a.trace is None or a.trace.fault is None else (a.trace.fault,)
            v = Verdict("property", p.name, a.outcome, a.basis, p.span, explanation, a.trace, parts)
            yield replace(v, ends_in=faults)
        else:
            yield decided[p.name]


def _temporal(search: Searched) -> Iterator[tuple[str, Verdict]]:
    """Properties of runs, by name."""
    if search.plan is None or not search.plan.questions:
        return
    never = untested_parts(search)
    graph = search.graph()
    for a in answers(search.plan, graph):
        p = a.question.property
        if a.outcome == "violated":
            first = a.breaches[0]
            trace = counterexample(search.plan, graph, a.question, first.lasso, search.shows)
            reasons = why(search.plan, a.question, first, trace)
            end, faults = _end(search.universe, trace)
            explanation = (*lines(search.universe, reasons), *end, *_unanswered(a))
            deciding = tuple(dict.fromkeys(x for reason in reasons for x in reason.values))
            v = Verdict("property", p.name, "violated", _run(trace), p.span, explanation, trace, deciding=deciding)
            yield p.name, replace(v, ends_in=faults)
        else:
            parts = _untested_on_runs(search, a, never) if a.outcome == "holds" else ()
            rests = a.reason if a.outcome == "not checked" else basis(search)
            explanation = (*vacuous_lines(parts), *_unanswered(a))
            yield p.name, Verdict("property", p.name, a.outcome, rests, p.span, explanation, None, parts)


def with_assumptions(search: Searched, verdicts: list[Verdict]) -> list[Verdict]:
    """The same verdicts. One that holds says what it relies on, one that does not which promise it needs, or which
    promises exclude its run."""
    plan = search.plan
    temporal = {p.name for p in search.universe.system.properties if not isinstance(p.formula, m.Recovers)}
    by_name = {v.name: v for v in verdicts if v.kind == "property" and v.name in temporal}
    outcomes = {v.outcome for v in by_name.values()}
    if plan is None or not outcomes & {"holds", "violated"}:
        return verdicts
    graph = None if search.stopped is not None else search.graph()
    changed: dict[str, Verdict] = {}
    for q in plan.questions:
        v = by_name[q.property.name]
        if v.outcome == "violated":
            names = [] if graph is None else [*stronger(plan, graph, q)]
            holds = f"holds with {', or with '.join(f'`strong fair {name}`' for name in names)}"
            advice = (holds,) if names else _unfair(search.universe, q.property, v.trace)
            changed[v.name] = replace(v, explanation=(*v.explanation, *advice))
    holding = [name for name, v in by_name.items() if v.outcome == "holds"]
    is_large = graph is not None and graph.edges > MAX_EDGES
    for a in standing_still(plan, graph, holding) if graph is not None and not is_large else ():
        changed[a.question.property.name] = _reliant(search, by_name[a.question.property.name], a)
    verdicts = [changed.get(v.name, v) if v.kind == "property" else v for v in verdicts]
    return unexamined(search, verdicts, f"the system has more than {MAX_EDGES:,} transitions") if is_large else verdicts


def unexamined(search: Searched, verdicts: list[Verdict], why: str) -> list[Verdict]:
    """The same verdicts, those of properties that hold with the reason why it is not known what they rely on."""
    holding = [v.name for v in verdicts if v.kind == "property" and v.outcome == "holds"]
    plan = search.plan
    names = set() if plan is None else {q.property.name for q in may_stand_still(plan, holding)}
    return [replace(v, unexamined=why) if v.kind == "property" and v.name in names else v for v in verdicts]


def _unfair(universe: Universe, p: m.Property, trace: Trace | None) -> Iterator[str]:
    """What never happens in a run although it remains possible, so that fairness excludes this run."""
    try:
        excluded = [] if trace is None else exclusions(universe, p, trace)
    except TooManyValuesError:
        return
    for x in excluded[:SHOWN_STEPS]:
        more = f" and {len(x.steps) - SHOWN_STEPS} more" if len(x.steps) > SHOWN_STEPS else ""
        steps = ", ".join(f"`{step}`" for step in x.steps[:SHOWN_STEPS]) + more
        one = len(x.steps) == 1
        are, happen, they = ("is", "happens", "it is") if one else ("are", "happen", "they are")
        when, fair = ("in every state", "fair") if x.promise.strength == "weak" else ("in some states", "strong fair")
        names = (*x.promise.names, *(f"deliver {y.channel.rpartition('.')[2]}" for y in x.promise.deliveries))
        excludes = f"if {they} certain to happen, `under {fair} {', '.join(names)}` excludes this run"
        yield f"{steps} {are} possible {when} of the loop but never {happen}; {excludes}"


def _reliant(search: Searched, v: Verdict, a: Answer) -> Verdict:
    """A property that holds, with the run that stands still and breaks it."""
    assert search.plan is not None
    first = a.breaches[0]
    trace = counterexample(search.plan, search.graph(), a.question, first.lasso, search.shows)
    steps = steps_possible(search.universe, trace.end, finite=bool(a.question.finite))
    reliance = Reliance(steps, tuple(lines(search.universe, why(search.plan, a.question, first, trace))))
    explanation = (*v.explanation, reliance.headline, *reliance.reasons)
    return replace(v, explanation=explanation, trace=trace, relies=reliance)


def _refinement(search: Searched) -> Iterator[Verdict]:
    x = search.universe.system.refines
    if x is None:
        return
    a = refines(search.universe, x, search)
    name = search.universe.system.name
    still = f"no step of `{name}` corresponds to a step of `{x.path}`: the mapped state never changes"
    parts = () if a.moves else (within_bound(search, Untested(still, x.span)),)
    rests = basis(search) if a.trace is None else f"the shortest run: {a.trace.length}"
    stutters = a.stutters if a.moves else ()
    explanation = (*(a.explanation or vacuous_lines(parts)), *stuttering_lines(stutters, search.universe.model))
    yield Verdict(
        "refinement", x.path, a.outcome, a.reason or rests, x.span, explanation, a.trace, parts,
        stutters=stutters, images=a.images,
    )  # fmt: skip


def _unanswered(a: Answer) -> Iterator[str]:
    """Fairness that promises nothing: as documented, what it names may be an amendment's."""
    for name in a.question.unanswered:
        yield f"no instance has `{name}`, named after `under`, so that assumption has no effect"


def _untested_on_runs(
    search: Searched, a: Answer, untested: Mapping[QuestionKey, tuple[Untested, ...]]
) -> tuple[Untested, ...]:
    """What was not tested of a property: what is never true in any state, and else what is true of no fair run."""
    p = a.question.property
    never = untested.get(QuestionKey("property", p.name), ())
    fair = ("fair run" if p.under else "run") + " with finitely many crashes" * p.finite
    spans = {x.span for x in never}
    more = (Untested(_of_no_run(words(x.of), x.formula, fair), p.span) for x in a.vacuous if x.of.span not in spans)
    return (*never, *(within_bound(search, x) for x in more))


def _of_no_run(text: str, f: Formula, run: str) -> str:
    match f:
        case Until(left, right) if left == TRUE and _is_of_one_state(right):
            return f"`{text}` is never true"
        case _ if f == FALSE:
            return f"`{text}` is never true"
        case _ if _is_of_one_state(f):
            return f"`{text}` is false in the beginning"
        case _:
            return f"`{text}` is true of no {run}"


def _end(universe: Universe, trace: Trace) -> tuple[tuple[str, ...], tuple[Fault, ...]]:
    """Why a run ends although steps are possible, in words, and the faults: each step but a crash fails."""
    if trace.loop != len(trace.entries):
        return (), ()
    try:
        steps = enabled(universe, trace.end)
        failing = {f"`{fault.span.quote}`": fault for fault in unoffered(universe, trace.end)}
    except TooManyValuesError:
        return (), ()
    others = []
    for step in steps:
        fault = fire(universe, trace.end, step).fault
        if fault is None:
            others.append(step)
        else:
            failing[f"`{describe(universe, step, trace.end)}`"] = fault
    if not failing or any(not isinstance(step, CrashStep) for step in others):
        return (), ()
    names = [f"{name} ({fault.kind})" for name, fault in failing.items()]
    more = f" and {len(names) - SHOWN_STEPS} more" if len(names) > SHOWN_STEPS else ""
    which = "every possible step except a crash" if others else "every possible step"
    return (f"then {which} fails: {', '.join(names[:SHOWN_STEPS])}{more}",), tuple(failing.values())


def _is_of_one_state(f: Formula) -> bool:
    match f:
        case And(parts) | Or(parts):
            return all(map(_is_of_one_state, parts))
        case _:
            return isinstance(f, Literal)


def _run(trace: Trace) -> str:
    """`a run of 3 steps, the last 2 of them forever`."""
    count = len(trace.entries)
    if trace.loop is None:
        return f"a trace of {trace.length}"
    match count - trace.loop:
        case 0:
            ever = "and then nothing more"
        case rest if rest == count:
            ever = "again and again"
        case 1:
            ever = "the last of them forever"
        case rest:
            ever = f"the last {rest} of them forever"
    return f"a run of {trace.length}, {ever}"
