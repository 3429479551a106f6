"""What verdicts about runs assume: that something keeps coming which no fairness promises, or that too little is
promised. Each is a decision of its own on the graph that the verdict was decided on."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import assert_never

from fsmdsl.dataclasses import replace
from fsmdsl.runs.liveness.answer import Answer, answers
from fsmdsl.runs.liveness.formula import And, Formula, Literal, Next, Or, Release, Until
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.plan import Crashes, Delivery, MessageWaits, Obligation, Plan, Question
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    EventStep,
    OutcomeStep,
    RecoverStep,
    Step,
    TimerStep,
    Universe,
    World,
    enabled,
    fire,
)

MAX_EDGES = 1_000_000
"""Maximum number of edges of a graph on which this is decided. It takes as long as the verdicts, or longer."""


def standing_still(plan: Plan, graph: Graph, names: Collection[str]) -> Iterator[Answer]:
    """Of these properties, which hold, those that are broken by a run that stands still though a step is possible."""
    questions = tuple(
        _bare(q) for q in plan.questions if q.property.name in names and not any(map(_counts_steps, _of(q)))
    )
    if not plan.stutters and questions and graph.edges <= MAX_EDGES:
        still = answers(replace(plan, stutters=True, questions=questions), graph)
        yield from (a for a in still if a.outcome == "violated")


def stronger(plan: Plan, graph: Graph, q: Question) -> Iterator[str]:
    """Of a property that is violated, the promises with which it holds if one of them is strong instead of weak."""
    promises: dict[str, int] = {}
    for n, o in enumerate(plan.obligations):
        name = _promise(plan.universe, o)
        if q.weak >> n & 1 and name is not None:
            promises[name] = promises.get(name, 0) | 1 << n
    for name, bits in promises.items() if graph.edges <= MAX_EDGES else ():
        question = replace(_bare(q), weak=q.weak & ~bits, strong=q.strong | bits)
        (answer,) = answers(replace(plan, questions=(question,)), graph)
        if answer.outcome == "holds":
            yield name


def steps_possible(universe: Universe, world: World, *, finite: bool) -> tuple[str, ...]:
    """The steps that lead on from a world. Those that can be promised have the name that follows `under fair`. With
    `finite`, crashes are left out."""
    steps = [s for s in enabled(universe, world) if not (finite and isinstance(s, CrashStep))]
    names = (_name(universe, s) for s in steps if fire(universe, world, s).fault is None)
    return tuple(dict.fromkeys(names))


def _bare(q: Question) -> Question:
    """Without what is only asked of what holds."""
    return replace(q, claims=tuple(replace(c, premises=()) for c in q.claims))


def _of(q: Question) -> Iterator[Formula]:
    return (c.formula for c in q.claims)


def _counts_steps(f: Formula) -> bool:
    """Can a formula tell a run from one that stands still for some steps?"""
    match f:
        case Next():
            return True
        case Literal():
            return False
        case And(parts) | Or(parts):
            return any(map(_counts_steps, parts))
        case Until(left, right) | Release(left, right):
            return _counts_steps(left) or _counts_steps(right)
        case _:
            assert_never(f)


def _promise(universe: Universe, o: Obligation | Delivery | MessageWaits | Crashes) -> str | None:
    """What `under` calls an obligation; None: it is none of the author's."""
    match o:
        case Obligation(name=name):
            return name or None
        case Delivery(queue, message):
            return f"deliver {universe.queues[queue].channel.name}.{message.event}"
        case MessageWaits() | Crashes():
            return None
        case _:
            assert_never(o)


def _name(universe: Universe, step: Step) -> str:
    match step:
        case EventStep():
            return f"{universe.machines[step.instance].name}.{step.event}"
        case OutcomeStep():
            return f"{universe.machines[step.instance].name}.{step.action}.{step.outcome}"
        case TimerStep():
            machine = universe.machines[step.instance]
            t = machine.transitions[step.transition]
            return f"timeout of {machine.name} in {t.source}" if t.label is None else f"{machine.name}.{t.label}"
        case ChannelStep():
            return f"{step.kind} {universe.queues[step.queue].channel.name}"
        case CrashStep():
            return "crash"
        case RecoverStep():
            return "recover"
        case _:
            assert_never(step)
