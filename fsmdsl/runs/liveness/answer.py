"""What is true of the runs of a system: an answer to each of its properties, and counterexamples."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Literal

from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.runs.disagreement import disagreement
from fsmdsl.runs.liveness.automaton import TooLargeError
from fsmdsl.runs.liveness.decide import Prepared, decide
from fsmdsl.runs.liveness.finally_never import FinallyNever, finally_never
from fsmdsl.runs.liveness.formula import Formula, negation
from fsmdsl.runs.liveness.graph import STAYS, Graph, Hop, Lasso
from fsmdsl.runs.liveness.plan import Claim, Plan, Premise, Question
from fsmdsl.runs.liveness.record import Marks
from fsmdsl.runs.liveness.standstill import Standstill, along, decided
from fsmdsl.runs.liveness.stutter import stuttering, unstuttered
from fsmdsl.runs.trace import Entry, Trace, taken
from fsmdsl.step import World, enabled
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class Breach:
    """A claim, and a fair counterexample to it."""

    claim: Claim
    lasso: Lasso
    stuck: Standstill
    """In which states of the run the atoms `stuck(x)` are true."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question. `unknown`: nothing breaks it in the part of the graph that was explored.

    `breaches` are those of different claims, the one with the shortest run first. `vacuous` are the premises
    that never come true, for none of the claims that have them: of each condition one.
    """

    question: Question
    outcome: Literal["holds", "violated", "unknown", "not checked"]
    reason: str = ""
    """Why it was not checked."""
    breaches: tuple[Breach, ...] = ()
    vacuous: tuple[Premise, ...] = ()


def answers(plan: Plan, graph: Graph) -> Iterator[Answer]:
    """Decide the properties of a plan on a graph that was recorded for it, one after the other."""
    graph = replace(graph, bound=plan.bound)
    prepared = Prepared(stuttering(graph) if plan.stutters else graph, deliveries=plan.deliveries)
    decided(prepared, plan.stuck)
    finite = next((q.finite for q in plan.questions if q.finite), 0)
    eventual = finally_never(prepared, finite) if finite else None
    for q in plan.questions:
        answer = _answer(plan, q, prepared, eventual if q.finite else None, graph.expanded is None)
        if plan.stutters:
            runs = ((b.claim, unstuttered(b.lasso, graph, prepared.offsets)) for b in answer.breaches)
            answer = replace(answer, breaches=tuple(Breach(c, x, along(prepared, plan, x)) for c, x in runs))
        yield answer


def _answer(plan: Plan, q: Question, graph: Prepared, eventual: FinallyNever | None, complete: bool) -> Answer:
    if q.unchecked is not None:
        return Answer(q, "not checked", q.unchecked)
    try:
        lassos = [(c, _broken(q, c.formula, graph, eventual)) for c in q.claims]
        breaches = [Breach(c, lasso, along(graph, plan, lasso)) for c, lasso in lassos if lasso is not None]
        if breaches:
            breaches.sort(key=lambda b: len(b.lasso.stem) + len(b.lasso.loop))
            return Answer(q, "violated", breaches=tuple(breaches))
        return Answer(q, "holds", vacuous=_vacuous(q, graph, eventual)) if complete else Answer(q, "unknown")
    except TooLargeError as error:
        return Answer(q, "not checked", str(error))


def _broken(q: Question, formula: Formula, graph: Prepared, eventual: FinallyNever | None) -> Lasso | None:
    """A run that breaks a formula, of those that a question is about."""
    if eventual is None:
        return decide(graph, formula, q.weak, q.strong)
    lasso = decide(eventual.graph, formula, q.weak, q.strong, q.finite)
    return None if lasso is None else eventual.back(lasso)


def _vacuous(q: Question, graph: Prepared, eventual: FinallyNever | None) -> tuple[Premise, ...]:
    """The premises that no fair run satisfies."""
    formulas: dict[tuple[Span, Formula], Premise] = {(p.of.span, p.formula): p for c in q.claims for p in c.premises}
    nonvacuous = {span for span, formula in formulas if _broken(q, negation(formula), graph, eventual) is not None}
    return tuple({span: p for (span, _), p in formulas.items() if span not in nonvacuous}.values())


# Showing a run -------------------------------------------------------------------------------------------------------


def counterexample(plan: Plan, graph: Graph, q: Question, lasso: Lasso, shows: Callable[[World, int], bool]) -> Trace:
    """The steps of a lasso, fired anew; `shows` says whether a world is that of a state, by its number.

    Without a `loop`, the trace has broken the property, and any way to go on does. Where a state stands for several
    worlds, the steps of the loop are repeated until they come back to the same one.
    """
    first = next((h.source for h in (*lasso.stem, *lasso.loop)), lasso.state)
    run = _Run(plan, graph, shows, q.weak | q.strong, q.finite, first)
    for h in lasso.stem:
        run.follow(h)
    if not lasso.loop:
        return run.trace(None)
    begun: dict[World, int] = {}
    while run.world not in begun:
        begun[run.world] = len(run.entries)
        for h in lasso.loop[:-1]:
            run.follow(h)
        run.follow(lasso.loop[-1], begun.keys())
    return run.trace(begun[run.world])


class _Run:
    """A run under way, along edges of a graph."""

    def __init__(
        self, plan: Plan, graph: Graph, shows: Callable[[World, int], bool], used: int, finite: int, first: int
    ) -> None:
        self.plan = plan
        self.graph = graph
        self.shows = shows
        self.used = used
        """The obligations that count."""
        self.finite = finite
        """What happens finitely often."""
        self.marks = Marks(plan)
        self.world = self.start = next(w for w in plan.universe.starts if shows(w, first))
        self.entries: list[Entry] = []

    def trace(self, loop: int | None) -> Trace:
        """The run, and where its loop begins."""
        return Trace(self.plan.universe, self.start, tuple(self.entries), loop)

    def follow(self, h: Hop, rather: Collection[World] = ()) -> None:
        """Take a step along an edge, rather one to these worlds; where the run stays, there is none."""
        if h.edge == STAYS:
            return
        candidates = list(self._along(h))
        if not candidates:
            what = f"a step from state {h.source} to state {h.target} of the graph"
            raise disagreement(self.plan.universe, self.world, what, "found", "not found")
        entry = next((e for e in candidates if e.world in rather), candidates[0])
        self.entries.append(entry)
        self.world = entry.world

    def _along(self, h: Hop) -> Iterator[Entry]:
        """The steps that lead to the target and fulfil at least as much as the edge; of what happens finitely often,
        just as much."""
        marks = self.graph.marks[h.edge]
        for step in enabled(self.plan.universe, self.world):
            entry = taken(self.plan.universe, self.world, step)
            leads = entry.fault is None and self.shows(entry.world, h.target)
            fulfils = self.marks.of(self.world, step, entry.cascade) if leads else 0
            if leads and (marks & self.used & ~fulfils) | ((marks ^ fulfils) & self.finite) == 0:
                yield entry
