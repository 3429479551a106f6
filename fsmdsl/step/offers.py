"""Which steps can come next: answers, events, timers, what channels do, and crashes of some instances alone."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.step.cascade import Draft, guard_holds
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


def offers(draft: Draft) -> Iterator[Step]:
    """All steps but crashes, which come at any time. While an answer is awaited, the system stands still; an `async`
    action holds up its own machine only."""
    yield from _outcomes(draft)
    if standing_still(draft) is None:
        yield from _events(draft)
        yield from _timers(draft)
        yield from _transmissions(draft)


def standing_still(draft: Draft) -> Pending | None:
    """The first pending action that is not `async`."""
    return next((p for p in draft.pending if not awaited(draft, p).asynchronous), None)


def answerable(draft: Draft) -> list[Pending]:
    """The pending actions that can be answered now."""
    first = standing_still(draft)
    return list(dict.fromkeys(draft.pending)) if first is None else [first]


def _outcomes(draft: Draft) -> Iterator[Step]:
    for p in answerable(draft):
        yield from (OutcomeStep(p.instance, p.action, o) for o in awaited(draft, p).outcomes)


def awaited(draft: Draft, p: Pending) -> m.Action:
    """The action that is pending."""
    return draft.universe.machines[p.instance].action_named[p.action]


def _events(draft: Draft) -> Iterator[Step]:
    """As the system's `environment` says; without one, every event from the environment, with all arguments."""
    offers = draft.universe.system.offers
    if offers is None:
        for instance, event, combinations in draft.universe.unrestricted:
            for arguments in combinations:
                if _accepts(draft, instance, event, arguments):
                    yield EventStep(instance, event, arguments)
    else:
        for o in offers:
            frame = draft.frame(None)
            for _ in _choices(frame, o, 0):
                instance = reference(frame, o.target)
                arguments = tuple(evaluate(frame, a) for a in o.arguments)
                if _accepts(draft, instance, o.event, arguments):
                    yield EventStep(instance, o.event, arguments)


def process_crashes(draft: Draft) -> Iterator[Step]:
    """As the environment says: whoever crashes together, in the order in which they were made."""
    for o in draft.universe.system.process_crashes:
        frame = draft.frame(None)
        for _ in _choices(frame, o, 0):
            yield CrashStep(of=tuple(sorted({reference(frame, x) for x in o.targets})))


def _choices(frame: Frame, o: m.Offer | m.ProcessCrash, depth: int) -> Iterator[None]:
    """Binds the variables of one line of the environment, from the given one on, to all values for which it holds."""
    if depth < len(o.variables):
        name, over = o.variables[depth]
        for x in iterate(frame, over):
            frame.locals[name] = x
            yield from _choices(frame, o, depth + 1)
    elif o.guard is None or truth(frame, o.guard):
        yield


def _accepts(draft: Draft, instance: int, event: str, arguments: tuple[Value, ...]) -> bool:
    """Is some transition of an event enabled, in an instance that waits for no answer?"""
    levels = draft.universe.candidates(instance, draft.states[instance], event)
    if not levels or draft.awaits(instance) is not None:
        return False
    return any(_may_follow(draft, instance, t, arguments) for level in levels for t in level)


def _takes(draft: Draft, receiver: int, message: Message) -> bool:
    """Is a message handled, or ignored on purpose?"""
    ignores = draft.universe.ignores(receiver, draft.states[receiver], message.event)
    return _accepts(draft, receiver, message.event, message.arguments) or ignores


def _may_follow(draft: Draft, instance: int, t: m.Transition, arguments: tuple[Value, ...] = ()) -> bool:
    try:
        return guard_holds(draft, instance, t, arguments)
    except FaultError:
        return True


def _timers(draft: Draft) -> Iterator[Step]:
    """A timer may fire at any moment while its source is active and its guard holds."""
    for instance, state in enumerate(draft.states):
        if draft.awaits(instance) is None:
            for t in draft.universe.timers(instance, state):
                if _may_follow(draft, instance, t):
                    yield TimerStep(instance, t.index)


def _transmissions(draft: Draft) -> Iterator[Step]:
    """What channels do: deliver (a fifo its first message, a bag any; a waiting one only what its receiver handles or
    ignores), and as declared lose or duplicate any."""
    for queue, (channel, receiver, _) in enumerate(draft.universe.queues):
        held = draft.channels[queue]
        distinct = [n for n, x in enumerate(held) if n == 0 or held[n - 1] != x]
        if draft.awaits(receiver) is None:
            for n in distinct if channel.order == "bag" else distinct[:1]:
                if not channel.waiting or _takes(draft, receiver, held[n]):
                    yield ChannelStep("deliver", queue, n)
        if channel.lossy:
            yield from (ChannelStep("lose", queue, n) for n in distinct)
        if channel.duplicating and len(held) < channel.bound:
            yield from (ChannelStep("duplicate", queue, n) for n in distinct)
