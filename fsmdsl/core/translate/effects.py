"""Effects: what a transition does beside changing the state; and how an event reaches an instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.presence import after, present_if, without
from fsmdsl.core.translate.context import Scope, compared, size
from fsmdsl.core.translate.expressions import owner, queue_of, reference, value, values
from fsmdsl.core.translate.fitting import Place, arguments_fit, fits, fitting
from fsmdsl.dataclasses import replace
from fsmdsl.model.typing import common


def perform(scope: Scope, effects: Sequence[m.Effect]) -> None:
    """Effects, one after the other."""
    _perform(scope, scope.context.elaboration.effects(effects))


def _perform(scope: Scope, effects: Sequence[m.Effect]) -> None:
    for e in effects:
        match e:
            case m.Assign():
                _assign(scope, e)
            case m.Change():
                _change(scope, e)
            case m.Send():
                _send(scope, e)
            case m.Request():
                _request(scope, e)
            case m.Post():
                _post(scope, e)
            case m.ForEach():
                _for_each(scope, e)
            case m.If():
                _branch(scope, e)
            case _:
                assert_never(e)
        if scope.present:
            scope = replace(scope, present=after(scope.present, e))


# Fields --------------------------------------------------------------------------------------------------------------


def _assign(scope: Scope, e: m.Assign) -> None:
    instance = _owner(scope, e)
    new = fitting(scope, e.type, value(scope, e.value), e.name, _place(e, instance))
    _write(scope, e, instance, new)


def _change(scope: Scope, e: m.Change) -> None:
    """A set or list with an item more or less. A list that is full is the fault, before an item that does not fit."""
    instance = _owner(scope, e)
    old = s.Read("field", instance, e.name, e.type)
    item = scope.builder.temporary(value(scope, e.item), "item")
    place, t = _place(e, instance), e.type
    if e.kind == "add" and isinstance(t, m.ListType):
        new = s.Apply("add", (old, item), m.ListType(common(t.of, item.type), t.bound + 1))
        room = compared(size(old), "<", t.bound)
        scope.builder.add(s.Require(room, place.fault("overflow", new, high=t.bound)))
    if e.kind == "add":
        fits(scope, m.element_of(t), item, place)
    _write(scope, e, instance, s.Apply(e.kind, (old, item), t))


def _owner(scope: Scope, e: m.Write) -> s.Expr:
    return scope.builder.temporary(owner(scope, e.target), "owner")


def _place(e: m.Write, instance: s.Expr) -> Place:
    return Place("field", e.name, "", instance, s.Location(e.span))


def _write(scope: Scope, e: m.Write, instance: s.Expr, new: s.Expr) -> None:
    """A write to a durable field may be the last before a crash."""
    field = s.Read("field", instance, e.name, e.type)
    scope.builder.add(s.Write("field", instance, e.name, new, e.type), s.Note(s.Assigned(instance, e.name, field)))
    assert isinstance(instance.type, m.RefType)
    fields = scope.context.model.machines[instance.type.machine].fields
    if next(f for f in fields if f.name == e.name).durable:
        scope.builder.add(s.Cut())


# Events, actions, messages -------------------------------------------------------------------------------------------


def _send(scope: Scope, e: m.Send) -> None:
    """The receiver handles the event at once. A machine without instances never does: the target is none, which is a
    fault already."""
    receiver = scope.builder.temporary(reference(scope, e.target), "receiver")
    arguments = _arguments(scope, e.arguments)
    scope.builder.add(s.Note(s.Sent(scope.self, receiver, e.event, arguments)))
    if scope.context.has(e.machine):
        machine = scope.context.model.machines[e.machine]
        deliver(scope, receiver, machine, machine.event_named[e.event], arguments, s.Location(e.span))


def deliver(
    scope: Scope,
    receiver: s.Expr,
    machine: m.Machine,
    event: m.Event,
    arguments: Sequence[s.Expr],
    location: s.Expr,
) -> None:
    """An event reaches an instance: it must be free, then its parameters must be able to hold the arguments, then it
    handles the event. A fault is the receiver's, and located at the sender."""
    scope.builder.add(s.Call(s.Name("admit", machine.qualified, event.name), (receiver, location)))
    arguments_fit(scope, event.name, event.parameters, arguments, receiver, location)
    scope.builder.add(s.Call(s.Name("handle", machine.qualified, event.name), (receiver, *arguments, location)))


def _arguments(scope: Scope, arguments: Sequence[m.Expr]) -> tuple[s.Expr, ...]:
    """All are computed before any is checked."""
    return tuple([scope.builder.temporary(x, "argument") for x in values(scope, arguments)])


def _request(scope: Scope, e: m.Request) -> None:
    """An action is carried out after the step; one with outcomes is awaited."""
    assert scope.machine is not None
    action = scope.machine.action_named[e.action]
    arguments = _arguments(scope, e.arguments)
    arguments_fit(scope, action.name, action.parameters, arguments, scope.self, s.Location(e.span))
    scope.builder.add(s.Note(s.Requested(scope.self, action.name, arguments)))
    if action.outcomes:
        scope.builder.add(s.Await(scope.self, action.name))


def _post(scope: Scope, e: m.Post) -> None:
    """A message waits in its queue, if there is room. A channel whose receiver is not in the system leads out of it."""
    b, channel = scope.builder, scope.context.model.channels[e.channel]
    event = scope.context.model.machines[channel.receiver].event_named[e.event]
    ends = [b.temporary(reference(scope, x), "end") for x in e.ends]
    arguments = _arguments(scope, e.arguments)
    arguments_fit(scope, event.name, event.parameters, arguments, scope.self, s.Location(e.span))
    queue = queue_of(scope.context, e.channel, ends)
    b.add(s.Note(s.Posted(scope.self, e.channel, queue, e.event, arguments)))
    if queue is not None:
        scope.require(has_room(queue, channel), s.Full(queue), e.span)
        b.add(s.Put(queue, e.event, arguments))


def has_room(queue: s.Queue, channel: m.Channel) -> s.Expr:
    """Can a queue hold one message more?"""
    return compared(length(queue, channel), "<", channel.bound)


def length(queue: s.Queue, channel: m.Channel) -> s.Expr:
    """How many messages wait in a queue."""
    return s.Length(queue, m.RangeType(0, channel.bound))


# Loops and branches --------------------------------------------------------------------------------------------------


def _for_each(scope: Scope, e: m.ForEach) -> None:
    """What is known to be present holds in each turn only if no turn can change it."""
    over = value(scope, e.over)
    variable = scope.builder.variable(e.variable, m.element_of(over.type))
    inside = replace(scope.bind(e.variable, variable), present=after(without(scope.present, e.variable), e))
    with scope.builder.each(variable, over, e):
        _perform(inside, e.body)


def _branch(scope: Scope, e: m.If) -> None:
    b, test = scope.builder, value(scope, e.condition)
    with b.aside() as then:
        _perform(scope.knowing(present_if(e.condition, True)), e.then)
    with b.aside() as otherwise:
        _perform(scope.knowing(present_if(e.condition, False)), e.otherwise)
    b.add(s.If(test, tuple(then), tuple(otherwise)))
