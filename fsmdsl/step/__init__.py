"""The definition of the language: what a system can do next, and what the world is then.

Everything else (the fast explorer, generated classes, exported models) must agree with this module and with `cascade`.

A step is an event from outside, the answer to an action, a timer, a delivery, a crash or a recovery, with everything it
causes. It is atomic: it ends in the world after it, or in a fault and the world before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.step.cascade import (
    CrashPointError,
    GuardsSeen,
    StepInProgress,
    deliver,
    finish_round,
    follow,
    guard_holds,
    handle,
    perform,
)
from fsmdsl.step.crash import crash, crash_alone
from fsmdsl.step.data import RecordValue
from fsmdsl.step.evaluate import Frame, TooManyValuesError, evaluate, truth
from fsmdsl.step.offers import answerable, awaited, offers, process_crashes, standing_still
from fsmdsl.step.universe import Universe
from fsmdsl.step.world import (
    Assigned,
    ChannelStep,
    Crashed,
    CrashStep,
    Down,
    EventStep,
    Fault,
    FaultError,
    FaultKind,
    Followed,
    Full,
    Ignored,
    Message,
    NoMessage,
    NotAwaited,
    NotDown,
    NoTimer,
    OutcomeStep,
    Pending,
    Posted,
    RecoverStep,
    Refused,
    Requested,
    Sent,
    StandsStill,
    Step,
    TimerStep,
    TraceEvent,
    Value,
    Waiting,
    World,
)

__all__ = [
    "Assigned",
    "ChannelStep",
    "CrashStep",
    "Crashed",
    "EventStep",
    "Fault",
    "FaultError",
    "FaultKind",
    "Followed",
    "GuardsSeen",
    "Ignored",
    "Message",
    "OutcomeStep",
    "Pending",
    "Posted",
    "RecordValue",
    "RecoverStep",
    "Refused",
    "Requested",
    "Result",
    "Sent",
    "Step",
    "TimerStep",
    "TooManyValuesError",
    "TraceEvent",
    "Universe",
    "Value",
    "World",
    "enabled",
    "ended",
    "fire",
    "holds",
    "initial",
    "may_rest",
    "rests",
    "stuck",
    "unoffered",
    "value",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Result:
    """The world after a step and what happened, in order; with a fault, the world before, and what happened so far."""

    world: World
    cascade: tuple[TraceEvent, ...]
    fault: Fault | None = None


# The five functions --------------------------------------------------------------------------------------------------


def initial(universe: Universe) -> World:
    """The world in which a system begins; one of `universe.starts` if fields begin with any value. If `universe.fault`
    is set, it cannot begin so."""
    return universe.start


def enabled(universe: Universe, world: World, seen: GuardsSeen | None = None) -> list[Step]:
    """The steps that can come next, in a fixed order, each once.

    An environment event is offered where some transition for it is enabled (one that is ignored would change nothing);
    so is one whose guard cannot be computed, so that firing it shows the fault. What the environment itself gives no
    value is not offered: see `unoffered`. Raises `TooManyValuesError` for a set too large to enumerate. Guards that
    are looked at are added to `seen`.
    """
    return _offered(StepInProgress(universe, world, seen))


def unoffered(universe: Universe, world: World) -> list[Fault]:
    """Why something is not offered: the faults of what has no value in the environment, each once. They count as steps
    that fail. Raises `TooManyValuesError`."""
    draft = StepInProgress(universe, world)
    _offered(draft)
    return list(dict.fromkeys(draft.unoffered))


def fire(universe: Universe, world: World, step: Step, seen: GuardsSeen | None = None) -> Result:
    """Take a step. It need not be an enabled one; what cannot be done is a fault. Guards that are looked at are added
    to `seen`."""
    draft = StepInProgress(universe, world, seen)
    try:
        _take(draft, step)
    except FaultError as error:
        return Result(world, tuple(draft.cascade), error.fault)
    return Result(draft.world(), tuple(draft.cascade))


def holds(
    universe: Universe, world: World, e: m.Expr, locals: Mapping[str, Value] | None = None, instance: int | None = None
) -> bool:
    """Is a predicate true in a world? Of the system, or of an instance. Raises `FaultError` where it has no value."""
    return truth(Frame(universe, world, instance, locals), e)


def value(
    universe: Universe, world: World, e: m.Expr, instance: int | None = None, locals: Mapping[str, Value] | None = None
) -> Value:
    """What an expression is worth in a world. Raises `FaultError` where it has no value."""
    return evaluate(Frame(universe, world, instance, locals), e)


def within(universe: Universe, world: World) -> bool:
    """Is a world inside all bounds of its system (`explore while`)? A bound without a value is not true."""
    try:
        return all(holds(universe, world, x) for x in universe.system.bounds)
    except FaultError:
        return False


def ended(universe: Universe, world: World, steps: list[Step]) -> bool:
    """Does nothing lead on from a world in which these steps are enabled? A crash leads nowhere. An event that is not
    offered because it has no value counts as a step that fails."""
    if any(not isinstance(s, CrashStep) for s in steps):
        return False
    draft = StepInProgress(universe, world)
    return not [*offers(draft), *draft.unoffered]


def stuck(universe: Universe, world: World, steps: list[Step]) -> bool:
    """Is a world in which these steps are enabled a deadlock: none of them leads on (see `ended`), and the system may
    not rest there (see `may_rest`)?"""
    return ended(universe, world, steps) and not may_rest(universe, world)


def may_rest(universe: Universe, world: World) -> bool:
    """May a system stay in a world for ever? Not while a message waits; else where its `may rest when` is true, or each
    instance of a machine with final states is in a final or resting state. In a system without final states each
    instance must be in a resting state."""
    if any(world.channels):
        return False
    if rests(universe, world):
        return True
    states = [(x, x.state_named[s]) for x, s in zip(universe.machines, world.states, strict=True)]
    # A system without instances rests nowhere: it has been left empty by mistake.
    needed = [s for x, s in states if x.has_final] or [s for _, s in states]
    return bool(needed) and all(s.permits_rest for s in needed)


def rests(universe: Universe, world: World) -> bool:
    """Is one `may rest when` of the system true in a world? One without a value is not."""
    for x in universe.system.rests:
        with suppress(FaultError):
            if holds(universe, world, x):
                return True
    return False


# When the system can crash -------------------------------------------------------------------------------------------


def _offered(draft: StepInProgress) -> list[Step]:
    if draft.down:
        return list(dict.fromkeys([RecoverStep(), *_crashes_of_recovery(draft)]))
    steps = list(offers(draft))
    return list(dict.fromkeys([*steps, *_crashes(draft, steps), *process_crashes(draft)]))


def _crashes(draft: StepInProgress, steps: list[Step]) -> Iterator[Step]:
    """As the environment says: between steps, and between the writes of each step that ends well."""
    for o in draft.universe.system.crashes:
        if o.kind == "during recovery" or not _applies(draft, o):
            continue
        if o.kind == "anywhere":
            yield CrashStep()
        else:
            for s in steps:
                yield from (CrashStep(s, n) for n in range(1, _writes(draft, s)))


def _crashes_of_recovery(draft: StepInProgress) -> Iterator[Step]:
    """Before the first write of `recover`, and after each but the last."""
    for o in draft.universe.system.crashes:
        if o.kind == "during recovery" and _applies(draft, o):
            yield from (CrashStep(RecoverStep(), n) for n in range(max(_writes(draft, RecoverStep()), 1)))


def _applies(draft: StepInProgress, o: m.CrashOffer) -> bool:
    try:
        return o.guard is None or truth(draft.frame(None), o.guard)
    except FaultError as error:
        draft.unoffered.append(error.fault)
        return False


def _writes(draft: StepInProgress, step: Step) -> int:
    """Number of writes that a step makes; 0 if it fails."""
    trial = StepInProgress(draft.universe, draft.world(), draft.seen)
    try:
        _take(trial, step)
    except FaultError:
        return 0
    return trial.writes


# Taking a step -------------------------------------------------------------------------------------------------------


def _take(draft: StepInProgress, step: Step) -> None:
    match step:
        case EventStep(instance, event, arguments):
            _check_ready(draft, instance, event)
            span = draft.universe.machines[instance].event_named[event].span
            deliver(draft, instance, event, arguments, span)
        case OutcomeStep():
            _answer(draft, step)
        case TimerStep():
            _time_out(draft, step)
        case ChannelStep():
            _transmit(draft, step)
        case RecoverStep():
            _recover(draft)
        case CrashStep(inside, writes, of):
            _interrupt(draft, inside, writes, of)
            return
        case _:
            assert_never(step)
    finish_round(draft)


def _check_ready(draft: StepInProgress, instance: int, what: str) -> None:
    """Nothing comes from outside while the system is down, or stands still for an answer."""
    span = draft.universe.system.span
    if draft.down:
        raise FaultError(Down(what), instance, span)
    first = standing_still(draft)
    if first is not None:
        cause = StandsStill(what, first.instance, first.action)
        raise FaultError(cause, instance, awaited(draft, first).span)


def _answer(draft: StepInProgress, step: OutcomeStep) -> None:
    """The answer ends the waiting, and the round goes on, even where the answer is ignored."""
    pending = Pending(step.instance, step.action)
    action = awaited(draft, pending)
    if pending not in answerable(draft):
        raise FaultError(NotAwaited(step.action, step.outcome), step.instance, action.span)
    draft.pending.remove(pending)
    draft.touched.add(step.instance)
    handle(draft, step.instance, f"{step.action}.{step.outcome}", (), action.span)


def _time_out(draft: StepInProgress, step: TimerStep) -> None:
    """A timer fires only in its source, and while its guard holds."""
    instance, state = step.instance, draft.states[step.instance]
    t = draft.universe.machines[instance].transitions[step.transition]
    _check_ready(draft, instance, t.name)
    action = draft.awaits(instance)
    if action is not None:
        raise FaultError(Waiting(None, action), instance, t.span)
    runs = t in draft.universe.timers(instance, state)
    if not runs or not guard_holds(draft, instance, t):
        refused = Refused((t.index,), draft.world()) if runs else None
        raise FaultError(NoTimer(t.index, state), instance, t.span, refused)
    follow(draft, instance, t)


def _transmit(draft: StepInProgress, step: ChannelStep) -> None:
    """A message delivered leaves its queue and is handled; one lost leaves it; one duplicated is there twice."""
    channel, instance, _ = draft.universe.queues[step.queue]
    messages = draft.channels[step.queue]
    _check_ready(draft, instance, channel.name)
    if step.position >= len(messages):
        raise FaultError(NoMessage(step.queue), None, channel.span)
    message, rest = messages[step.position], messages[: step.position] + messages[step.position + 1 :]
    if step.kind == "duplicate":
        if len(messages) >= channel.bound:
            raise FaultError(Full(step.queue), None, channel.span)
        draft.channels[step.queue] = (*messages[: step.position], message, *messages[step.position :])
        return
    draft.channels[step.queue] = rest
    if step.kind == "deliver":
        deliver(draft, instance, message.event, message.arguments, channel.span)


def _interrupt(draft: StepInProgress, inside: Step | None, writes: int, of: tuple[int, ...]) -> None:
    """A crash in the current world or, with `inside`, in the world after the first `writes` writes of that step."""
    if of:
        if draft.down:
            raise FaultError(Down("crash"), of[0], draft.universe.system.span)
        crash_alone(draft, of)
        return
    if inside is not None and writes > 0:
        draft.crash_point = writes
        with suppress(CrashPointError):
            _take(draft, inside)
    draft.crash_point = None
    crash(draft)


def _recover(draft: StepInProgress) -> None:
    """The system's `recover` block, as one step."""
    if not draft.down:
        raise FaultError(NotDown(), None, draft.universe.system.span)
    draft.down = False
    perform(draft, draft.frame(None), draft.universe.system.recover or ())
