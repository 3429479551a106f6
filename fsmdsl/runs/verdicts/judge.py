"""What a search has found, as verdicts: each question that was asked, the answer, and the evidence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from time import perf_counter

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.runs.rejection import fault_lines
from fsmdsl.runs.search_result import Searched
from fsmdsl.runs.timer_order import with_timer_order
from fsmdsl.runs.verdicts.judge_states import NO_DEADLOCK, NO_FAULT, Evidence, on_states
from fsmdsl.runs.verdicts.verdict import Coverage, Exploration, Outcome, Verdict, VerdictKind
from fsmdsl.step import Universe
from fsmdsl.text.budget import LimitError
from fsmdsl.text.source import Span


def judge(search: Searched) -> tuple[Verdict, ...]:
    """Every verdict: invariants, witnesses, steps that fail, deadlock, properties of runs, recovery.

    Where a limit comes first, what was found is reported without a run, and properties are unknown."""
    verdicts: list[Verdict] = []
    try:
        for v in _verdicts(search, Evidence(search, search.budget.reached if search.budget.raised else None)):
            verdicts.append(v)  # noqa: PERF402 - what comes before the limit stays
    except LimitError as error:
        rest = list(_verdicts(search, Evidence(search, str(error))))
        return (*verdicts, *rest[len(verdicts) :])
    return _with_timer_orders(search, _with_assumptions(search, verdicts))


def _with_assumptions(search: Searched, verdicts: list[Verdict]) -> tuple[Verdict, ...]:
    """The same verdicts, and what those about runs assume, if there is time for that."""
    if search.plan is None or all(v.kind != "property" for v in verdicts):
        return tuple(verdicts)
    from fsmdsl.runs.verdicts.judge_runs import unexamined, with_assumptions

    if search.budget.raised:
        return tuple(unexamined(search, verdicts, str(search.budget.reached)))
    try:
        return tuple(with_assumptions(search, verdicts))
    except (LimitError, MemoryError) as error:
        return tuple(unexamined(search, verdicts, str(error) or "there is not enough memory"))


def _with_timer_orders(search: Searched, verdicts: tuple[Verdict, ...]) -> tuple[Verdict, ...]:
    """The same verdicts, and which runs have an order of timers that no clock allows, if there is time for that."""
    with suppress(LimitError, MemoryError):
        return tuple([with_timer_order(search.universe, v) for v in verdicts])
    return verdicts


def judged(search: Searched, begun: float) -> Exploration:
    """All that a search, which began at such a time, has to say."""
    verdicts = _with_texts(search.universe.model, search.universe.system, judge(search))
    return Exploration(
        search.universe.system,
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
        search.at_violation,
        search.beyond,
        search.tally,
    )


def without_start(universe: Universe, begun: float) -> Exploration:
    """Of a system without a first state: that is the violation, and nothing else is checked."""
    fault, system = universe.fault, universe.system
    assert fault is not None
    explanation = fault_lines(universe, fault)
    violation = Verdict("fault", fault.kind, "violated", "the initial values", fault.span, explanation, fault=fault)
    rest = unanswered(universe.model, system, "there is no initial state", "not checked")
    verdicts = tuple(violation if v.kind == "fault" else v for v in rest)
    reason, spent = "not explored: there is no initial state", perf_counter() - begun
    return Exploration(system, 0, 0, 0, reason, spent, verdicts, Coverage((), (), ()))


def unanswered(model: m.Model, system: m.System, basis: str, outcome: Outcome = "unknown") -> tuple[Verdict, ...]:
    """The verdicts where no state was looked at: all are the same."""

    def unknown(kind: VerdictKind, name: str, span: Span, machine: str | None = None) -> Verdict:
        return Verdict(kind, name, outcome, basis, span, machine=machine)

    verdicts = [unknown("invariant", x.name, x.span) for x in system.invariants]
    for machine in (model.machines[name] for name in dict.fromkeys(i.machine for i in system.instances)):
        verdicts += [
            unknown("invariant", f"{machine.name}: {x.name}", x.span, machine.qualified) for x in machine.invariants
        ]
    verdicts += [unknown("reachable", x.name, x.span) for x in system.reachables]
    verdicts += [unknown("fault", NO_FAULT, system.span), unknown("deadlock", NO_DEADLOCK, system.span)]
    verdicts += [unknown("property", x.name, x.span) for x in system.properties]
    verdicts += [unknown("refinement", x.path, x.span) for x in (system.refines,) if x is not None]
    return _with_texts(model, system, verdicts)


def _with_texts(model: m.Model, system: m.System, verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """The same verdicts. Those about what the author gave no name have what people read instead."""
    texts: dict[tuple[VerdictKind, str | None, str], str] = {
        ("invariant", None, x.name): m.shown_name(x) for x in system.invariants if not x.is_named
    }
    for machine in (model.machines[name] for name in dict.fromkeys(i.machine for i in system.instances)):
        for x in (x for x in machine.invariants if not x.is_named):
            texts["invariant", machine.qualified, f"{machine.name}: {x.name}"] = m.shown_name(x, machine)
    texts |= {("reachable", None, x.name): m.shown_name(x) for x in system.reachables if not x.is_named}
    texts |= {("property", None, x.name): m.shown_name(x) for x in system.properties if not x.is_named}
    return tuple(replace(v, text=texts.get((v.kind, v.machine, v.name), "")) for v in verdicts)


def _verdicts(search: Searched, evidence: Evidence) -> Iterator[Verdict]:
    yield from on_states(search, evidence)
    system = search.universe.system
    if system.properties or system.refines is not None:
        from fsmdsl.runs.verdicts.judge_runs import on_runs

        yield from on_runs(search, evidence)


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
