"""What verdicts about runs assume: that something keeps coming which no fairness promises, or that too little is
promised. The first is a decision of its own on the graph that the verdict was decided on. So is the second, if the
author promises something. If not, the run at hand tells which promise excludes it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import reduce
from operator import or_
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.runs.liveness.answer import Answer, answers
from fsmdsl.runs.liveness.fairness import FairnessConstraints
from fsmdsl.runs.liveness.formula import And, Formula, Literal, Next, Or, Release, Until
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.plan import (
    Crashes,
    Delivery,
    FairnessConstraint,
    MessageWaits,
    Obligation,
    Plan,
    Question,
    UncheckedError,
)
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
from fsmdsl.step.describe import describe
from fsmdsl.step.world import TraceEvent

MAX_LOOP = 200
"""Maximum number of states of a loop that `exclusions` examines."""

MAX_EDGES = 10_000_000
"""Maximum number of edges of a graph on which a caller should ask for runs that stand still. It takes as long as the
verdicts."""

MAX_EDGES_FOR_EACH = 1_000_000
"""The same for stronger promises, each of which takes as long as the verdict."""


def standing_still(plan: Plan, graph: Graph, names: Collection[str]) -> Iterator[Answer]:
    """Of these properties, which hold, those that are broken by a run that stands still though a step is possible."""
    questions = tuple(_bare(q) for q in may_stand_still(plan, names))
    if questions:
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


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A promise that excludes a run which repeats its last steps forever, and the steps out of this loop, in words,
    that never happen in it, although the promise is about them. They are possible in every state of the loop if the
    promise is a weak one, otherwise in some."""

    promise: m.Fairness
    steps: tuple[str, ...]


def exclusions(universe: Universe, p: m.Property, trace: Trace) -> list[Exclusion]:
    """The promises that exclude a counterexample; strong ones only if there is no weak one.

    The definition performs each step that is possible in the loop, if it has at most `MAX_LOOP` states. Other runs may
    violate the property nevertheless. Raises `TooManyValuesError`.
    """
    loop = [*trace.befores()][trace.loop or 0 :]
    if trace.loop is None or len(loop) > MAX_LOOP:
        return []
    performed = [[(step, fire(universe, world, step)) for step in enabled(universe, world)] for world, _ in loop]
    possible = [[(step, x.cascade) for step, x in steps if x.fault is None] for steps in performed]
    inside = {world for world, _ in loop}
    ways_out: dict[m.Fairness, dict[FairnessConstraint, str]] = {}
    for (world, _), steps in zip(loop, performed, strict=True):
        for step, x in steps:
            if x.fault is None and x.world not in inside:
                for promise, constraint in _promises(universe, step, world):
                    ways_out.setdefault(promise, {})[constraint] = _instance_step(universe, step, world)
    weak, strong = [], []
    for promise, steps_out in ways_out.items():
        always, sometimes = _lacking(universe, replace(p, under=(promise,), finite=False), loop, possible)
        weak.append(Exclusion(promise, tuple(text for x, text in steps_out.items() if x in always)))
        steps_lacking = tuple(text for x, text in steps_out.items() if x in sometimes)
        strong.append(Exclusion(replace(promise, strength="strong"), steps_lacking))
    return [x for x in weak if x.steps] or [x for x in strong if x.steps]


def _lacking(
    universe: Universe,
    p: m.Property,
    loop: Sequence[tuple[World, Entry]],
    possible: Sequence[Sequence[tuple[Step, Sequence[TraceEvent]]]],
) -> tuple[set[FairnessConstraint], set[FairnessConstraint]]:
    """What a property promises and never happens in a loop, although it is possible in each of its states, or in some
    of them."""
    constraints = FairnessConstraints(universe)
    try:
        always = constraints.of(p)[0]
    except UncheckedError:
        return set(), set()
    marks = Marks(Plan(universe, (), tuple(constraints.obligations), ()))
    happens = sometimes = 0
    for (world, entry), steps in zip(loop, possible, strict=True):
        happens |= marks.of(world, entry.step, entry.cascade)
        offered = reduce(or_, (marks.of(world, step, cascade) for step, cascade in steps), 0)
        always, sometimes = always & offered, sometimes | offered

    def lacking(bits: int) -> set[FairnessConstraint]:
        return {x for n, x in enumerate(constraints.obligations) if bits & ~happens & 1 << n}

    return lacking(always), lacking(sometimes)


def _promises(universe: Universe, step: Step, world: World) -> Iterator[tuple[m.Fairness, FairnessConstraint]]:
    """What an author can promise about a step, as weakly fair, and what this asks of the step's own instance or
    queue."""
    match step:
        case EventStep() | OutcomeStep() | TimerStep():
            name = _name(universe, step)
            if not isinstance(step, TimerStep) or universe.machines[step.instance].transitions[step.transition].label:
                yield m.Fairness("weak", (name,), ()), Obligation(step.instance, name, frozenset(), frozenset())
        case ChannelStep(kind="deliver"):
            message = world.channels[step.queue][step.position]
            delivery = m.Delivery(universe.queues[step.queue].channel.qualified, None)
            yield m.Fairness("weak", (), (delivery,)), Delivery(step.queue, message)
        case ChannelStep() | CrashStep() | RecoverStep():
            pass
        case _:
            assert_never(step)


def _instance_step(universe: Universe, step: Step, world: World) -> str:
    """A step in words, with its instance or queue. An event has no arguments: one promise is about all of them."""
    if isinstance(step, EventStep):
        return f"{universe.name(step.instance)}.{step.event}"
    return describe(universe, step, world)


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
