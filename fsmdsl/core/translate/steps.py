"""The steps of a system: what begins each of them, and the round and the crash with which they end."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.translate.context import (
    FALSE,
    NONE,
    Builder,
    Context,
    Scope,
    all_of,
    any_of,
    compared,
    instance_of,
    is_none,
    is_present,
    negated,
    of_machine,
    of_system,
    state,
)
from fsmdsl.core.translate.effects import deliver, has_room, length, perform
from fsmdsl.core.translate.machines import choose, follow, is_awaitable
from fsmdsl.dataclasses import replace

ROUND = s.Call(s.Name("round"), ())
INSTANCE = s.Variable("instance", s.INSTANCE)

# What comes from outside ---------------------------------------------------------------------------------------------


def event(context: Context, machine: m.Machine, event: m.Event) -> s.Procedure:
    """The environment sends an event."""
    b = Builder()
    scope = of_machine(context, b, machine)
    types = context.arguments(machine, event)
    parameters = b.parameters([replace(p, type=t) for p, t in zip(event.parameters, types, strict=True)])
    ready(scope, scope.self, event.name)
    deliver(scope, scope.self, machine, event, parameters, s.Location(event.span))
    b.add(ROUND)
    return context.define(s.Name("event", machine.qualified, event.name), (instance_of(machine), *parameters), b)


def answer(context: Context, machine: m.Machine, action: m.Action, outcome: str) -> s.Procedure:
    """Hand-written code answers a pending action. While the system stands still, only the action that it waits for can
    be answered. The round continues, even where the outcome is ignored."""
    b = Builder()
    scope, trigger = of_machine(context, b, machine), f"{action.name}.{outcome}"
    first = any_of([is_none(s.Blocker()), s.Blocks(scope.self, machine.qualified, action.name)])
    is_awaited = all_of([s.IsPending(scope.self, action.name), first])
    _unless_offered(context, b, is_awaited, scope.fault(s.NotAwaited(action.name, outcome), action.span))
    b.add(s.Answered(scope.self, action.name), s.Mark("touched", scope.self, True))
    b.add(s.Call(s.Name("handle", machine.qualified, trigger), (scope.self, s.Location(action.span))), ROUND)
    return context.define(s.Name("answer", machine.qualified, trigger), (instance_of(machine),), b)


def tick(context: Context, machine: m.Machine, t: m.Transition) -> s.Procedure:
    """Time is up for a transition. A timer fires only in its source, and while its guard holds."""
    b = Builder()
    scope = of_machine(context, b, machine)
    ready(scope, scope.self, t.name)
    if is_awaitable(machine):
        waiting = scope.fault(s.Waiting(None, s.Awaited(scope.self)), t.span)
        _unless_offered(context, b, negated(s.Waits(scope.self)), waiting)

    def then(t: m.Transition, leaf: str) -> None:
        b.add(s.Call(follow(context, machine, t, leaf).name, (scope.self,)), ROUND, s.Return())

    for group in context.selection(machine).timer_groups(t):
        with b.when(s.InState(scope.self, frozenset(group.leaves))):
            choose(scope, group.levels, group.leaves[0], (), then)
    b.add(s.Fail(scope.fault(s.NoTimer(t.index, state(machine, scope.self)), t.span)))
    return context.define(s.Name("tick", machine.qualified, f"{t.index}"), (instance_of(machine),), b)


def ready(scope: Scope, instance: s.Expr, what: str) -> None:
    """Nothing comes from outside while the system is down, or stands still for an answer."""
    b, location = scope.builder, s.Location(scope.context.span)
    if scope.context.fused:
        return
    b.add(s.Require(negated(s.Down()), s.Fault(s.IsDown(what), instance, location)))
    blocking = [(x, a) for x in scope.context.machines for a in x.actions if a.outcomes and not a.asynchronous]
    if not blocking:
        return
    blocker = b.temporary(s.Blocker(), "first")
    with b.when(is_present(blocker)):
        first = s.Apply("present", (blocker,), s.INSTANCE)
        for machine, action in blocking:
            with b.when(s.Blocks(first, machine.qualified, action.name)):
                cause = s.StandsStill(what, first, action.name)
                b.add(s.Fail(s.Fault(cause, instance, s.Location(action.span))))


def _unless_offered(context: Context, b: Builder, condition: s.Expr, fault: s.Fault) -> None:
    """Requires a condition for which a step is offered."""
    if not context.fused:
        b.add(s.Require(condition, fault))


# Channels ------------------------------------------------------------------------------------------------------------


class Mailbox:
    """A queue of a channel, as a procedure about it has it: its ends are parameters."""

    def __init__(self, context: Context, channel: m.Channel) -> None:
        self.channel = channel
        self.machine = context.model.machines[channel.receiver]
        self.receiver = instance_of(self.machine)
        self.sender = None if channel.sender is None else s.Variable("sender", m.RefType(channel.sender))
        self.parameters = (self.receiver,) if self.sender is None else (self.sender, self.receiver)
        self.queue = s.Queue(channel.qualified, self.parameters if channel.each or self.sender else ())
        self.position = s.Variable("position", m.RangeType(0, channel.bound - 1))
        self.length = length(self.queue, channel)
        self.events = tuple(e for e in self.machine.events if channel.qualified in e.senders)


def deliver_message(context: Context, channel: m.Channel) -> s.Procedure:
    """A channel delivers a message: it leaves its queue, and is handled."""
    b, box = Builder(), Mailbox(context, channel)
    scope = _message(context, b, box)
    for x in box.events:
        with b.when(s.IsMessage(box.queue, box.position, x.name)):
            values = arguments(b, box.queue, box.position, x)
            b.add(s.Drop(box.queue, box.position))
            deliver(scope, box.receiver, box.machine, x, values, s.Location(channel.span))
            b.add(ROUND, s.Return())
    return context.define(s.Name("deliver message", channel.qualified), (*box.parameters, box.position), b)


def lose_message(context: Context, channel: m.Channel) -> s.Procedure:
    """A lossy channel loses a message."""
    b, box = Builder(), Mailbox(context, channel)
    _message(context, b, box)
    b.add(s.Drop(box.queue, box.position), ROUND)
    return context.define(s.Name("lose message", channel.qualified), (*box.parameters, box.position), b)


def duplicate_message(context: Context, channel: m.Channel) -> s.Procedure:
    """A duplicating channel duplicates a message, if there is room."""
    b, box = Builder(), Mailbox(context, channel)
    _message(context, b, box)
    full = s.Fault(s.Full(box.queue), NONE, s.Location(channel.span))
    _unless_offered(context, b, has_room(box.queue, channel), full)
    b.add(s.Duplicate(box.queue, box.position), ROUND)
    return context.define(s.Name("duplicate message", channel.qualified), (*box.parameters, box.position), b)


def _message(context: Context, b: Builder, box: Mailbox) -> Scope:
    """Requires that there is a message at the position."""
    scope = of_machine(context, b, box.machine)
    ready(scope, box.receiver, box.channel.name)
    none = s.Fault(s.NoMessage(box.queue), NONE, s.Location(box.channel.span))
    _unless_offered(context, b, compared(box.position, "<", box.length), none)
    return scope


def arguments(b: Builder, queue: s.Queue, position: s.Expr, event: m.Event) -> tuple[s.Expr, ...]:
    """The arguments of the message at a position, which is one of this event."""
    expressions = (s.Argument(queue, position, event.name, n, p.type) for n, p in enumerate(event.parameters))
    return tuple([b.temporary(x, p.name) for x, p in zip(expressions, event.parameters, strict=True)])


# Rounds --------------------------------------------------------------------------------------------------------------


def round(context: Context) -> s.Procedure:
    """After the event: the first touched instance with an enabled eventless transition follows it, and the round starts
    again from the first instance, until none has one. Then `wait` is true again, except where an answer is awaited:
    there the round continues with the answer."""
    b = Builder()
    is_free = negated(s.Waits(INSTANCE))
    if any(x.has_rounds for x in context.machines):
        followed = b.variable("followed", m.BOOL)
        turn = (s.CallOn("eventless", INSTANCE, followed), s.If(followed, (s.Leave(),)))
        each = s.Each(INSTANCE, s.Flagged("touched"), (s.If(is_free, turn),))
        b.add(s.Repeat((s.Set(followed, FALSE), each, s.If(negated(followed), (s.Leave(),)))))
    b.add(s.Each(INSTANCE, s.Flagged("waited"), (s.If(is_free, (s.Mark("waited", INSTANCE, False),)),)))
    return context.define(s.Name("round"), (), b)


# Crashes and recovery ------------------------------------------------------------------------------------------------


def crash(context: Context) -> s.Procedure:
    """The system crashes, between steps or at a `Cut` of one. The messages in channels are gone, too. If there is a
    `recover` block, it comes next."""
    b, system = Builder(), context.system
    b.add(s.Each(INSTANCE, s.Flagged("busy"), (s.Mark("busy", INSTANCE, False),)))
    b.add(*strike(s.Instances("system", "", s.INSTANCES), s.Crashed(None), [s.DropAll()]))
    if system is not None and system.recover is not None:
        b.add(s.SetDown(True))
    return context.define(s.Name("crash"), (), b)


def crash_alone(context: Context) -> s.Procedure:
    """Some instances crash, together. Everything else lives on: other instances, and messages in channels."""
    b, instances = Builder(), s.Variable("instances", s.INSTANCES)
    first = s.Apply("first", (instances,), s.INSTANCE)
    _unless_offered(context, b, negated(s.Down()), s.Fault(s.IsDown("crash"), first, s.Location(context.span)))
    b.add(*strike(instances, s.Crashed(instances), []))
    return context.define(s.Name("crash alone"), (instances,), b)


def strike(instances: s.Expr, crashed: s.Crashed, also: Sequence[s.Statement]) -> s.Block:
    """Pending actions of the instances are gone, and what is not durable is as in the first world.

    Each takes its enabled crash transition: all choose before anything changes, so guards see the values before, and
    effects those after.
    """

    def each(*body: s.Statement) -> s.Statement:
        return s.Each(INSTANCE, instances, body)

    return (
        s.Note(crashed),
        each(s.CallOn("choose crash", INSTANCE)),
        each(s.Forget(INSTANCE), s.Mark("waited", INSTANCE, False)),
        *also,
        each(s.CallOn("forget", INSTANCE)),
        each(s.CallOn("follow crash", INSTANCE)),
    )


def recover(context: Context) -> s.Procedure:
    """The `recover` block of the system, as one step."""
    b, system = Builder(), context.system
    scope = of_system(context, b)
    _unless_offered(context, b, s.Down(), scope.fault(s.NotDown(), context.span))
    b.add(s.SetDown(False))
    perform(scope, (system and system.recover) or ())
    b.add(ROUND)
    return context.define(s.Name("recover"), (), b)
