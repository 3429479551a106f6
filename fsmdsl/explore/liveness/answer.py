"""What is true of the runs of a system: an answer to each of its properties, and runs that break them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from fsmdsl.explore.liveness.automaton import TooLargeError
from fsmdsl.explore.liveness.decide import Prepared, decide
from fsmdsl.explore.liveness.formula import negation
from fsmdsl.explore.liveness.graph import STAYS, Graph, Hop, Lasso
from fsmdsl.explore.liveness.plan import Claim, Plan, Question
from fsmdsl.explore.liveness.record import Marks
from fsmdsl.explore.trace import Entry, Trace
from fsmdsl.step import World, enabled, fire


@dataclass(frozen=True, slots=True)
class Breach:
    """A claim, and a fair run that breaks it."""

    claim: Claim
    lasso: Lasso


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a question. `unknown`: nothing breaks it in the part of the graph that was explored.

    `breaches` are those of different claims, the one with the shortest run first. `vacuous` are the premises, in the
    author's words, that never come true, for none of the claims that have them.
    """

    question: Question
    outcome: Literal["holds", "violated", "unknown", "not checked"]
    reason: str = ""
    """Why it was not checked."""
    breaches: tuple[Breach, ...] = ()
    vacuous: tuple[str, ...] = ()


def answers(plan: Plan, graph: Graph) -> Iterator[Answer]:
    """Decide the properties of a plan on a graph that was recorded for it, one after the other."""
    prepared = Prepared(graph)
    for q in plan.questions:
        yield _answer(q, prepared, graph.expanded is None)


def _answer(q: Question, graph: Prepared, complete: bool) -> Answer:
    if q.unchecked is not None:
        return Answer(q, "not checked", q.unchecked)
    try:
        decided = [(c, decide(graph, c.formula, q.weak, q.strong)) for c in q.claims]
        breaches = [Breach(c, lasso) for c, lasso in decided if lasso is not None]
        if breaches:
            breaches.sort(key=lambda b: len(b.lasso.stem) + len(b.lasso.loop))
            return Answer(q, "violated", breaches=tuple(breaches))
        return Answer(q, "holds", vacuous=_vacuous(q, graph)) if complete else Answer(q, "unknown")
    except TooLargeError as error:
        return Answer(q, "not checked", str(error))


def _vacuous(q: Question, graph: Prepared) -> tuple[str, ...]:
    """The premises that no fair run satisfies."""
    premises = list(dict.fromkeys(p for c in q.claims for p in c.premises))
    found = {p.shown for p in premises if decide(graph, negation(p.formula), q.weak, q.strong) is not None}
    return tuple(dict.fromkeys(p.shown for p in premises if p.shown not in found))


# Showing a run -------------------------------------------------------------------------------------------------------


def counterexample(plan: Plan, graph: Graph, q: Question, lasso: Lasso, world: Callable[[int], World]) -> Trace:
    """The steps of a lasso, fired anew; `world` gives the world of a state by its number.

    Without a `loop`, the trace has broken the property, and any way to go on does.
    """
    marks = Marks(plan)
    hops = [h for h in (*lasso.stem, *lasso.loop) if h.edge != STAYS]
    entries = tuple(_entry(plan, h, world, marks, graph.marks[h.edge] & (q.weak | q.strong)) for h in hops)
    return Trace(plan.universe, plan.universe.start, entries, len(lasso.stem) if lasso.loop else None)


def _entry(plan: Plan, h: Hop, world: Callable[[int], World], marks: Marks, least: int) -> Entry:
    """A step that leads from one world to the other and fulfils at least this much."""
    before, after = world(h.source), world(h.target)
    for step in enabled(plan.universe, before):
        result = fire(plan.universe, before, step)
        if result.fault is None and result.world == after and least & ~marks.of(result.cascade) == 0:
            return Entry(step, result.cascade, result.world)
    raise ValueError(f"no step leads from state {h.source} to state {h.target}: the graph is of another system")
