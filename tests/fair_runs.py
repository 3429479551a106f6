"""What fairness asks, worked out anew from worlds, steps and what happens in them, as the semantics tell it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import textbook_liveness as textbook
from property_runs import Explored

from fsmdsl import model as m
from fsmdsl.core.triggers import trigger_name
from fsmdsl.runs.liveness.plan import Crashes, Delivery, MessageWaits, Obligation, Question
from fsmdsl.step import ChannelStep, CrashStep, EventStep, Message, Step, Value, World, enabled, fire
from fsmdsl.step.world import Crashed, Followed, Ignored, Sent, TraceEvent


class ByHand(textbook.System):
    """Deliveries are possible where the definition of `fair deliver` says so, read off the worlds."""

    possible: list[int]

    def enabled(self, state: int) -> int:
        return self.possible[state]


def violated(x: Explored, q: Question) -> bool:
    """Is there a run that is fair, and with finitely many crashes if the question says so, and breaks its formula? The
    graph with marks and possibilities worked out anew."""
    letters = [sum(1 << n for n, a in enumerate(x.plan.atoms) if a.true(x.universe, w)) for w in x.worlds]
    steps = [(n, w, s, fire(x.universe, w, s)) for n, w in enumerate(x.worlds) for s in enabled(x.universe, w)]
    led = [(n, w, s, r) for n, w, s, r in steps if r.fault is None]
    formula = as_textbook(q.property, x)
    calm, crashes, possible = [], [], [0] * len(x.worlds)
    delivers: list[set[tuple[int, Message]]] = [set() for _ in x.worlds]
    for number, world, step, result in led:
        mark = fulfilled(x, world, step, result.cascade)
        if q.property.finite and isinstance(step, CrashStep):
            crashes.append((number, x.number[result.world], mark))
            continue
        calm.append((number, x.number[result.world], mark))
        possible[number] |= mark
        if isinstance(step, ChannelStep) and step.kind == "deliver":
            delivers[number].add((step.queue, world.channels[step.queue][step.position]))
    for number, world in enumerate(x.worlds):
        for n, o in enumerate(x.plan.obligations):
            if isinstance(o, Delivery) and _possible(x, o, world, delivers[number]):
                possible[number] |= 1 << n
    if q.property.finite:
        bit = 1 << len(x.plan.obligations)
        return textbook.violated(
            textbook.calming(letters, calm, crashes, possible, bit), formula, q.weak | bit, q.strong
        )  # fmt: skip
    whole = textbook.closed(letters, calm)
    made = ByHand(whole.letters, whole.edges)
    object.__setattr__(made, "possible", possible)
    return textbook.violated(made, formula, q.weak, q.strong)


def _possible(x: Explored, o: Delivery, world: World, delivers: set[tuple[int, Message]]) -> bool:
    channel = x.universe.queues[o.queue].channel
    if channel.waiting and channel.order == "bag":
        return (o.queue, o.message) in delivers
    return o.message in world.channels[o.queue] and o.queue in {queue for queue, _ in delivers}


def matters(x: Explored, q: Question) -> bool:
    """Does what stands behind `under` decide?"""
    bare = replace(q, property=replace(q.property, finite=False), weak=0, strong=0)
    return violated(x, q) != violated(x, bare)


def fulfilled(x: Explored, world: World, step: Step, cascade: Sequence[TraceEvent]) -> int:
    """The obligations that a step fulfils, as bits."""
    found = 0
    handled = list(_handled(world, step, cascade))
    for n, o in enumerate(x.plan.obligations):
        match o:
            case Obligation():
                does = any(_does(x, o, h, arguments) for h, arguments in handled)
            case Delivery(queue, message):
                does = (
                    isinstance(step, ChannelStep)
                    and (step.kind, step.queue) == ("deliver", queue)
                    and world.channels[queue][step.position] == message
                )
            case MessageWaits() | Crashes():
                does = False
        found |= does << n
    return found


def _handled(
    world: World, step: Step, cascade: Sequence[TraceEvent]
) -> list[tuple[Followed | Ignored, tuple[Value, ...]]]:
    """What was followed or ignored, and the arguments of the event that came: as they were sent, not as the step's
    happenings tell them. What a crash has cut short does not count."""
    first: tuple[Value, ...] = ()
    if isinstance(step, EventStep):
        first = step.arguments
    if isinstance(step, ChannelStep):
        first = world.channels[step.queue][step.position].arguments
    found: list[tuple[Followed | Ignored, tuple[Value, ...]]] = []
    for before, h in pairwise([None, *cascade]):
        if isinstance(h, Crashed):
            found = []
        if isinstance(h, Followed | Ignored):
            arguments = before.arguments if isinstance(before, Sent) else first if before is None else ()
            found.append((h, arguments))
    return found


def _does(x: Explored, o: Obligation, h: Followed | Ignored, arguments: tuple[Value, ...]) -> bool:
    machine = x.universe.machines[o.instance]
    if h.instance != o.instance:
        return False
    if isinstance(h, Followed):
        meant, event = h.transition in o.transitions, trigger_name(machine.transitions[h.transition].trigger)
    else:
        meant, event = h.event in o.ignored, h.event
    if not meant or not o.arguments:
        return meant
    names = [p.name for p in machine.event_named[event or ""].parameters]
    return all(arguments[names.index(p.name)] == value for p, value in o.arguments)


def as_textbook(p: m.Property, x: Explored) -> textbook.Formula:
    """The formula of a property, over the atoms of the plan."""

    def of(e: object) -> textbook.Formula:
        match e:
            case m.Temporal(operator="always", operands=(inner,)):
                return textbook.always(of(inner))
            case m.Temporal(operator="eventually", operands=(inner,)):
                return textbook.eventually(of(inner))
            case m.Temporal(operator="~>", operands=(left, right)):
                return textbook.always(textbook.implies(of(left), textbook.eventually(of(right))))
        return ("atom", next(n for n, a in enumerate(x.plan.atoms) if a.expr == e))

    return of(p.formula)
