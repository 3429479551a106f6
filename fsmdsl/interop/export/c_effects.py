"""Effects in C: statements of functions that have `self`."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import indent

from fsmdsl import model as m
from fsmdsl.interop.export.c_expressions import expression, instances, loop, reference
from fsmdsl.interop.export.c_scope import CScope, local
from fsmdsl.interop.export.escape import c_comment
from fsmdsl.interop.export.scope import identifier
from fsmdsl.interop.export.values import machine_of
from fsmdsl.model.typing import holds

TAB = "    "


def block(scope: CScope, effects: Sequence[m.Effect]) -> str:
    """Effects as lines, each with its end."""
    return "".join(_effect(scope, x) for x in scope.elaboration.effects(effects))


def _effect(scope: CScope, e: m.Effect) -> str:
    match e:
        case m.Assign() | m.Change():
            return _assign(scope, e)
        case m.Send(target=target, machine=machine) if machine not in scope.selections:
            return f"{reference(scope, target)}; {c_comment('there is no instance')}\n"
        case m.Send(target=target, machine=machine, event=event, arguments=arguments):
            name = event_function(scope, machine, event)
            types = [p.type for p in scope.universe.model.machines[machine].event_named[event].parameters]
            head = f"V t = {reference(scope, target)}; {set_arguments(scope, arguments, types)}"
            return f"{{ {head} {name}(t, a, misfit, {scope.place(e.span)}); }}\n"
        case m.Post():
            return _post(scope, e)
        case m.Request(action=action, arguments=arguments):
            return _request(scope, e, scope.universe.model.machines[scope.reader].action_named[action], arguments)
        case m.ForEach(variable=name, over=over, body=body):
            n = scope.fresh()
            inner = "".join(_effect(scope, x) for x in body)
            head = f"{{ {loop(scope, over, n)}\n  for (i{n} = 0; i{n} < n{n}; i{n}++) {{\n"
            return f"{head}{TAB}V {local(name)} = v{n}[i{n}];\n{indent(inner, TAB)}  }} }}\n"
        case m.If(condition=condition, then=then, otherwise=otherwise):
            first, second = ("".join(_effect(scope, x) for x in part) for part in (then, otherwise))
            text = f"if ({expression(scope, condition)}) {{\n{indent(first, TAB)}}}"
            return f"{text} else {{\n{indent(second, TAB)}}}\n" if second else f"{text}\n"
        case _:
            raise scope.unknown(e)


def _assign(scope: CScope, e: m.Assign | m.Change) -> str:
    """The value is computed, then looked at, then written."""
    owner = scope.reader if e.target is None else machine_of(e.target.type)
    if owner not in scope.selections and e.target is not None:
        return f"{reference(scope, e.target)}; {c_comment('there is no instance')}\n"
    machine = scope.universe.model.machines[owner]
    field = next(x for x in machine.fields if x.name == e.name)
    array = f"w.{identifier(scope.machine_name(machine), e.name)}"
    head = f"int o = {'self' if e.target is None else reference(scope, e.target)}; "
    value, value_type = (
        (expression(scope, e.value), e.value.type) if isinstance(e, m.Assign) else _changed(scope, e, array)
    )
    where, end = scope.place(e.span), "wrote(); " if field.durable else ""
    if holds(e.type, value_type):
        return f"{{ {head}V v = {value}; {array}[at[o]] = {scope.cast('v', value_type, e.type)}; {end}}}\n"
    check = f"check({scope.type(value_type)}, {scope.type(e.type)}, v, {where});"
    return f"{{ {head}V v = {value}; {check} {array}[at[o]] = {scope.cast('v', value_type, e.type)}; {end}}}\n"


def _changed(scope: CScope, e: m.Change, array: str) -> tuple[str, m.Type]:
    """The collection with an item more or less, and its type. A list that is full is noticed first."""
    old, inner = f"{array}[at[o]]", m.element_of(e.type)
    item, t = expression(scope, e.item), scope.type(e.type)
    if e.kind == "remove":
        return f"without({t}, {old}, {scope.type(e.item.type)}, {item})", e.type
    where = scope.place(e.span)
    checks = f"check({scope.type(e.item.type)}, {scope.type(inner)}, x, {where});"
    check = "" if holds(inner, e.item.type) else f" {checks}"
    x = scope.cast("x", e.item.type, inner)
    if isinstance(e.type, m.SetType):
        return f"({{ V x = {item};{check} {old} | 1LL << index_of({scope.type(inner)}, {x}); }})", e.type
    full = f"if (length_of({t}, {old}) >= ({t})->high) fail(OVERFLOW_FAULT, {where});"
    return f"({{ V x = {item}; {full}{check} put_last({t}, {old}, {x}); }})", e.type


def event_function(scope: CScope, machine: str, event: str) -> str:
    """What delivers an event to an instance of a machine."""
    return identifier("on", scope.machine_name(machine), event)


def set_arguments(scope: CScope, arguments: Sequence[m.Expr], types: Sequence[m.Type], keep: bool = False) -> str:
    """Statements that make `a` the arguments, and `misfit` why the first that does not fit does not. `keep`: guards
    look at arguments that do not fit, too."""
    room = "ARGUMENTS" if len(arguments) <= scope.arguments else str(len(arguments))
    parts = [f"V a[{room}] = {{0}}; int misfit = 0;"]
    names = [f"g{scope.fresh()}" for _ in arguments]
    for name, x in zip(names, arguments, strict=True):
        parts.append(f"V {name} = {expression(scope, x)};")
    for n, (name, x, t) in enumerate(zip(names, arguments, types, strict=True)):
        cast = scope.cast(name, x.type, t)
        if holds(t, x.type):
            parts.append(f"a[{n}] = {cast};")
        else:
            why = f"misfit_of({scope.type(x.type)}, {scope.type(t)}, {name})"
            parts.append(f"{{ int why = {why}; if (!misfit) misfit = why; {_unfit(n, name, cast, keep)} }}")
    return " ".join(parts)


def _unfit(n: int, name: str, cast: str, keep: bool) -> str:
    value = cast if cast == name else f'why ? (beyond("a set or list that does not fit, as an argument"), 0) : {cast}'
    return f"a[{n}] = {value};" if keep else f"if (!why) a[{n}] = {cast};"


def _request(scope: CScope, e: m.Request, action: m.Action, arguments: Sequence[m.Expr]) -> str:
    head = set_arguments(scope, arguments, [p.type for p in action.parameters])
    check = f"if (misfit) fail(misfit, {scope.place(e.span)});" if arguments else ""
    number = action_name(scope, scope.universe.model.machines[scope.reader], action)
    wait = f" request(self, {number});" if action.outcomes else ""
    return f"{{ {head} {check}{wait} }} {c_comment(action.name)}\n"


def action_name(scope: CScope, machine: m.Machine, action: m.Action) -> str:
    """The constant that stands for an action."""
    return identifier("action", scope.machine_name(machine), action.name)


def _post(scope: CScope, e: m.Post) -> str:
    channel = scope.universe.model.channels[e.channel]
    receiver = scope.universe.model.machines[channel.receiver]
    head = set_arguments(scope, e.arguments, [p.type for p in receiver.event_named[e.event].parameters])
    where = scope.place(e.span)
    check = f"if (misfit) fail(misfit, {where});" if e.arguments else ""
    names = ["s", "t"][2 - len(e.ends) :]
    head = instances(scope, names, e.ends) + head
    queue = scope.queue(e.channel, names)
    if queue is None:
        return f"{{ {head} {check} }} {c_comment(f'{channel.name} leads out of the system')}\n"
    event = receiver.events.index(receiver.event_named[e.event])
    return f"{{ {head} {check} post({queue}, {event}, a, {where}); }} {c_comment(channel.name)}\n"
