"""Effects as Python statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.classes.names import own_name, snake
from fsmdsl.classes.statements.code import Binds, Block, Branch, If, Statement, Suite, Text
from fsmdsl.classes.statements.expressions import code, in_order, python, queue, wide
from fsmdsl.classes.statements.limits import fitting
from fsmdsl.classes.statements.scope import Scope, machine_of
from fsmdsl.classes.statements.text import literal
from fsmdsl.core.lets import may_lack_value
from fsmdsl.dataclasses import replace
from fsmdsl.model.typing import holds


def statements(scope: Scope, effects: Sequence[m.Effect]) -> Block:
    """Effects as statements, in order."""
    block: list[Statement] = []
    for e in effects:
        block += _statements(scope, e)
        scope = scope.after(e)
    return tuple(block)


def _statements(scope: Scope, e: m.Effect) -> Block:
    match e:
        case m.Assign():
            return _written(scope, e, value_for(scope, e.type, e.value, e.name).text)
        case m.Change():
            return _written(scope, e, _changed(scope, e))
        case m.Send(target=target, machine=machine, event=event):
            name = scope.file.context.machine(machine).events[event]
            return (f"{python(scope, target, Binds.ATOM)}.{name}({_arguments(scope, e.arguments)})",)
        case m.Post(channel=channel, event=event, ends=ends):
            if scope.file.context.dialect == "transitions":  # the sender is the model itself
                return (f"self.{post_name(channel, event)}({_arguments(scope, (*ends[-1:], *e.arguments))})",)
            name = scope.file.context.channel_methods(channel)[event]
            return (f"{queue(scope, channel, ends)}.{name}({_arguments(scope, e.arguments)})",)
        case m.Request():
            return _request(scope, e)
        case m.ForEach(variable=variable, over=over, body=body):
            inner = scope.turn(e)
            head = f"for {inner.locals[variable]} in {in_order(scope, over)}:"
            inner = inner.after(e)  # known in each turn: what is known before the first, as far as no turn changes it
            return (Suite(head, statements(inner, body), tuple(scope.staged.values())),)
        case m.If(condition=condition, then=then, otherwise=otherwise):
            branch = Branch(code(scope, condition), statements(scope.knowing(condition), then))
            last = statements(scope.knowing(condition, holds=False), otherwise)
            return (If((branch,), last, tuple(scope.staged.values())),)
        case _:
            assert_never(e)


def _arguments(scope: Scope, arguments: Sequence[m.Expr]) -> str:
    return ", ".join(python(scope, a, Binds.CONDITIONAL) for a in arguments)


def _written(scope: Scope, e: m.Write, value: str) -> Block:
    """A field's new value. In `recover` it may be another machine's, which the step must know of."""
    if e.target is not None and not isinstance(e.target, m.Self):
        owner = python(scope, e.target, Binds.ATOM)
        slot = scope.file.context.machine(machine_of(e.target.type)).slot(e.name)
        return f"self.system.touch({owner})", f"{owner}.{slot} = {value}"
    return (f"{_field(scope, e)} = {value}",)


def _field(scope: Scope, e: m.Write) -> str:
    return scope.staged.get(e.name) or scope.own(e.name)


def _changed(scope: Scope, e: m.Change) -> str:
    """A set or list with an item more or less."""
    old = python(scope, m.Read("field", e.name, e.target, e.type, e.span), Binds.ATOM)
    match e.kind, e.type:
        case "add", m.SetType(of):
            return f"{old} | {{{value_for(scope, of, e.item, e.name).text}}}"
        case "add", m.ListType(bound=bound):
            longer = Text(f"(*{old}, {python(scope, e.item, Binds.CONDITIONAL)})")
            return fitting(scope.file, e.type, longer, m.ListType(wide(scope, e.item), bound + 1), e.name).text
        case "remove", m.SetType():
            return f"{old} - {{{python(scope, e.item, Binds.CONDITIONAL)}}}"
        case "remove", m.ListType():
            return f"{scope.file.machinery('without')}({old}, {python(scope, e.item, Binds.CONDITIONAL)})"
        case _:
            raise TypeError(e.type)


def _request(scope: Scope, e: m.Request) -> Block:
    """An action, called when the step is committed."""
    parameters = scope.own_machine.action_named[e.action].parameters
    if not _fails_late(scope, e, parameters):
        pairs = zip(e.arguments, parameters, strict=True)
        return (_called(scope, e, [value_for(scope, p.type, a, p.name) for a, p in pairs]),)
    _, names = scope.with_parameters([replace(p, name=f"given {p.name}") for p in parameters])
    triples = zip(names, e.arguments, parameters, strict=True)
    values = [fitting(scope.file, p.type, Text(n), wide(scope, a), p.name) for n, a, p in triples]
    return *(f"{n} = {python(scope, a)}" for n, a in zip(names, e.arguments, strict=True)), _called(scope, e, values)


def _fails_late(scope: Scope, e: m.Request, parameters: Sequence[m.Variable]) -> bool:
    """May an argument have no value behind one that may not fit? All are computed before it is looked at what fits."""
    model = scope.file.context.model
    pairs = zip(e.arguments, parameters, strict=True)
    checked = [n for n, (a, p) in enumerate(pairs) if not holds(p.type, wide(scope, a))]
    return bool(checked) and any(may_lack_value(model, x, scope.system) for x in e.arguments[checked[0] + 1 :])


def _called(scope: Scope, e: m.Request, arguments: Sequence[Text]) -> str:
    texts = [x.within(Binds.CONDITIONAL) for x in arguments]
    name = scope.names.actions[e.action]
    if scope.file.context.dialect == "transitions":
        return f"self.action_{name}({', '.join(texts)})"
    action = scope.own_machine.action_named[e.action]
    if not action.outcomes:
        return f"self._system.later({', '.join([f'self._actions.{name}', 'self', *texts])})"
    call = f"self._actions.{name}" if action.asynchronous else f"self._{scope.names.asking[e.action]}"
    method = "ask_later" if action.asynchronous else "ask"
    return f"self._system.{method}({', '.join(['self', literal(e.action), call, *texts])})"


def post_name(channel: str, event: str) -> str:
    """The method of a `transitions` model that sends a message."""
    return f"post_{snake(event)}_{snake(own_name(channel))}"


def value_for(scope: Scope, t: m.Type, value: m.Expr, label: str) -> Text:
    """A value for a scope, with a check where the scope may not hold it."""
    return fitting(scope.file, t, code(scope, value), wide(scope, value), label)
