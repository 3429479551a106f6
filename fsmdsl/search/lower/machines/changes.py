"""What core statements change, on the row `t`: fields, states, marks, queues, answers that are awaited."""

from __future__ import annotations

from contextlib import nullcontext

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.program.nodes import ZERO, Choice, Element, Expr, Int, Not, all_of, call
from fsmdsl.search.layout import WAIT, awaitable
from fsmdsl.search.lower.context import Scope, T
from fsmdsl.search.lower.fault_codes import CUT, FULL
from fsmdsl.search.lower.machines.channels import boxes_of, place_of, put
from fsmdsl.search.lower.values import masks
from fsmdsl.search.lower.values.convert import code_of, element_of, length_of, placed
from fsmdsl.search.lower.values.expressions import instance_of, machine_of
from fsmdsl.search.lower.values.sets import bit
from fsmdsl.search.shapes import parts_of
from fsmdsl.step.world import Pending

# Fields and states ---------------------------------------------------------------------------------------------------


def write(scope: Scope, x: s.Write) -> None:
    """A field takes a value; a set or list with an item more or less is changed in its place."""
    machine, instance = machine_of(scope, x.owner), instance_of(scope, x.owner)
    place = scope.at(scope.context.column(machine.qualified, x.name), instance)
    match x.value, x.type:
        case s.Apply("add", (s.Read(), item)), m.ListType() as t:
            _append(scope, t, place, scope.value(item, t.of))
        case s.Apply("add", (s.Read(), item)), m.SetType(of) as t:
            scope.builder.update(place, "|", bit(code_of(scope.value(item, of), element_of(scope, t))))
        case s.Apply("remove", (s.Read(), item)), m.SetType() | m.ListType() as t:
            _remove(scope, t, place, item)
        case _:
            scope.builder.set(place, scope.value(x.value, x.type))


def _append(scope: Scope, t: m.ListType, place: Element, item: Expr) -> None:
    b, of, at = scope.builder, element_of(scope, t), t.bound.bit_length()
    length = b.temporary(length_of(place, t))
    b.set(place, (place | code_of(item, of) << at + length * of.bits) + 1)


def _remove(scope: Scope, t: m.SetType | m.ListType, place: Element, item: s.Expr) -> None:
    conditions, code = placed(scope, item, t.of)
    with scope.builder.if_(all_of(conditions)) if conditions else nullcontext():
        if isinstance(t, m.ListType):
            _take_out(scope, t, place, code)
        else:
            scope.builder.update(place, "&", ~bit(code))


def _take_out(scope: Scope, t: m.ListType, place: Element, code: Expr) -> None:
    """Behind the first such item, everything moves up by one."""
    b, of, at = scope.builder, element_of(scope, t), t.bound.bit_length()
    code = b.temporary(code)
    first, n, before = b.name(), b.name(), b.name()
    b.set(first, -1)
    same = (place >> at + n * of.bits & (1 << of.bits) - 1).equals(code)
    with b.count(n, length_of(place, t)), b.if_(all_of([first < 0, same])):
        b.set(first, at + n * of.bits)
    with b.if_(first >= 0):
        b.set(before, place & (1 << first) - 1)
        b.set(place, (before | place >> first + of.bits << first) - 1)


def enter(scope: Scope, x: s.Enter) -> None:
    """An instance is in another state."""
    machine = machine_of(scope, x.instance)
    state = scope.at(scope.context.column(machine.qualified, ""), instance_of(scope, x.instance))
    scope.builder.set(state, machine.leaf_numbers[x.leaf])


def cut(scope: Scope) -> None:
    """Count a write, where a crash may come between two of them."""
    b, layout = scope.builder, scope.context.layout
    if scope.context.cuts:
        b.update(T[layout.writes], "+", 1)
        with b.if_(T[layout.writes].equals(T[layout.cut])):
            b.return_(CUT)


# Marks ---------------------------------------------------------------------------------------------------------------


def mark(scope: Scope, x: s.Mark) -> None:
    """Mark an instance, or no longer; nothing, where nobody asks."""
    context, b, layout = scope.context, scope.builder, scope.context.layout
    instance, change = instance_of(scope, x.instance), masks.add_to if x.on else masks.remove_from
    match x.flag:
        case "busy" if x.on:
            change(layout, b, T, layout.busy, instance)
            _nest(scope, 1)
        case "busy":
            _nest(scope, -1)
            change(layout, b, T, layout.busy, instance)
        case "touched" if context.rounds:
            change(layout, b, T, layout.touched, instance)
        case "waited" if awaitable(machine := machine_of(scope, x.instance)):
            b.set(scope.at(context.column(machine.qualified, WAIT), instance), int(x.on))
        case "waited" if layout.waited is not None:
            change(layout, b, T, layout.waited, instance)
        case _:
            pass


def _nest(scope: Scope, more: int) -> None:
    nested = scope.context.layout.nested
    if nested is not None:
        scope.builder.update(T[nested], "+", more)


# Queues and answers --------------------------------------------------------------------------------------------------


def post(scope: Scope, x: s.Put) -> None:
    """A message waits in its queue."""
    context, b = scope.context, scope.builder
    box, place = boxes_of(context, x.queue.channel)[0], place_of(scope, x.queue)
    (n, event), *_ = ((n, e) for n, e in enumerate(box.events) if e.name == x.event)
    message: Expr = Int(n << box.argument_bits)
    parts = parts_of(box.records[n], context.universe).values()
    for argument, p, (_, shape, at) in zip(x.arguments, event.parameters, parts, strict=True):
        message |= code_of(scope.value(argument, p.type), shape) << at
    b.do(call(put(context, box), T, place, message))


def drop(scope: Scope, x: s.Drop | s.Duplicate) -> None:
    """A message is gone, or there twice."""
    change = "take_out" if isinstance(x, s.Drop) else "double"
    scope.builder.do(call(change, T, place_of(scope, x.queue), scope.value(x.position)))


def answered(scope: Scope, x: s.Answered) -> None:
    """An answer has come."""
    scope.builder.do(call("answered", T, _code_of_action(scope, x)))


def expect(scope: Scope, x: s.Await) -> None:
    """An answer is awaited."""
    with scope.builder.if_(Not(call("expect", T, _code_of_action(scope, x)))):
        scope.builder.return_(FULL)


def _code_of_action(scope: Scope, x: s.Await | s.Answered) -> Expr:
    """The number that stands for an action of an instance among those awaited."""
    instance, machine = instance_of(scope, x.instance), machine_of(scope, x.instance)
    instances = sorted(scope.context.universe.instances_of(machine.qualified))
    codes = {n: scope.context.layout.awaited.index(Pending(n, x.action)) + 1 for n in instances}
    first = min(codes)
    step = len(awaitable(machine))
    if all(code == codes[first] + step * (n - first) for n, code in codes.items()):
        return codes[first] - step * first + step * instance
    code: Expr = ZERO
    for n, number in reversed(codes.items()):
        code = Choice(instance.equals(n), Int(number), code)
    return code
