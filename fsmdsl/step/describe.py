"""Values, steps and what happens in them, as the author would write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.step.roster import Roster
from fsmdsl.step.values import elements
from fsmdsl.step.world import (
    Assigned,
    ChannelStep,
    Crashed,
    CrashStep,
    EventStep,
    Followed,
    Happening,
    Ignored,
    OutcomeStep,
    Posted,
    RecoverStep,
    Requested,
    Sent,
    Step,
    TimerStep,
    Value,
    World,
)


def describe(roster: Roster, what: Step | Happening, world: World | None = None) -> str:
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
        case CrashStep(inside, writes):
            return _crash(roster, inside, writes, world)
        case _:
            return _happening(roster, what)


def _channel_step(roster: Roster, step: ChannelStep, world: World | None) -> str:
    place = roster.channel_place[step.channel]
    channel = roster.channels[place]
    said = f"{step.kind} {channel.name}"
    if world is None or step.position >= len(world.channels[place]):
        return f"{said}[{step.position}]" if step.position else said
    message = world.channels[place][step.position]
    parameters = roster.model.machines[channel.receiver].event_named[message.event].parameters
    return f"{said}.{message.event}{shown_arguments(roster, parameters, message.arguments)}"


def _crash(roster: Roster, inside: Step | None, writes: int, world: World | None) -> str:
    if inside is None:
        return "crash"
    when = f"after {writes} write{'s' * (writes != 1)} of" if writes else "before"
    return f"crash {when} {describe(roster, inside, world)}"


def _happening(roster: Roster, what: Happening) -> str:
    match what:
        case Followed(instance, index, before, after):
            t = roster.machines[instance].transitions[index]
            arrow = f"in {before}" if t.target is None else f"{before} → {after}"
            called = t.label or t.shown_trigger
            return f"{roster.name(instance)}: {called} {arrow}" if called else f"{roster.name(instance)}: {arrow}"
        case Sent(sender, receiver, event, arguments):
            parameters = roster.machines[receiver].event_named[event].parameters
            given = shown_arguments(roster, parameters, arguments)
            return f"{_sender(roster, sender)} sends {roster.name(receiver)}.{event}{given}"
        case Posted(sender, channel, event, arguments):
            machine = roster.model.machines[roster.model.channels[channel].receiver]
            given = shown_arguments(roster, machine.event_named[event].parameters, arguments)
            return f"{_sender(roster, sender)} posts {channel.rpartition('.')[2]}.{event}{given}"
        case Requested(instance, action, arguments):
            parameters = roster.machines[instance].action_named[action].parameters
            return f"{roster.name(instance)} calls {action}{shown_arguments(roster, parameters, arguments)}"
        case Assigned(instance, field, value):
            of = roster.machines[instance].fields[roster.slots[instance][field]].type
            return f"{roster.name(instance)}.{field} = {shown(roster, of, value)}"
        case Ignored(instance, event):
            return f"{roster.name(instance)} ignores {event}"
        case Crashed():
            return "crash"
        case _:
            assert_never(what)


def _sender(roster: Roster, sender: int | None) -> str:
    return "recover" if sender is None else roster.name(sender)


def shown_arguments(roster: Roster, parameters: Sequence[m.Variable], arguments: Sequence[Value]) -> str:
    """`(g0, {c1})`; nothing where there are none."""
    given = [shown(roster, p.type, a) for p, a in zip(parameters, arguments, strict=True)]
    return f"({', '.join(given)})" if given else ""


def shown(roster: Roster, t: m.Type, value: Value) -> str:
    """A value of a type."""
    match t, value:
        case _, None:
            return "none"
        case m.OptionalType(of), _:
            return shown(roster, of, value)
        case _, bool():
            return str(value).lower()
        case m.RefType(), int():
            return roster.name(value)
        case m.DurationType(), int():
            return duration(value)
        case m.OpaqueType(), str():
            return value.rpartition(".")[2]
        case m.SetType(of), frozenset():
            return f"{{{', '.join(shown(roster, of, x) for x in elements(t, value))}}}"
        case m.ListType(of), tuple():
            return f"[{', '.join(shown(roster, of, x) for x in value)}]"
        case _:
            return str(value)


def duration(milliseconds: int) -> str:
    """The shortest way to write a length of time: `5min`, `90s`, `100ms`."""
    for unit, length in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000)):
        if milliseconds and milliseconds % length == 0:
            return f"{milliseconds // length}{unit}"
    return f"{milliseconds}ms"
