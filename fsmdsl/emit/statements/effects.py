"""Effects as Python statements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.emit.files import File
from fsmdsl.emit.names import own_name, snake
from fsmdsl.emit.statements.code import Binds, Block, Branch, If, Statement, Suite, Text
from fsmdsl.emit.statements.expression_context import Place, machine_of
from fsmdsl.emit.statements.expressions import code, in_order, python, queue, table
from fsmdsl.emit.statements.text import literal
from fsmdsl.model.typing import holds, is_limited


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
            return (_request(place, e),)
        case m.ForEach(variable=variable, over=over, body=body):
            inner = place.bind(variable)
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
        case "add", m.ListType(of, bound):
            item = code(place, e.item)
            longer = Text(f"(*{old}, {item.within(Binds.CONDITIONAL)})")
            fits = holds(of, _wide(place, e.item))
            return (
                _short(place.file, longer, bound, e.name) if fits else _checked(place.file, e.type, longer, e.name)
            ).text
        case "remove", m.SetType():
            return f"{old} - {{{python(place, e.item, Binds.CONDITIONAL)}}}"
        case "remove", m.ListType():
            return f"{place.file.machinery('without')}({old}, {python(place, e.item, Binds.CONDITIONAL)})"
        case _:
            raise TypeError(e.type)


def _request(place: Place, e: m.Request) -> str:
    """An action, called when the step is committed."""
    action = place.own_machine.action_named[e.action]
    pairs = zip(e.arguments, action.parameters, strict=True)
    given = [value_for(place, p.type, a, p.name).within(Binds.CONDITIONAL) for a, p in pairs]
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
    return f"post_{snake(event)}_{snake(own_name(channel))}"


# Limits --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Border:
    """Where values come in from outside: by a class, or (`itself`) by a machine that is there already."""

    class_: str
    itself: bool = False

    def told(self, shown: str) -> str:
        """A string literal that names a value and where it came in."""
        return f"f{literal(f'{{self!r}}: {shown}')}" if self.itself else literal(f"{self.class_}: {shown}")


def argument_checks(file: File, names: Sequence[str], parameters: Sequence[m.Variable], where: Border) -> Block:
    """Statements that refuse arguments from outside which their parameters cannot hold."""
    pairs = zip(names, parameters, strict=True)
    return tuple(f"{n} = {checked(file, p.type, n, p.name, where)}" for n, p in pairs if _is_checked(p.type, where))


def checked_part(file: File, place: m.Type, name: str, shown: str) -> str | None:
    """An expression that is refused where a part of a record cannot be what it is; None where nothing can be wrong."""
    return _checked(file, place, Text(f"self.{name}"), shown).text if is_limited(place) else None


def checked(file: File, place: m.Type, name: str, shown: str, where: Border) -> str:
    """The value of a variable from outside, with a check where its place may not hold it."""
    return _checked(file, place, Text(name), shown, where).text


def member_or_refused(file: File, enum: str, name: str, shown: str, where: Border) -> str:
    """A variable, if it holds a member of an enum; otherwise an exception. Written out, as a call costs more."""
    refused = f"{file.machinery('misfit')}({name}, {enum}, {where.told(shown)})"
    return f"{name} if isinstance({name}, {enum}) else {refused}"


def value_for(place: Place, t: m.Type, value: m.Expr, shown: str) -> Text:
    """A value for a place, with a check where the place may not hold it."""
    if isinstance(t, m.MapType) and isinstance(value, m.Apply) and value.function in ("filled", "replaced"):
        return table(place, value, value_for(place, t.of, value.arguments[-1], shown).within(Binds.CONDITIONAL))
    file, text, wide = place.file, code(place, value), _wide(place, value)
    if holds(t, wide):
        return text
    match t, wide:
        case m.ListType(of=of, bound=bound), m.ListType(of=inner, bound=longest):
            found = text if longest <= bound else _short(file, text, bound, shown)
            return found if holds(of, inner) else _each(file, of, "tuple", found, shown)
        case _:
            return _checked(file, t, text, shown)


def _wide(place: Place, e: m.Expr) -> m.Type:
    """The type of an expression, as wide as its values."""
    return place.file.context.elaboration(place.system).expression(e).type


def _is_checked(t: m.Type, where: Border | None) -> bool:
    """Is a value looked at of which nothing but its kind is known? From outside (`where`), not even that is."""
    match t:
        case m.EnumType():
            return where is not None
        case m.OptionalType(of) | m.SetType(of):
            return _is_checked(of, where)
        case m.MapType(of=of):
            return where is not None and _is_checked(of, where)
        case _:
            return is_limited(t)


def _checked(file: File, t: m.Type, text: Text, shown: str, where: Border | None = None) -> Text:
    """A value of which nothing but its kind is known; from outside (`where`), nothing at all."""
    if not _is_checked(t, where):
        return text
    match t:
        case m.EnumType() if where is not None:
            return Text(member_or_refused(file, file.type_(t), text.text, shown, where), Binds.CONDITIONAL)
        case m.RangeType(low, high):
            return Text(f"{file.machinery('in_range')}({_given(text)}, {low}, {high}, {literal(shown)})")
        case m.OptionalType(of=m.RangeType(low, high)):
            return Text(f"{file.machinery('in_range_or_none')}({_given(text)}, {low}, {high}, {literal(shown)})")
        case m.OptionalType(of):
            known = f"None if {text.within(Binds.ATOM)} is None else {_checked(file, of, text, shown, where).text}"
            return Text(known, Binds.CONDITIONAL)
        case m.SetType(of):
            return _each(file, of, "frozenset", text, shown, where)
        case m.ListType(of=of, bound=bound):
            found = _short(file, text, bound, shown)
            return _each(file, of, "tuple", found, shown, where) if _is_checked(of, where) else found
        case m.MapType(of=of):
            held = text.within(Binds.ATOM)
            rest, item = (
                _checked(file, of, Text(x), shown, where).text for x in (f"{held}.rest", f"{held}.entries[at]")
            )
            return Text(f"{file.machinery('Table')}({rest}, {{at: {item} for at in {held}.entries}})")
        case _:
            raise TypeError(t)


def _given(text: Text) -> str:
    return text.within(Binds.CONDITIONAL)


def _short(file: File, text: Text, bound: int, shown: str) -> Text:
    return Text(f"{file.machinery('not_longer')}({_given(text)}, {bound}, {literal(shown)})")


def _each(file: File, of: m.Type, kind: str, text: Text, shown: str, where: Border | None = None) -> Text:
    """A set or list with a check of what it holds."""
    match of:
        case m.RangeType(low, high) | m.OptionalType(of=m.RangeType(low, high)):
            return Text(f"{file.machinery('each_in_range')}({_given(text)}, {low}, {high}, {literal(shown)})")
        case _:
            item = _checked(file, of, Text("x"), shown, where).text
            return Text(f"{kind}({item} for x in {text.within(Binds.ATOM)})")
