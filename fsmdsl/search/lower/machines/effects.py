"""Effects: what `step.cascade.perform` does, on the row `t`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.model.depth import DEEPEST_CASCADE
from fsmdsl.model.typing import holds
from fsmdsl.program.nodes import (
    ZERO,
    Choice,
    Element,
    Expr,
    Int,
    Not,
    Operand,
    Var,
    all_of,
    any_of,
    call,
)
from fsmdsl.search.layout import awaitable
from fsmdsl.search.lower.context import Scope, T
from fsmdsl.search.lower.fault_codes import BUSY, CUT, FULL, NESTED, REENTRANCE
from fsmdsl.search.lower.machines.channels import place_of, put
from fsmdsl.search.lower.symmetry.orders import in_every_order, members_in
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.convert import code_of, converted, element_of, length_of, misfit, placed, refuse
from fsmdsl.search.lower.values.expressions import value
from fsmdsl.search.lower.values.loops import loop
from fsmdsl.search.lower.values.parts import effects_apart, too_deep
from fsmdsl.search.lower.values.references import owner, reference
from fsmdsl.search.lower.values.sets import bit, collected
from fsmdsl.search.shapes import parts_of
from fsmdsl.step.world import Pending


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


def _assign(scope: Scope, e: m.Assign) -> None:
    """A field takes a value of its type; any other is a fault."""
    instance, machine = owner(scope, e.target)
    given, have = scope.builder.temporary(value(scope, e.value)), e.value.type
    refuse(scope, misfit(scope, given, have, e.type))
    column = scope.context.column(machine.qualified, e.name)
    new = converted(scope, given, have, e.type)
    scope.builder.set(scope.at(column, instance), new)
    _wrote_field(scope, machine, e.name)


def _wrote_field(scope: Scope, machine: m.Machine, name: str) -> None:
    if next(f for f in machine.fields if f.name == name).durable:
        wrote(scope)


def wrote(scope: Scope) -> None:
    """Count a write, where a crash may come between two of them."""
    b, layout = scope.builder, scope.context.layout
    if scope.context.cuts:
        b.update(T[layout.writes], "+", 1)
        with b.if_(T[layout.writes].equals(T[layout.cut])):
            b.return_(CUT)


# Sets and lists ------------------------------------------------------------------------------------------------------


def _change(scope: Scope, e: m.Change) -> None:
    instance, machine = owner(scope, e.target)
    b = scope.builder
    item = b.temporary(value(scope, e.item))
    place = scope.at(scope.context.column(machine.qualified, e.name), instance)
    assert isinstance(e.type, m.SetType | m.ListType)
    if isinstance(e.type, m.ListType) and e.kind == "add":
        length = b.temporary(length_of(place, e.type))
        refuse(scope, [length.equals(e.type.bound), *misfit(scope, item, e.item.type, e.type.of)])
        _append(scope, e, e.type, place, item, length)
    elif e.kind == "add":
        refuse(scope, misfit(scope, item, e.item.type, e.type.of))
        code = code_of(converted(scope, item, e.item.type, e.type.of), element_of(scope, e.type))
        b.update(place, "|", bit(code))
    else:
        conditions, code = placed(scope, item, e.item.type, e.type.of)
        with b.if_(all_of(conditions)) if conditions else nullcontext():
            if isinstance(e.type, m.ListType):
                _take_out(scope, e.type, place, code)
            else:
                b.update(place, "&", ~bit(code))
    _wrote_field(scope, machine, e.name)


def _append(scope: Scope, e: m.Change, t: m.ListType, place: Element, item: Expr, length: Expr) -> None:
    of, at = element_of(scope, t), t.bound.bit_length()
    code = code_of(converted(scope, item, e.item.type, t.of), of)
    scope.builder.set(place, (place | code << at + length * of.bits) + 1)


def _take_out(scope: Scope, t: m.ListType, place: Element, code: Expr) -> None:
    """Behind the first such item, everything moves up by one."""
    b, of, at = scope.builder, element_of(scope, t), t.bound.bit_length()
    code = b.temporary(code)
    first, n, kept = b.name(), b.name(), b.name()
    b.set(first, -1)
    same = (place >> at + n * of.bits & (1 << of.bits) - 1).equals(code)
    with b.count(n, length_of(place, t)), b.if_(all_of([first < 0, same])):
        b.set(first, at + n * of.bits)
    with b.if_(first >= 0):
        b.set(kept, place & (1 << first) - 1)
        b.set(place, (kept | place >> first + of.bits << first) - 1)


# Loops and branches --------------------------------------------------------------------------------------------------


def _for_each(scope: Scope, e: m.ForEach) -> None:
    if too_deep(scope):
        effects_apart(scope, lambda inner: _for_each(inner, e))
        return
    over = collected(scope, e.over)
    if members_in(scope.context, e.over.type):
        in_every_order(scope, e, over, perform)
        return
    of = m.element_of(e.over.type)
    with loop(scope, e.over.type, over, e.over) as x, scope.binding(e.variable, x, of):
        _perform(scope, e.body)


def _branch(scope: Scope, e: m.If) -> None:
    b = scope.builder
    with b.if_(value(scope, e.condition)):
        _perform(scope, e.then)
    if e.otherwise:
        with b.else_():
            _perform(scope, e.otherwise)


# Events, messages, actions -------------------------------------------------------------------------------------------


def _send(scope: Scope, e: m.Send) -> None:
    """The receiver handles the event at once. Where it cannot be delivered, the fault is the sender's."""
    b, context = scope.builder, scope.context
    machine = context.universe.model.machines[e.machine]
    receiver = reference(scope, e.target)
    values = _values(scope, e.arguments)
    if not context.universe.instances_of(e.machine):
        return  # There is nobody to receive it, so the target is none, and that has failed.
    first = context.site(6 + len(machine.leaves))
    event = machine.event_named[e.event]
    if not all(holds(p.type, a.type) for a, p in zip(e.arguments, event.parameters, strict=True)):
        # Whether the receiver is free is looked at before the arguments.
        check_free(scope, machine, receiver, lambda why: first + why)
    given = _fitting(scope, values, e.arguments, event.parameters)
    code = b.name()
    context.sends += 1
    b.set(code, call(context.handler(machine, e.event), T, receiver, *given))
    with b.if_(any_of([code < 0, code > 1])):
        b.return_(Choice(code > 0, code, first - code))


def check_free(scope: Scope, machine: m.Machine, receiver: Expr, code: Callable[[int], Operand]) -> None:
    """In the middle of its own transition, inside of too many others, or waiting for an answer, an instance takes no
    event: the code of each reason."""
    b, layout = scope.builder, scope.context.layout
    with b.if_(masks.test(layout, T, layout.busy, receiver)):
        b.return_(code(REENTRANCE))
    if layout.nested is not None:
        with b.if_(T[layout.nested] > DEEPEST_CASCADE):
            b.return_(code(NESTED))
    if awaitable(machine):
        with b.if_(call("awaits", T, receiver)):
            b.return_(code(BUSY))


def _values(scope: Scope, arguments: Sequence[m.Expr]) -> list[Expr]:
    """Arguments: all are computed before any is looked at."""
    return [scope.builder.temporary(value(scope, a)) for a in arguments]


def _fitting(
    scope: Scope, values: Sequence[Expr], arguments: Sequence[m.Expr], parameters: Sequence[m.Variable]
) -> list[Expr]:
    """Arguments as their parameters want them; a fault where one cannot hold its own."""
    for x, a, p in zip(values, arguments, parameters, strict=True):
        refuse(scope, misfit(scope, x, a.type, p.type))
    return [converted(scope, x, a.type, p.type) for x, a, p in zip(values, arguments, parameters, strict=True)]


def _request(scope: Scope, e: m.Request) -> None:
    """An action with outcomes is awaited; of others nothing is left once their arguments are known to fit."""
    b, (instance, machine) = scope.builder, scope.own
    action = machine.action_named[e.action]
    _fitting(scope, _values(scope, e.arguments), e.arguments, action.parameters)
    if action.outcomes:
        with b.if_(Not(call("expect", T, _code_of_action(scope, instance, machine, e.action)))):
            b.return_(FULL)


def _code_of_action(scope: Scope, instance: Var | Int, machine: m.Machine, action: str) -> Expr:
    """The number that stands for an action of an instance among those awaited."""
    instances = sorted(scope.context.universe.instances_of(machine.qualified))
    listed = {n: scope.context.layout.awaited.index(Pending(n, action)) + 1 for n in instances}
    first = min(listed)
    step = len([a for a in machine.actions if a.outcomes])
    if all(code == listed[first] + step * (n - first) for n, code in listed.items()):
        return listed[first] - step * first + step * instance
    code: Expr = ZERO
    for n, number in reversed(listed.items()):
        code = Choice(instance.equals(n), Int(number), code)
    return code


def _post(scope: Scope, e: m.Post) -> None:
    """A message waits in its queue. A channel whose receiver is not in the system leads out of it."""
    context, b = scope.context, scope.builder
    machine = context.universe.model.machines[context.universe.model.channels[e.channel].receiver]
    event = machine.event_named[e.event]
    ends = [b.temporary(reference(scope, x)) for x in e.ends]
    given = _fitting(scope, _values(scope, e.arguments), e.arguments, event.parameters)
    found = place_of(context, e.channel, ends)
    if found is None:
        return
    box, place = found[0], b.temporary(found[1])
    with b.if_(T[place] >= box.channel.bound):
        scope.fail()
    n = box.events.index(event)
    message: Expr = Int(n << box.argument_bits)
    for x, (_, s, at) in zip(given, parts_of(box.records[n], context.universe).values(), strict=True):
        message |= code_of(x, s) << at
    b.do(call(put(context, box), T, place, message))
