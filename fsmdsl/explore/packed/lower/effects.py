"""Effects as Python: what `step.cascade.perform` does, on the row `t`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import Box, awaitable
from fsmdsl.explore.packed.lower.channels import put
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.lower.convert import coded, converted, element_of, misfit, placed
from fsmdsl.explore.packed.lower.expressions import machine_of, reference, value
from fsmdsl.explore.packed.lower.loops import loop
from fsmdsl.explore.packed.lower.orders import in_every_order, members_in
from fsmdsl.explore.packed.lower.sets import bit, collected
from fsmdsl.explore.packed.lower.sites import BUSY, CUT, FULL, REENTRANCE
from fsmdsl.explore.packed.lower.widen import widened_effects, within
from fsmdsl.step.world import Pending


def perform(scope: Scope, effects: Sequence[m.Effect]) -> None:
    """Effects, one after the other."""
    _perform(scope, widened_effects(scope.context.universe, effects))


def _perform(scope: Scope, effects: Sequence[m.Effect]) -> None:
    for e in effects:
        match e:
            case m.Assign():
                owner, machine = _owner(scope, e)
                given = scope.writer.named(value(scope, e.value))
                store(scope, owner, machine, e, given, e.value.type)
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


def refuse(scope: Scope, conditions: Sequence[tuple[str, str]]) -> None:
    """A fault where one of the conditions holds."""
    for condition, kind in conditions:
        with scope.writer.block(f"if {condition}:"):
            scope.fail(kind)


def _owner(scope: Scope, e: m.Assign | m.Change) -> tuple[str, m.Machine]:
    """Whose field is written: the machine's own, or in `recover` anyone's."""
    if e.target is not None:
        return reference(scope, e.target), machine_of(scope, e.target.type)
    assert scope.instance is not None
    assert scope.machine is not None
    return scope.instance, scope.machine


def store(scope: Scope, owner: str, machine: m.Machine, e: m.Assign | m.Change, text: str, have: m.Type) -> None:
    """A field takes a value of its type; any other is a fault."""
    refuse(scope, misfit(scope, text, have, e.type))
    column = scope.context.column(machine.qualified, e.name)
    scope.writer.line(f"{scope.at(column, owner)} = {converted(scope, text, have, e.type)}")
    if next(f for f in machine.fields if f.name == e.name).durable:
        wrote(scope)


def wrote(scope: Scope) -> None:
    """Count a write, where a crash may come between two of them."""
    layout = scope.context.layout
    if scope.context.cuts:
        scope.writer.line(f"t[{layout.writes}] += 1")
        with scope.writer.block(f"if t[{layout.writes}] == t[{layout.cut}]:"):
            scope.writer.line(f"return {CUT}")


# Sets and lists ------------------------------------------------------------------------------------------------------


def _change(scope: Scope, e: m.Change) -> None:
    owner, machine = _owner(scope, e)
    item = scope.writer.named(value(scope, e.item))
    place = scope.at(scope.context.column(machine.qualified, e.name), owner)
    assert isinstance(e.type, m.SetType | m.ListType)
    if isinstance(e.type, m.ListType) and e.kind == "add":
        length = scope.writer.named(f"{place} & {(1 << e.type.bound.bit_length()) - 1}")
        refuse(scope, [(f"{length} == {e.type.bound}", "overflow"), *misfit(scope, item, e.item.type, e.type.of)])
        _append(scope, e, e.type, place, item, length)
    elif e.kind == "add":
        refuse(scope, misfit(scope, item, e.item.type, e.type.of))
        code = coded(scope, converted(scope, item, e.item.type, e.type.of), element_of(scope, e.type))
        scope.writer.line(f"{place} |= {bit(code)}")
    else:
        conditions, code = placed(scope, item, e.item.type, e.type.of)
        with scope.writer.block(f"if {' and '.join(conditions)}:") if conditions else nullcontext():
            if isinstance(e.type, m.ListType):
                _take_out(scope, e.type, place, code)
            else:
                scope.writer.line(f"{place} &= ~({bit(code)})")
    if next(f for f in machine.fields if f.name == e.name).durable:
        wrote(scope)


def _append(scope: Scope, e: m.Change, t: m.ListType, place: str, item: str, length: str) -> None:
    of, at = element_of(scope, t), t.bound.bit_length()
    code = coded(scope, converted(scope, item, e.item.type, t.of), of)
    scope.writer.line(f"{place} = ({place} | {code} << {at} + {length} * {of.bits}) + 1")


def _take_out(scope: Scope, t: m.ListType, place: str, code: str) -> None:
    """Behind the first such item, everything moves up by one."""
    w, of, at = scope.writer, element_of(scope, t), t.bound.bit_length()
    code = w.named(code)
    found, n, kept = w.name(), w.name(), w.name()
    w.line(f"{found} = -1")
    with (
        w.block(f"for {n} in range({place} & {(1 << at) - 1}):"),
        w.block(f"if {found} < 0 and {place} >> {at} + {n} * {of.bits} & {(1 << of.bits) - 1} == {code}:"),
    ):
        w.line(f"{found} = {at} + {n} * {of.bits}")
    with w.block(f"if {found} >= 0:"):
        w.line(f"{kept} = {place} & (1 << {found}) - 1")
        w.line(f"{place} = ({kept} | {place} >> {found} + {of.bits} << {found}) - 1")


# Loops and branches --------------------------------------------------------------------------------------------------


def _for_each(scope: Scope, e: m.ForEach) -> None:
    over = collected(scope, e.over)
    if not over.lstrip("-").isdigit() and not over.startswith("v"):
        over = _copied(scope, over)
    if members_in(scope.context, e.over.type):
        in_every_order(scope, e, over, perform)
        return
    of = e.over.type.of if isinstance(e.over.type, m.SetType | m.ListType) else m.ERROR
    with loop(scope, e.over.type, over, e.over) as x, scope.binding(e.variable, x, of):
        _perform(scope, e.body)


def _copied(scope: Scope, text: str) -> str:
    """A value under a name of its own, which nothing changes."""
    name = scope.writer.name()
    scope.writer.line(f"{name} = {text}")
    return name


def _branch(scope: Scope, e: m.If) -> None:
    w = scope.writer
    condition = value(scope, e.condition)
    with w.block(f"if {condition}:"):
        _perform(scope, e.then)
    if e.otherwise:
        with w.block("else:"):
            _perform(scope, e.otherwise)


# Events, messages, actions -------------------------------------------------------------------------------------------


def _send(scope: Scope, e: m.Send) -> None:
    """The receiver handles the event at once. Where it cannot be delivered, the fault is the sender's."""
    w, context = scope.writer, scope.context
    machine = context.universe.model.machines[e.machine]
    receiver = reference(scope, e.target)
    texts = _values(scope, e.arguments)
    if not context.universe.instances_of(e.machine):
        return  # There is nobody to receive it, so the target is none, and that has failed.
    first = context.sites.several(6 + len(machine.leaves))
    event = machine.event_named[e.event]
    if not all(within(a.type, p.type) for a, p in zip(e.arguments, event.parameters, strict=True)):
        # Whether the receiver is free is looked at before the arguments.
        _check_free(scope, machine, receiver, first)
    given = _fitting(scope, texts, e.arguments, event.parameters)
    function = context.handler(machine, e.event)
    code = w.name()
    w.line(f"{code} = {function}({', '.join(['t', receiver, *given])})")
    with w.block(f"if {code} < 0 or {code} > 1:"):
        w.line(f"return {code} if {code} > 0 else {first} - {code}")


def _check_free(scope: Scope, machine: m.Machine, receiver: str, first: int) -> None:
    w = scope.writer
    with w.block(f"if t[{scope.context.layout.busy}] >> {receiver} & 1:"):
        w.line(f"return {first + REENTRANCE}")
    if awaitable(machine):
        with w.block(f"if awaits(t, {receiver}):"):
            w.line(f"return {first + BUSY}")


def _values(scope: Scope, arguments: Sequence[m.Expr]) -> list[str]:
    """Arguments: all are computed before any is looked at."""
    return [scope.writer.named(value(scope, a)) for a in arguments]


def _fitting(
    scope: Scope, texts: Sequence[str], arguments: Sequence[m.Expr], parameters: Sequence[m.Variable]
) -> list[str]:
    """Arguments as their parameters want them; a fault where one cannot hold its own."""
    for text, a, p in zip(texts, arguments, parameters, strict=True):
        refuse(scope, misfit(scope, text, a.type, p.type))
    return [converted(scope, text, a.type, p.type) for text, a, p in zip(texts, arguments, parameters, strict=True)]


def _request(scope: Scope, e: m.Request) -> None:
    """An action with outcomes is awaited; of others nothing is left once their arguments are known to fit."""
    assert scope.machine is not None
    w = scope.writer
    action = scope.machine.action_named[e.action]
    _fitting(scope, _values(scope, e.arguments), e.arguments, action.parameters)
    if action.outcomes:
        codes = _codes(scope, scope.machine, e.action)
        with w.block(f"if not expect(t, {codes}):"):
            w.line(f"return {FULL}")


def _codes(scope: Scope, machine: m.Machine, action: str) -> str:
    """The number that stands for an action of an instance among those awaited."""
    layout, instance = scope.context.layout, scope.instance
    assert instance is not None
    listed = {n: layout.awaited.index(Pending(n, action)) + 1 for n in _instances(scope, machine)}
    first = min(listed)
    step = len([a for a in machine.actions if a.outcomes])
    if all(code == listed[first] + step * (n - first) for n, code in listed.items()):
        return f"{listed[first] - step * first} + {step} * {instance}"
    texts = [f"{code} if {instance} == {n} else" for n, code in listed.items()]
    return f"({' '.join(texts)} 0)"


def _instances(scope: Scope, machine: m.Machine) -> list[int]:
    return sorted(scope.context.universe.instances_of(machine.qualified))


def _post(scope: Scope, e: m.Post) -> None:
    """A message waits in its channel. A channel whose receiver is not in the system leads out of it."""
    context, w = scope.context, scope.writer
    receiver = context.universe.model.machines[context.universe.model.channels[e.channel].receiver]
    event = receiver.event_named[e.event]
    place = context.universe.channel_place.get(e.channel)
    box = None if place is None else context.layout.boxes[place]
    given = _fitting(scope, _values(scope, e.arguments), e.arguments, event.parameters)
    if box is None:
        return
    with w.block(f"if t[{box.length}] >= {box.channel.bound}:"):
        scope.fail("overflow")
    texts = [_field_of_message(scope, box, event, n, x) for n, x in enumerate(given)]
    number = box.events.index(event) << box.argument_bits
    w.line(f"{put(context, box)}(t, {box.length}, {' | '.join([str(number), *texts])})")


def _field_of_message(scope: Scope, box: Box, event: m.Event, n: int, text: str) -> str:
    """An argument where it stands in a message."""
    place = box.events.index(event)
    return f"{coded(scope, text, box.shapes[place][n])} << {box.offsets(place)[n]}"
