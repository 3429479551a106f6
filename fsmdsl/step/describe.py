"""Expressions, values, steps, what happens in them and why they fail, in words: the text that all tools print."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.step.data import RecordValue, Table
from fsmdsl.step.instances import Roster
from fsmdsl.step.values import elements
from fsmdsl.step.world import (
    Assigned,
    ChannelStep,
    Crashed,
    CrashStep,
    DivisionByZero,
    Down,
    EndlessRound,
    EventStep,
    Fault,
    Followed,
    Full,
    Ignored,
    Lost,
    Nested,
    NoFirst,
    NoInstance,
    NoItem,
    NoKey,
    NoMessage,
    NoStart,
    NotAwaited,
    NotDown,
    NoTimer,
    OutcomeStep,
    Overlap,
    Posted,
    RecoverStep,
    Reentrance,
    Requested,
    Sent,
    StandsStill,
    Step,
    TimerStep,
    TraceEvent,
    Unfit,
    Unhandled,
    Value,
    Waiting,
    World,
)
from fsmdsl.text.source import Span

# Steps ---------------------------------------------------------------------------------------------------------------


def describe(roster: Roster, what: Step | TraceEvent, world: World | None = None) -> str:
    """A step (`g2.schedule({c0, c1})`), or what happens in one (`g0: e1 Pending → Preempting`).

    With the world before it, a step of a channel names its message.
    """
    match what:
        case EventStep(instance, event, arguments):
            parameters = roster.machines[instance].event_named[event].parameters
            return f"{roster.name(instance)}.{event}{shown_arguments(roster, parameters, arguments)}"
        case OutcomeStep(instance, action, outcome):
            return f"{roster.name(instance)}.{action}.{outcome}"
        case TimerStep(instance, index):
            t = roster.machines[instance].transitions[index]
            return f"timeout {roster.name(instance)} of {t.label or t.source}"
        case ChannelStep():
            return _channel_step(roster, what, world)
        case RecoverStep():
            return "recover"
        case CrashStep(inside, writes, of):
            return _crash_alone(roster, of) if of else _crash(roster, inside, writes, world)
        case _:
            return _trace_event(roster, what)


def _channel_step(roster: Roster, step: ChannelStep, world: World | None) -> str:
    channel, receiver, _ = roster.queues[step.queue]
    action, whose = f"{step.kind} {channel.name}", roster.whose(step.queue)
    if world is None or step.position >= len(world.channels[step.queue]):
        return f"{action}[{step.position}]{whose}" if step.position else f"{action}{whose}"
    message = world.channels[step.queue][step.position]
    parameters = roster.machines[receiver].event_named[message.event].parameters
    return f"{action}.{message.event}{shown_arguments(roster, parameters, message.arguments)}{whose}"


def _crash(roster: Roster, inside: Step | None, writes: int, world: World | None) -> str:
    if inside is None:
        return "crash"
    when = f"after {writes} write{'s' * (writes != 1)} of" if writes else "before"
    return f"crash {when} {describe(roster, inside, world)}"


def _crash_alone(roster: Roster, of: Sequence[int]) -> str:
    return f"crash of {', '.join(map(roster.name, of))}"


def _trace_event(roster: Roster, what: TraceEvent) -> str:
    match what:
        case Followed(instance, index, before, after):
            t = roster.machines[instance].transitions[index]
            arrow = f"in {before}" if t.target is None else f"{before} → {after}"
            called = t.label or t.shown_trigger
            return f"{roster.name(instance)}: {called} {arrow}" if called else f"{roster.name(instance)}: {arrow}"
        case Sent(sender, receiver, event, arguments):
            parameters = roster.machines[receiver].event_named[event].parameters
            argument_list = shown_arguments(roster, parameters, arguments)
            return f"{_sender(roster, sender)} sends {roster.name(receiver)}.{event}{argument_list}"
        case Posted(sender):
            return f"{_sender(roster, sender)} {done(roster, what)}"
        case Requested(instance):
            return f"{roster.name(instance)} {done(roster, what)}"
        case Assigned(instance, field, value):
            of = roster.machines[instance].fields[roster.slots[instance][field]].type
            return f"{roster.name(instance)}.{field} = {value_text(roster, of, value)}"
        case Ignored(instance, event):
            return f"{roster.name(instance)} ignores {event}"
        case Crashed(of):
            return _crash_alone(roster, of) if of else "crash"
        case _:
            assert_never(what)


def done(roster: Roster, what: Posted | Requested) -> str:
    """What an instance does, without its name: `calls deploy(c0)`."""
    match what:
        case Posted(_, name, queue, event, arguments):
            channel = roster.model.channels[name]
            parameters = roster.model.machines[channel.receiver].event_named[event].parameters
            whose = f" to {roster.name(roster.queues[queue].receiver)}" if channel.each and queue is not None else ""
            return f"posts {channel.name}.{event}{shown_arguments(roster, parameters, arguments)}{whose}"
        case Requested(instance, action, arguments):
            parameters = roster.machines[instance].action_named[action].parameters
            return f"calls {action}{shown_arguments(roster, parameters, arguments)}"
        case _:
            assert_never(what)


def _sender(roster: Roster, sender: int | None) -> str:
    return "recover" if sender is None else roster.name(sender)


# Faults --------------------------------------------------------------------------------------------------------------


def fault_message(roster: Roster, fault: Fault) -> str:
    """Why a step fails, in a line without its kind: `` `push` reaches door in `Shut`, where it is … ``."""
    instance_name = "" if fault.instance is None else roster.name(fault.instance)
    match fault.cause:
        case Unhandled(trigger, state, guarded):
            why = "not ignored, and no guard of its transitions holds" if guarded else "neither handled nor ignored"
            return f"`{trigger}` reaches {instance_name} in `{state}`, where it is {why}"
        case NotAwaited(action, outcome):
            return f"`{action}.{outcome}` arrives, but {instance_name} is not waiting for it"
        case NoTimer(transition, state):
            return f"`{_transition(roster, fault, transition).name}` cannot fire in `{state}` of {instance_name} now"
        case NoMessage(queue):
            return f"channel `{roster.queue_name(queue)}` holds no such message"
        case NotDown():
            return "the system is not down: there is nothing to recover"
        case Overlap(transitions, state):
            names = _tied([_transition(roster, fault, n).name for n in transitions])
            return f"{names} of {instance_name} are enabled in `{state}` at once, and none has priority"
        case Reentrance(event):
            return f"{instance_name} receives `{event}` in the middle of its own transition"
        case Waiting(event, action):
            if event is None:
                return f"a timer of {instance_name} fires while it waits for an answer"
            return f"{instance_name} receives `{event}` while it waits for the answer to `{action}`"
        case StandsStill(what, instance, action):
            return f"`{what}` arrives while {roster.name(instance)} waits for the answer to `{action}`"
        case Down(what):
            return f"`{what}` arrives while the system is down; `recover` must run first"
        case NoInstance(of):
            return f"`{_text(of)}` is none here"
        case NoStart():
            return "no initial state satisfies `start when`"
        case NoFirst(of):
            return f"`{_text(of)}` is empty here, so it has no first item"
        case NoItem(of, at, size):
            return f"`{_text(of)}` has {size} item{'s' * (size != 1)} here, counted from 0, and none at {at}"
        case NoKey(of, key, low, high):
            return f"`{_text(of)}` has the keys {low}..{high}, and none of them is {key}"
        case DivisionByZero(of):
            return f"division by zero: `{_text(of)}` is 0 here"
        case Unfit():
            return _unfit(fault.cause, instance_name)
        case Full(queue):
            return f"channel `{roster.queue_name(queue)}` is full: it holds {roster.queues[queue].channel.bound}"
        case Nested(event, depth):
            return f"{instance_name} receives `{event}` after {depth} nested sends"
        case EndlessRound(transition):
            name = _transition(roster, fault, transition).name
            return f"the round of {instance_name} does not end: `{name}` is followed again and again"
        case Lost(state, flag):
            return f"a crash finds {instance_name} in the {flag} state `{state}`, which no `on crash` transition leaves"
        case _:
            assert_never(fault.cause)


def _transition(roster: Roster, fault: Fault, index: int) -> m.Transition:
    assert fault.instance is not None
    return roster.machines[fault.instance].transitions[index]


def _tied(names: list[str]) -> str:
    if len(set(names)) == 1:
        return f"{len(names)} transitions called `{names[0]}`"
    return " and ".join(f"`{name}`" for name in names)


def _unfit(x: Unfit, instance_name: str) -> str:
    match x.misfit.kind:
        case "range":
            what = f"{x.misfit.value}, outside {x.misfit.low}..{x.misfit.high}"
        case "overflow":
            what = f"longer than {x.misfit.high}"
        case "none":
            what = "none"
        case _:
            assert_never(x.misfit.kind)
    match x.place:
        case "field":
            return f"`{x.name}` of {instance_name} would become {what}"
        case "initial":
            return f"`{x.name}` of {instance_name} begins as {what}"
        case "argument":
            return f"`{x.name}` of `{x.of}` would be {what}"
        case "part":
            return f"`{x.name}` of a new `{x.of.rpartition('.')[2]}` would be {what}"
        case "entry":
            which = f"an entry of `{x.name}`" if x.name else "every entry of a map"
            return f"{which} would become {what}"
        case _:
            assert_never(x.place)


# Expressions and values ----------------------------------------------------------------------------------------------


def words(e: m.Expr) -> str:
    """An expression as the author wrote it, on one line."""
    return _text(e.span)


def _text(span: Span) -> str:
    return span.quote or "this value"


def shown_arguments(roster: Roster, parameters: Sequence[m.Variable], arguments: Sequence[Value]) -> str:
    """`(g0, {c1})`; nothing where there are none."""
    texts = [value_text(roster, p.type, a) for p, a in zip(parameters, arguments, strict=True)]
    return f"({', '.join(texts)})" if texts else ""


def value_text(roster: Roster, t: m.Type, value: Value) -> str:
    """A value of a type."""
    match t, value:
        case _, None:
            return "none"
        case m.OptionalType(of), _:
            return value_text(roster, of, value)
        case _, bool():
            return str(value).lower()
        case m.RefType(), int():
            return roster.name(value)
        case m.DurationType(), int():
            return duration(value)
        case m.OpaqueType(), str():
            return value.rpartition(".")[2]
        case m.RecordType(name, parts), RecordValue(values):
            fields = (f"{part} = {value_text(roster, of, x)}" for (part, of), x in zip(parts, values, strict=True))
            return f"{name.rpartition('.')[2]}({', '.join(fields)})"
        case m.SetType(of), frozenset():
            return f"{{{', '.join(value_text(roster, of, x) for x in elements(t, value))}}}"
        case m.ListType(of), tuple():
            return f"[{', '.join(value_text(roster, of, x) for x in value)}]"
        case m.MapType(key, of), Table(entries):
            return f"{{{', '.join(f'{value_text(roster, key, k)}: {value_text(roster, of, x)}' for k, x in entries)}}}"
        case _:
            return str(value)


def duration(milliseconds: int) -> str:
    """The shortest way to write a length of time: `5min`, `90s`, `100ms`."""
    for unit, length in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if milliseconds and milliseconds % length == 0:
            return f"{milliseconds // length}{unit}"
    return f"{milliseconds}ms"
