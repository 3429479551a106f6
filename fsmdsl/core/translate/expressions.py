"""Expressions of the model as sure ones, behind the statements that make them so."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.presence import NOTHING, Present, present_if
from fsmdsl.core.translate.context import (
    FALSE,
    TRUE,
    Builder,
    Context,
    Scope,
    all_of,
    any_of,
    can_fail,
    compared,
    instance_of,
    is_present,
    negated,
    number,
    size,
)
from fsmdsl.core.translate.fitting import Place, fitting
from fsmdsl.model.typing import bare, holds
from fsmdsl.syntax.operators import may_divide_by_zero


def value(scope: Scope, e: m.Expr) -> s.Expr:
    """The value of an elaborated expression. What it needs to have one is added to the procedure first, in the order in
    which operands are evaluated."""
    match e:
        case m.Constant(value=constant, type=t):
            return s.Constant(constant, t)
        case m.Local(name=name):
            return scope.locals[name]
        case m.Self():
            return scope.self
        case m.Read(target=target, kind=kind, name=name, type=t):
            return s.Read(kind, owner(scope, target), name, t)
        case m.Derived():
            return _derived(scope, e)
        case m.InState(target=target, states=states):
            return s.InState(value(scope, target), states)
        case m.StateOf(target=target, type=t):
            assert isinstance(t, m.EnumType)
            return s.State(reference(scope, target), t)
        case m.Not(operand=operand):
            return negated(value(scope, operand))
        case m.Negative(operand=operand, type=t):
            return s.Negative(value(scope, operand), t)
        case m.Wait():
            return negated(s.Flag("waited", scope.self))
        case m.Logic(operator=operator, operands=operands):
            return joined(scope, [(x, False) for x in operands], operator)
        case m.Binary():
            return _binary(scope, e)
        case m.Conditional():
            return _conditional(scope, e)
        case m.Quantified():
            return _quantified(scope, e)
        case m.Collection(kind=kind, items=items, type=t):
            return s.Collection(kind, values(scope, items), t)
        case m.Construction():
            return _record(scope, e)
        case m.Part(of=of, name=name, type=t):
            return s.Part(value(scope, of), name, t)
        case m.Apply():
            return _applied(scope, e)
        case m.InstanceRef(name=name, index=index, type=t):
            assert scope.context.system is not None
            return s.Constant(scope.context.system.number_of[name, index], t)
        case m.Instances(name=name, type=t):
            return s.Instances("group", name, t)
        case m.AllOf(machine=name, type=t):
            return s.Instances("machine", name, t)
        case m.Ordinal() | m.ChannelRef() | m.Temporal():
            raise TypeError(f"{type(e).__name__} has no value in one world")
        case _:
            assert_never(e)


def values(scope: Scope, expressions: Sequence[m.Expr]) -> tuple[s.Expr, ...]:
    """The values of expressions, from the first to the last."""
    return tuple([value(scope, e) for e in expressions])


def condition(scope: Scope, e: m.Expr | None) -> s.Expr:
    """A condition that is not elaborated yet; true where there is none."""
    if e is None:
        return TRUE
    types = {name: x.type for name, x in scope.locals.items()}
    return value(scope, scope.context.elaboration.expression(e, types))


# Instances -----------------------------------------------------------------------------------------------------------


def owner(scope: Scope, target: m.Expr | None) -> s.Expr:
    """The instance whose data is read or written; without a target, its own."""
    return scope.self if target is None else reference(scope, target)


def reference(scope: Scope, e: m.Expr) -> s.Expr:
    """The instance that an expression stands for; a fault where it is none."""
    return _present(scope, e) if isinstance(e.type, m.OptionalType | m.NoneType) else value(scope, e)


def _present(scope: Scope, e: m.Expr) -> s.Expr:
    """What an optional holds; a fault where it is none."""
    optional = value(scope, e)
    if e not in scope.present:
        optional = scope.builder.temporary(optional, "optional")
        scope.require(is_present(optional), s.NoInstance(e.span), e.span)
    return s.Apply("present", (optional,), bare(e.type))


# Operators -----------------------------------------------------------------------------------------------------------


def joined(scope: Scope, operands: Sequence[tuple[m.Expr, bool]], operator: Literal["and", "or"]) -> s.Expr:
    """`and` or `or` of operands, some of them negated: evaluated from left to right, as far as needed.

    Operands that need statements are evaluated behind a test of those before them; all others remain one expression.
    """
    b, conjunction = scope.builder, operator == "and"
    combined = all_of if conjunction else any_of
    parts: list[s.Expr] = []
    present: Present = NOTHING
    result: s.Variable | None = None
    for e, negative in operands:
        with b.aside() as needed:
            part = value(scope.knowing(present), e)
        part = negated(part) if negative else part
        present |= present_if(e, conjunction is not negative)
        if not (needed and parts):
            b.add(*needed)
            parts.append(part)
            continue
        result = result or b.variable("all" if conjunction else "some", m.BOOL)
        if parts != [result]:
            b.add(s.Set(result, combined(parts)))
        b.add(s.If(result if conjunction else negated(result), (*needed, s.Set(result, part))))
        parts = [result]
    return combined(parts)


def _binary(scope: Scope, e: m.Binary) -> s.Expr:
    if e.operator == "=>":
        return joined(scope, [(e.left, True), (e.right, False)], "or")
    left, right = values(scope, (e.left, e.right))
    divisor = e.right.type
    if isinstance(divisor, m.RangeType) and may_divide_by_zero(e.operator, (divisor.low, divisor.high)):
        right = scope.builder.temporary(right, "divisor")
        scope.require(compared(right, "!=", 0), s.DivisionByZero(e.right.span), e.span)
    return s.Binary(e.operator, left, right, e.type)


def _conditional(scope: Scope, e: m.Conditional) -> s.Expr:
    b, test = scope.builder, value(scope, e.condition)
    with b.aside() as needed:
        then = value(scope.knowing(present_if(e.condition, True)), e.then)
    with b.aside() as needed_otherwise:
        otherwise = value(scope.knowing(present_if(e.condition, False)), e.otherwise)
    if not needed and not needed_otherwise:
        return s.Conditional(test, then, otherwise, e.type)
    result = b.variable("chosen", e.type)
    b.add(s.If(test, (*needed, s.Set(result, then)), (*needed_otherwise, s.Set(result, otherwise))))
    return result


def _quantified(scope: Scope, e: m.Quantified) -> s.Expr:
    b = scope.builder
    over = value(scope, e.over)
    variable = b.variable(e.variable, m.element_of(over.type))
    with b.aside() as needed:
        body = value(scope.bind(e.variable, variable), e.body)
    if not needed:
        return s.Quantifier(e.kind, variable, over, body, e.type)
    result = b.variable(e.kind, e.type)
    match e.kind:
        case "count":
            first: s.Expr = number(0)
            turn = s.If(body, (s.Set(result, s.Binary("+", result, number(1), e.type)),))
        case "some":
            first, turn = FALSE, s.If(body, (s.Set(result, TRUE), s.Leave()))
        case "all":
            first, turn = TRUE, s.If(negated(body), (s.Set(result, FALSE), s.Leave()))
        case _:
            assert_never(e.kind)
    b.add(s.Set(result, first), s.Each(variable, over, (*needed, turn), e))
    return result


def _record(scope: Scope, e: m.Construction) -> s.Expr:
    """All parts are computed before it is checked whether they fit."""
    parts: list[s.Expr] = []
    for (name, t), part, x in zip(e.type.parts, values(scope, e.parts), e.parts, strict=True):
        place = Place("part", name, e.type.name, scope.self, s.Location(x.span))
        parts.append(fitting(scope, t, part, name, place))
    return s.Record(tuple(parts), e.type)


# Functions -----------------------------------------------------------------------------------------------------------


def _applied(scope: Scope, e: m.Apply) -> s.Expr:
    first = e.arguments[0]
    match e.function:
        case "present" if isinstance(first.type, m.OptionalType | m.NoneType):
            return _present(scope, first)
        case "present":
            return value(scope, first)
        case "size" if isinstance(first, m.ChannelRef):
            queue = queue_of(scope.context, first.name, [reference(scope, x) for x in e.arguments[1:]])
            return number(0) if queue is None else s.Length(queue, e.type)
        case "size" | "rest" | "concat" | "min" | "max" | "range" | "subsets":
            return s.Apply(e.function, values(scope, e.arguments), e.type)
        case "first":
            members = scope.builder.temporary(value(scope, first), "members")
            scope.require(compared(size(members), ">", 0), s.NoFirst(first.span), e.span)
            return s.Apply("first", (members,), e.type)
        case "item" if isinstance(first.type, m.MapType):
            return s.Apply("item", _entry_of(scope, e), e.type)
        case "item":
            return _item(scope, e)
        case "filled":
            return s.Apply("filled", (_entry(scope, e, first, ""),), e.type)
        case "replaced":
            table, key = _entry_of(scope, e)
            return s.Apply("replaced", (table, key, _entry(scope, e, e.arguments[2], first.span.text)), e.type)
        case _:
            assert_never(e.function)


def queue_of(context: Context, channel: str, ends: Sequence[s.Expr]) -> s.Queue | None:
    """A queue of a channel, by its ends. None: the channel leads out of the system."""
    inside = any(x.qualified == channel for x in context.channels)
    return s.Queue(channel, tuple(ends)) if inside else None


def _item(scope: Scope, e: m.Apply) -> s.Expr:
    of, at = e.arguments
    members = scope.builder.temporary(value(scope, of), "members")
    place = scope.builder.temporary(value(scope, at), "place")
    inside = all_of([compared(place, ">=", 0), compared(place, "<", size(members))])
    scope.require(inside, s.NoItem(of.span, place, size(members)), e.span)
    return s.Apply("item", (members, place), e.type)


def _entry_of(scope: Scope, e: m.Apply) -> tuple[s.Expr, s.Expr]:
    """A map, and a key that it has."""
    of, at, *_ = e.arguments
    table, key = values(scope, (of, at))
    assert isinstance(of.type, m.MapType)
    keys = of.type.key
    if isinstance(keys, m.RangeType) and not holds(keys, key.type):
        key = scope.builder.temporary(key, "key")
        inside = all_of([compared(key, ">=", keys.low), compared(key, "<=", keys.high)])
        scope.require(inside, s.NoKey(of.span, key, keys.low, keys.high), e.span)
    return table, key


def _entry(scope: Scope, e: m.Apply, entry: m.Expr, name: str) -> s.Expr:
    """A value that a map can hold."""
    assert isinstance(e.type, m.MapType)
    place = Place("entry", name, "", scope.self, s.Location(e.span))
    return fitting(scope, e.type.of, value(scope, entry), "entry", place)


# Derived values ------------------------------------------------------------------------------------------------------


def _derived(scope: Scope, e: m.Derived) -> s.Expr:
    """The instance comes first, then the arguments, then the body of the `let`."""
    arguments = (owner(scope, e.target), *values(scope, e.arguments))
    procedure = let(scope.context, e)
    if not can_fail(procedure.body):
        return s.Derived(procedure.name, arguments, e.type)
    result = scope.builder.variable(e.name, e.type)
    scope.builder.add(s.Call(procedure.name, arguments, result))
    return result


def let(context: Context, e: m.Derived) -> s.Procedure:
    """What a `let` stands for where it is used with arguments of these types."""
    body = context.elaboration.body(e)
    uses = context.lets.setdefault((e.owner, e.name), [])
    existing = next((procedure for other, procedure in uses if other is body), None)
    if existing is not None:
        return existing
    b, machine = Builder(), context.model.machines.get(e.owner)
    instance = s.Variable("self", m.OptionalType(s.INSTANCE)) if machine is None else instance_of(machine)
    parameters = [b.variable(x, t) for x, t in body.parameters.items()]
    scope = Scope(context, b, machine, instance, dict(zip(body.parameters, parameters, strict=True)))
    b.add(s.Return(value(scope, body.value)))
    name = s.Name("let", e.owner, f"{e.name} {len(uses) + 1}" if uses else e.name)
    procedure = context.define(name, (instance, *parameters), b)
    uses.append((body, procedure))
    return procedure
