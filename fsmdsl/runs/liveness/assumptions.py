"""What verdicts about runs assume: that something keeps coming which no fairness promises, or that too little is
promised. The first is a decision of its own on the graph that the verdict was decided on. So is the second, if the
author promises something. If not, the run at hand tells which promise excludes it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.runs.liveness.answer import Answer, answers
from fsmdsl.runs.liveness.fairness import FairnessConstraints
from fsmdsl.runs.liveness.formula import And, Formula, Literal, Next, Or, Release, Until
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.plan import Crashes, Delivery, MessageWaits, Obligation, Plan, Question, UncheckedError
from fsmdsl.runs.liveness.record import Marks
from fsmdsl.runs.trace import Entry, Trace
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
from fsmdsl.step.world import TraceEvent

MAX_LOOP = 200
"""Maximum number of states of a loop that `excluding` examines."""

MAX_EDGES = 10_000_000
"""Maximum number of edges of a graph on which it is decided who stands still. It takes as long as the verdicts."""

MAX_EDGES_FOR_EACH = 1_000_000
"""The same for stronger promises, each of which takes as long as the verdict."""


def standing_still(plan: Plan, graph: Graph, names: Collection[str]) -> Iterator[Answer]:
    """Of these properties, which hold, those that are broken by a run that stands still though a step is possible."""
    questions = tuple(_bare(q) for q in may_stand_still(plan, names))
    if questions and graph.edges <= MAX_EDGES:
        still = answers(replace(plan, stutters=True, questions=questions), graph)
        yield from (a for a in still if a.outcome == "violated")


def may_stand_still(plan: Plan, names: Collection[str]) -> list[Question]:
    """The questions about these properties that a run which stands still can answer differently."""
    return [
        q
        for q in plan.questions
        if q.property.name in names and not plan.stutters and not any(map(_counts_steps, _of(q)))
    ]


def stronger(plan: Plan, graph: Graph, q: Question) -> Iterator[str]:
    """Of a property that is violated, the promises with which it holds if one of them is strong instead of weak."""
    promises: dict[str, int] = {}
    for n, o in enumerate(plan.obligations):
        name = _promise(plan.universe, o)
        if q.weak >> n & 1 and name is not None:
            promises[name] = promises.get(name, 0) | 1 << n
    for name, bits in promises.items() if graph.edges <= MAX_EDGES_FOR_EACH else ():
        question = replace(_bare(q), weak=q.weak & ~bits, strong=q.strong | bits)
        (answer,) = answers(replace(plan, questions=(question,)), graph)
        if answer.outcome == "holds":
            yield name


def excluding(universe: Universe, p: m.Property, trace: Trace) -> list[m.Fairness]:
    """The promises about a step out of the loop that exclude a run which repeats its last steps forever. What is
    possible in every state of the loop, and never happens there, is promised as weakly fair. If there is no such event,
    what is possible in some of these states is promised as strongly fair.

    The definition performs each step that is possible in the loop, if it has at most `MAX_LOOP` states. Other runs may
    violate the property nevertheless. Raises `TooManyValuesError`.
    """
    loop = [*trace.befores()][trace.loop or 0 :]
    if trace.loop is None or len(loop) > MAX_LOOP:
        return []
    performed = [[(step, fire(universe, world, step)) for step in enabled(universe, world)] for world, _ in loop]
    possible = [[(step, x.cascade) for step, x in steps if x.fault is None] for steps in performed]
    inside = {world for world, _ in loop}
    out = [step for steps in performed for step, x in steps if x.fault is None and x.world not in inside]
    promises = dict.fromkeys(_promises(universe, out))
    lacking = [(x, *_lacking(universe, replace(p, under=(x,), finite=False), loop, possible)) for x in promises]
    weak = [x for x, always, _ in lacking if always]
    return weak or [replace(x, strength="strong") for x, _, sometimes in lacking if sometimes]


def _lacking(
    universe: Universe,
    p: m.Property,
    loop: Sequence[tuple[World, Entry]],
    possible: Sequence[Sequence[tuple[Step, Sequence[TraceEvent]]]],
) -> tuple[bool, bool]:
    """Does something that a property promises never happen in a loop, although it is possible in each of its states, or
    in some of them?"""
    constraints = FairnessConstraints(universe)
    try:
        promised = constraints.of(p)[0]
    except UncheckedError:
        return False, False
    plan = Plan(universe, (), tuple(constraints.obligations), ())
    marks = Marks(plan)
    always, sometimes = promised, 0
    for (world, entry), steps in zip(loop, possible, strict=True):
        promised &= ~marks.of(world, entry.step, entry.cascade)
        offered = reduce(or_, (marks.of(world, step, cascade) for step, cascade in steps), 0)
        offered = offered & ~plan.deliveries | offered >> 1 & plan.deliveries  # behind each is its `MessageWaits`
        always, sometimes = always & offered, sometimes | offered
    return bool(promised & always), bool(promised & sometimes)


def _promises(universe: Universe, steps: Iterable[Step]) -> Iterator[m.Fairness]:
    """For each of these steps what an author can promise about it, as weakly fair."""
    for step in steps:
        match step:
            case EventStep() | OutcomeStep():
                yield m.Fairness("weak", (_name(universe, step),), ())
            case TimerStep():
                if universe.machines[step.instance].transitions[step.transition].label is not None:
                    yield m.Fairness("weak", (_name(universe, step),), ())
            case ChannelStep(kind="deliver"):
                yield m.Fairness("weak", (), (m.Delivery(universe.queues[step.queue].channel.qualified, None),))
            case ChannelStep() | CrashStep() | RecoverStep():
                pass
            case _:
                assert_never(step)


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
