"""Effects as Python statements."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.emit.expressions import in_order, python
from fsmdsl.emit.files import File
from fsmdsl.emit.names import snake
from fsmdsl.emit.place import Binds, Place
from fsmdsl.emit.text import indented, literal


def statements(place: Place, effects: Sequence[m.Effect]) -> list[str]:
    """Effects as lines, in order."""
    lines: list[str] = []
    for e in effects:
        lines += _statement(place, e)
        place = _afterwards(place, e)
    return lines


def _afterwards(place: Place, e: m.Effect) -> Place:
    """What is still known not to be none when an effect is done: what it cannot have changed."""
    changed = {e.name} if isinstance(e, m.Assign | m.Change) else set()
    if isinstance(e, m.If | m.ForEach):
        return replace(place, present=frozenset())
    kept = (x for x in place.present if isinstance(x, m.Local) or (isinstance(x, m.Read) and x.target is None))
    return replace(place, present=frozenset(x for x in kept if x.name not in changed))


def _statement(place: Place, e: m.Effect) -> list[str]:
    match e:
        case m.Assign():
            value = checked(place.file, e.type, e.value, python(place, e.value), e.name)
            return _written(place, e, value)
        case m.Change():
            return _written(place, e, _changed(place, e))
        case m.Send(target=target, machine=machine, event=event):
            name = place.file.context.machine(machine).events[event]
            given = ", ".join(python(place, a, Binds.CONDITIONAL) for a in e.arguments)
            return [f"{python(place, target, Binds.ATOM)}.{name}({given})"]
        case m.Post(channel=channel, event=event):
            given = ", ".join(python(place, a, Binds.CONDITIONAL) for a in e.arguments)
            if place.file.context.dialect == "transitions":
                return [f"self.{post_name(channel, event)}({given})"]
            class_ = place.file.channel(channel)
            name = place.file.context.channel_methods(channel)[event]
            return [f"{place.system_name}.channel({class_}).{name}({given})"]
        case m.Request():
            return [_request(place, e)]
        case m.ForEach(variable=variable, over=over, body=body):
            inner = place.bind(variable)
            head = f"for {inner.locals[variable]} in {in_order(place, over)}:"
            return [head, *indented(statements(inner, body) or ["pass"])]
        case m.If():
            return _if(place, e)
        case _:
            assert_never(e)


def _written(place: Place, e: m.Assign | m.Change, value: str) -> list[str]:
    """A field's new value. In `recover` it may be another machine's, which the step must know of."""
    if e.target is not None and not isinstance(e.target, m.Self):
        owner = python(place, e.target, Binds.ATOM)
        slot = place.file.context.machine(_owner(e.target.type)).slot(e.name)
        return [f"self.system.touch({owner})", f"{owner}.{slot} = {value}"]
    return [f"{_field(place, e)} = {value}"]


def _owner(t: m.Type) -> str:
    assert isinstance(t, m.RefType)
    return t.machine


def _field(place: Place, e: m.Assign | m.Change) -> str:
    return place.staged.get(e.name) or place.own(e.name)


def _changed(place: Place, e: m.Change) -> str:
    """A set or list with an item more or less."""
    old = python(place, m.Read("field", e.name, e.target, e.type, e.span), Binds.ATOM)
    item = python(place, e.item, Binds.CONDITIONAL)
    match e.type, e.kind:
        case m.SetType(of), "add":
            return f"{old} | {{{checked(place.file, of, e.item, item, e.name)}}}"
        case m.SetType(), "remove":
            return f"{old} - {{{item}}}"
        case m.ListType(of=of, bound=bound), "add":
            longer = f"(*{old}, {checked(place.file, of, e.item, item, e.name)})"
            return f"{place.file.machinery('not_longer')}({longer}, {bound}, {literal(e.name)})"
        case _:
            return f"{place.file.machinery('without')}({old}, {item})"


def _request(place: Place, e: m.Request) -> str:
    """An action, called when the step is committed."""
    assert place.machine is not None
    action = place.machine.action_named[e.action]
    given = [
        checked(place.file, p.type, a, python(place, a, Binds.CONDITIONAL), p.name)
        for a, p in zip(e.arguments, action.parameters, strict=True)
    ]
    name = place.names.actions[e.action]
    if place.file.context.dialect == "transitions":
        return f"self.action_{name}({', '.join(given)})"
    if not action.outcomes:
        return f"self._system.later({', '.join([f'self._actions.{name}', 'self', *given])})"
    call = f"self._actions.{name}" if action.asynchronous else f"self._{place.names.asking[e.action]}"
    method = "ask_later" if action.asynchronous else "ask"
    return f"self._system.{method}({', '.join(['self', literal(e.action), call, *given])})"


def post_name(channel: str, event: str) -> str:
    """The method of a `transitions` model that sends a message."""
    return f"post_{snake(event)}_{snake(channel.rpartition('.')[2])}"


def _if(place: Place, e: m.If) -> list[str]:
    yes = place.knowing(e.condition)
    lines = [f"if {python(place, e.condition)}:", *indented(statements(yes, e.then) or ["pass"])]
    if not e.otherwise:
        return lines
    otherwise = statements(place.knowing_not(e.condition), e.otherwise) or ["pass"]
    if len(e.otherwise) == 1 and isinstance(e.otherwise[0], m.If):
        return [*lines, f"el{otherwise[0]}", *otherwise[1:]]
    return [*lines, "else:", *indented(otherwise)]


# Limits --------------------------------------------------------------------------------------------------------------


def checked(file: File, place: m.Type, value: m.Expr | None, text: str, name: str) -> str:
    """A value, with a check where its place may not hold it. `value` None: anything of that kind may come."""
    if not needs_check(place) or (value is not None and _fits(value, place)):
        return text
    match place:
        case m.RangeType(low, high):
            return f"{file.machinery('in_range')}({text}, {low}, {high}, {literal(name)})"
        case m.OptionalType(of=m.RangeType(low, high)):
            return f"{file.machinery('in_range_or_none')}({text}, {low}, {high}, {literal(name)})"
        case m.OptionalType(of):
            return f"None if {_whole(text)} is None else {checked(file, of, None, text, name)}"
        case m.SetType(of):
            return _items_checked(file, of, "frozenset", text, name)
        case m.ListType(of=of, bound=bound):
            inner = text
            if value is None or not isinstance(value.type, m.ListType) or _longest(value, value.type) > bound:
                inner = f"{file.machinery('not_longer')}({text}, {bound}, {literal(name)})"
            if needs_check(of) and not _fits_inside(value, of):
                inner = _items_checked(file, of, "tuple", inner, name)
            return inner
        case _:
            raise TypeError(place)


def _items_checked(file: File, of: m.Type, kind: str, text: str, name: str) -> str:
    """A set or list with a check of what it holds."""
    match of:
        case m.RangeType(low, high) | m.OptionalType(of=m.RangeType(low, high)):
            return f"{file.machinery('each_in_range')}({text}, {low}, {high}, {literal(name)})"
        case _:
            return f"{kind}({checked(file, of, None, 'x', name)} for x in {_whole(text)})"


def _whole(text: str) -> str:
    """A text that stands for itself inside of another."""
    return text if re.fullmatch(r"[\w.]+(\(.*\))?", text) else f"({text})"


def needs_check(t: m.Type) -> bool:
    """Are there Python values of a type's kind that a place of the type cannot hold?"""
    match t:
        case m.RangeType() | m.ListType():
            return True
        case m.OptionalType(of) | m.SetType(of):
            return needs_check(of)
        case _:
            return False


def _longest(value: m.Expr, t: m.ListType) -> int:
    return len(value.items) if isinstance(value, m.Collection) else t.bound


def _fits_inside(value: m.Expr | None, of: m.Type) -> bool:
    if isinstance(value, m.Collection):
        return all(_fits(x, of) for x in value.items)
    return value is not None and isinstance(value.type, m.ListType) and _inside(value.type.of, of)


def _fits(value: m.Expr, place: m.Type) -> bool:
    if isinstance(value, m.Collection) and isinstance(place, m.SetType | m.ListType):  # it has the type of its place
        short = isinstance(place, m.SetType) or len(value.items) <= place.bound
        return short and all(_fits(x, place.of) for x in value.items)
    return _inside(value.type, place)


def _inside(t: m.Type, place: m.Type) -> bool:
    """Does every value of a type fit in a place of another?"""
    match t, place:
        case m.RangeType(), m.RangeType():
            return place.low <= t.low and t.high <= place.high
        case m.NeverType(), _:
            return True
        case m.NoneType(), m.OptionalType():
            return True
        case m.OptionalType(of), m.OptionalType(of=inner):
            return _inside(of, inner)
        case _, m.OptionalType(of=inner):
            return _inside(t, inner)
        case m.SetType(of), m.SetType(of=inner):
            return _inside(of, inner)
        case m.ListType(of=of, bound=bound), m.ListType(of=inner, bound=limit):
            return bound <= limit and _inside(of, inner)
        case _:
            return True
