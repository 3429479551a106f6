"""Effects as Python statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.classes.names import own_name, snake
from fsmdsl.classes.statements.code import Binds, Block, Branch, If, Statement, Suite, Text
from fsmdsl.classes.statements.expression_context import Place, machine_of
from fsmdsl.classes.statements.expressions import code, in_order, python, queue, wide
from fsmdsl.classes.statements.limits import fitting
from fsmdsl.classes.statements.text import literal
from fsmdsl.core.lets import may_lack_value
from fsmdsl.dataclasses import replace
from fsmdsl.model.typing import holds


def statements(place: Place, effects: Sequence[m.Effect]) -> Block:
    """Effects as statements, in order."""
    found: list[Statement] = []
    for e in effects:
        found += _statements(place, e)
        place = place.after(e)
    return tuple(found)


def _statements(place: Place, e: m.Effect) -> Block:
    match e:
        case m.Assign():
            return _written(place, e, value_for(place, e.type, e.value, e.name).text)
        case m.Change():
            return _written(place, e, _changed(place, e))
        case m.Send(target=target, machine=machine, event=event):
            name = place.file.context.machine(machine).events[event]
            return (f"{python(place, target, Binds.ATOM)}.{name}({_arguments(place, e.arguments)})",)
        case m.Post(channel=channel, event=event, ends=ends):
            if place.file.context.dialect == "transitions":  # the sender is the model itself
                return (f"self.{post_name(channel, event)}({_arguments(place, (*ends[-1:], *e.arguments))})",)
            name = place.file.context.channel_methods(channel)[event]
            return (f"{queue(place, channel, ends)}.{name}({_arguments(place, e.arguments)})",)
        case m.Request():
            return _request(place, e)
        case m.ForEach(variable=variable, over=over, body=body):
            inner = place.turn(e)
            head = f"for {inner.locals[variable]} in {in_order(place, over)}:"
            inner = inner.after(e)  # known in each turn: what is known before the first, as far as no turn changes it
            return (Suite(head, statements(inner, body), tuple(place.staged.values())),)
        case m.If(condition=condition, then=then, otherwise=otherwise):
            branch = Branch(code(place, condition), statements(place.knowing(condition), then))
            last = statements(place.knowing(condition, holds=False), otherwise)
            return (If((branch,), last, tuple(place.staged.values())),)
        case _:
            assert_never(e)


def _arguments(place: Place, arguments: Sequence[m.Expr]) -> str:
    return ", ".join(python(place, a, Binds.CONDITIONAL) for a in arguments)


def _written(place: Place, e: m.Write, value: str) -> Block:
    """A field's new value. In `recover` it may be another machine's, which the step must know of."""
    if e.target is not None and not isinstance(e.target, m.Self):
        owner = python(place, e.target, Binds.ATOM)
        slot = place.file.context.machine(machine_of(e.target.type)).slot(e.name)
        return f"self.system.touch({owner})", f"{owner}.{slot} = {value}"
    return (f"{_field(place, e)} = {value}",)


def _field(place: Place, e: m.Write) -> str:
    return place.staged.get(e.name) or place.own(e.name)


def _changed(place: Place, e: m.Change) -> str:
    """A set or list with an item more or less."""
    old = python(place, m.Read("field", e.name, e.target, e.type, e.span), Binds.ATOM)
    match e.kind, e.type:
        case "add", m.SetType(of):
            return f"{old} | {{{value_for(place, of, e.item, e.name).text}}}"
        case "add", m.ListType(bound=bound):
            longer = Text(f"(*{old}, {python(place, e.item, Binds.CONDITIONAL)})")
            return fitting(place.file, e.type, longer, m.ListType(wide(place, e.item), bound + 1), e.name).text
        case "remove", m.SetType():
            return f"{old} - {{{python(place, e.item, Binds.CONDITIONAL)}}}"
        case "remove", m.ListType():
            return f"{place.file.machinery('without')}({old}, {python(place, e.item, Binds.CONDITIONAL)})"
        case _:
            raise TypeError(e.type)


def _request(place: Place, e: m.Request) -> Block:
    """An action, called when the step is committed."""
    parameters = place.own_machine.action_named[e.action].parameters
    if not _fails_late(place, e, parameters):
        pairs = zip(e.arguments, parameters, strict=True)
        return (_called(place, e, [value_for(place, p.type, a, p.name) for a, p in pairs]),)
    _, names = place.given([replace(p, name=f"given {p.name}") for p in parameters])
    found = zip(names, e.arguments, parameters, strict=True)
    given = [fitting(place.file, p.type, Text(n), wide(place, a), p.name) for n, a, p in found]
    return *(f"{n} = {python(place, a)}" for n, a in zip(names, e.arguments, strict=True)), _called(place, e, given)


def _fails_late(place: Place, e: m.Request, parameters: Sequence[m.Variable]) -> bool:
    """May an argument have no value behind one that may not fit? All are computed before it is looked at what fits."""
    model = place.file.context.model
    pairs = zip(e.arguments, parameters, strict=True)
    checked = [n for n, (a, p) in enumerate(pairs) if not holds(p.type, wide(place, a))]
    return bool(checked) and any(may_lack_value(model, x, place.system) for x in e.arguments[checked[0] + 1 :])


def _called(place: Place, e: m.Request, arguments: Sequence[Text]) -> str:
    given = [x.within(Binds.CONDITIONAL) for x in arguments]
    name = place.names.actions[e.action]
    if place.file.context.dialect == "transitions":
        return f"self.action_{name}({', '.join(given)})"
    action = place.own_machine.action_named[e.action]
    if not action.outcomes:
        return f"self._system.later({', '.join([f'self._actions.{name}', 'self', *given])})"
    call = f"self._actions.{name}" if action.asynchronous else f"self._{place.names.asking[e.action]}"
    method = "ask_later" if action.asynchronous else "ask"
    return f"self._system.{method}({', '.join(['self', literal(e.action), call, *given])})"


def post_name(channel: str, event: str) -> str:
    """The method of a `transitions` model that sends a message."""
    return f"post_{snake(event)}_{snake(own_name(channel))}"


def value_for(place: Place, t: m.Type, value: m.Expr, shown: str) -> Text:
    """A value for a place, with a check where the place may not hold it."""
    return fitting(place.file, t, code(place, value), wide(place, value), shown)
