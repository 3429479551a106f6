"""Which steps can come next: answers, events, timers, what channels do, and crashes of some instances alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from fsmdsl import model as m
from fsmdsl.step.cascade import StepInProgress, guard_holds
from fsmdsl.step.evaluate import Frame, evaluate, iterate, reference, truth
from fsmdsl.step.world import (
    ChannelStep,
    CrashStep,
    EventStep,
    FaultError,
    Message,
    OutcomeStep,
    Pending,
    Step,
    TimerStep,
    Value,
)

# What can come next --------------------------------------------------------------------------------------------------


def offers(draft: StepInProgress) -> Iterator[Step]:
    """All steps but crashes, which come at any time. While an answer is awaited, the system stands still; an `async`
    action holds up its own machine only."""
    yield from _outcomes(draft)
    if standing_still(draft) is None:
        yield from _events(draft)
        yield from _timers(draft)
        yield from _transmissions(draft)


def standing_still(draft: StepInProgress) -> Pending | None:
    """The first pending action that is not `async`."""
    return next((p for p in draft.pending if not awaited(draft, p).asynchronous), None)


def answerable(draft: StepInProgress) -> list[Pending]:
    """The pending actions that can be answered now."""
    first = standing_still(draft)
    return list(dict.fromkeys(draft.pending)) if first is None else [first]


def _outcomes(draft: StepInProgress) -> Iterator[Step]:
    for p in answerable(draft):
        yield from (OutcomeStep(p.instance, p.action, o) for o in awaited(draft, p).outcomes)


def awaited(draft: StepInProgress, p: Pending) -> m.Action:
    """The action that is pending."""
    return draft.universe.machines[p.instance].action_named[p.action]


def _events(draft: StepInProgress) -> Iterator[Step]:
    """As the system's `environment` says; without one, every event from the environment, with all arguments."""
    offers = draft.universe.system.offers
    if offers is None:
        for instance, event, combinations in draft.universe.unrestricted:
            for arguments in combinations:
                if _accepts(draft, instance, event, arguments):
                    yield EventStep(instance, event, arguments)
    else:
        for o in offers:
            yield from _line(draft, o, partial(_event, draft, o))


def process_crashes(draft: StepInProgress) -> Iterator[Step]:
    """The crashes of instances that the environment offers. Instances that crash together are in order of their
    numbers."""
    for o in draft.universe.system.process_crashes:
        yield from _line(draft, o, partial(_crash, o))


def _line(
    draft: StepInProgress, o: m.Offer | m.ProcessCrash, offered: Callable[[Frame], Step | None]
) -> Iterator[Step]:
    """What a line of the environment offers, for all values of its variables. Each offer is evaluated by itself: one
    that has no value is not offered, and its fault is noted."""
    frame = draft.frame(None)
    for _ in _bound(draft, frame, o.variables):
        try:
            step = None if o.guard is not None and not truth(frame, o.guard) else offered(frame)
        except FaultError as error:
            draft.unoffered.append(error.fault)
        else:
            if step is not None:
                yield step


def _bound(draft: StepInProgress, frame: Frame, variables: Sequence[tuple[str, m.Expr]]) -> Iterator[None]:
    """Binds variables to all values that they run through."""
    if not variables:
        yield
        return
    (name, over), *rest = variables
    try:
        values = iterate(frame, over)
    except FaultError as error:
        draft.unoffered.append(error.fault)
        return
    for x in values:
        frame.locals[name] = x
        yield from _bound(draft, frame, rest)


def _event(draft: StepInProgress, o: m.Offer, frame: Frame) -> EventStep | None:
    """The event of a line, where its receiver accepts it."""
    instance = reference(frame, o.target)
    arguments = tuple(evaluate(frame, a) for a in o.arguments)
    return EventStep(instance, o.event, arguments) if _accepts(draft, instance, o.event, arguments) else None


def _crash(o: m.ProcessCrash, frame: Frame) -> CrashStep:
    return CrashStep(of=tuple(sorted({reference(frame, x) for x in o.targets})))


def _accepts(draft: StepInProgress, instance: int, event: str, arguments: tuple[Value, ...]) -> bool:
    """Is some transition of an event enabled, in an instance that waits for no answer?"""
    levels = draft.universe.candidates(instance, draft.states[instance], event)
    if not levels or draft.awaits(instance) is not None:
        return False
    return any(_may_follow(draft, instance, t, arguments) for level in levels for t in level)


def _takes(draft: StepInProgress, receiver: int, message: Message) -> bool:
    """Is a message handled, or ignored on purpose?"""
    ignores = draft.universe.ignores(receiver, draft.states[receiver], message.event)
    return _accepts(draft, receiver, message.event, message.arguments) or ignores


def _may_follow(draft: StepInProgress, instance: int, t: m.Transition, arguments: tuple[Value, ...] = ()) -> bool:
    try:
        return guard_holds(draft, instance, t, arguments)
    except FaultError:
        return True


def _timers(draft: StepInProgress) -> Iterator[Step]:
    """A timer may fire at any moment while its source is active and its guard holds."""
    for instance, state in enumerate(draft.states):
        if draft.awaits(instance) is None:
            for t in draft.universe.timers(instance, state):
                if _may_follow(draft, instance, t):
                    yield TimerStep(instance, t.index)


def _transmissions(draft: StepInProgress) -> Iterator[Step]:
    """What channels do: deliver (a fifo its first message, a bag any; a waiting one only what its receiver handles or
    ignores), and as declared lose or duplicate any."""
    for queue, (channel, receiver, _) in enumerate(draft.universe.queues):
        messages = draft.channels[queue]
        distinct = [n for n, x in enumerate(messages) if n == 0 or messages[n - 1] != x]
        if draft.awaits(receiver) is None:
            for n in distinct if channel.order == "bag" else distinct[:1]:
                if not channel.waiting or _takes(draft, receiver, messages[n]):
                    yield ChannelStep("deliver", queue, n)
        if channel.lossy:
            yield from (ChannelStep("lose", queue, n) for n in distinct)
        if channel.duplicating and len(messages) < channel.bound:
            yield from (ChannelStep("duplicate", queue, n) for n in distinct)
