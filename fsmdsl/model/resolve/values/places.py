"""What a place wants of an expression: any value, one of a type, a condition, an instance, something to go through."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import MachineNames, Scope
from fsmdsl.model.resolve.names.states import machine_of
from fsmdsl.model.resolve.types.type_text import described
from fsmdsl.model.typing import bare, compatible
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span


def typed(scope: Scope, e: s.Expr, expected: m.Type | None = None) -> m.Expr:
    """An expression with its names bound: see `expressions.expression`, whose parts need expressions in turn."""
    return scope.module.program.expression(scope, e, expected)


def condition(scope: Scope, e: s.Expr) -> m.Expr:
    """An expression that must be true or false."""
    return of_type(scope, e, m.BOOL)


def of_type(scope: Scope, e: s.Expr, place: m.Type) -> m.Expr:
    """An expression for a place of a known type: an option is opened where the place wants what it holds, and a value
    that a map can hold stands for the map that has it for every key."""
    value = typed(scope, e, place.of if isinstance(place, m.MapType) else place)
    if isinstance(place, m.MapType) and not isinstance(value.type, m.MapType | m.ErrorType):
        return m.Apply("filled", (_fitted(scope, e, value, place.of),), place, e.span)
    return _fitted(scope, e, value, place)


def _fitted(scope: Scope, e: s.Expr, value: m.Expr, place: m.Type) -> m.Expr:
    if not isinstance(place, m.OptionalType):
        value = opened(value)
    if not compatible(value.type, place):
        message = f"expected {described(place)}, got {described(value.type)}"
        return wrong(scope, e.span, message, remedy(e, value.type, bare(place)) or _single(scope, value, place))
    if isinstance(value, m.Collection) and isinstance(place, m.SetType | m.ListType):
        return replace(value, type=place)
    return value


def wrong(scope: Scope, span: Span, message: str, help_: str | None = None) -> m.Expr:
    """A type mismatch, and the value that stands in for it."""
    diagnostic = rules.MISMATCH.at(span, message)
    scope.report(diagnostic if help_ is None else diagnostic.help(help_))
    return m.Constant(None, m.ERROR, span)


def remedy(e: s.Expr, actual: m.Type, expected: m.Type) -> str | None:
    """What to write instead of an expression of another type than expected, where that is known."""
    match e, actual, expected:
        case s.Name(name), _, m.EnumType(name=enum, members=members, machine=machine) if name in members:
            of = (machine or enum).rpartition(".")[2]
            return f"`{name}` is a name of its own here; write `{of}.{name}` for the value"
        case s.Number(number), m.RangeType(), m.DurationType():
            return f"write a unit: `{number}s`"
        case _, m.RangeType(), m.DurationType():
            return "a duration must have a unit: `30s`, `5min`"
        case _:
            return None


def _single(scope: Scope, value: m.Expr, place: m.Type) -> str | None:
    """What to write for an instance where all of them are named."""
    match value, bare(place):
        case m.Instances(name), m.RefType():
            ordinal = f", or `{name}[index]` for the one with the same number" if scope.ordinal else ""
            return f"name one of them: `{name}[0]`{ordinal}"
        case m.AllOf(machine), m.RefType():
            return f"`{machine.rpartition('.')[2]}` means all of its instances; name one of them"
        case _:
            return None


def no_value(machine: MachineNames, name: s.Name) -> Diagnostic:
    """An event or action of a machine, where a value is expected."""
    of = machine.decl.name.text
    if name.text in machine.actions:
        diagnostic = rules.MISPLACED.at(name.span, f"`{name.text}` is an action of `{of}`, not a value")
        return diagnostic.help(f"its outcomes trigger rows of `{of}`; read a field that they set")
    diagnostic = rules.MISPLACED.at(name.span, f"`{name.text}` is an event of `{of}`, and sending it has no result")
    return diagnostic.help(
        "send it in an effect, then read a field of the receiver, or let it answer through a channel"
    )


def opened(e: m.Expr) -> m.Expr:
    """What an option holds; see `model.Apply`."""
    return m.Apply("present", (e,), e.type.of, e.span) if isinstance(e.type, m.OptionalType) else e


def instance(scope: Scope, e: s.Expr, none: Diagnostic) -> tuple[m.Expr, MachineNames] | None:
    """An instance and its machine; reports where there is none."""
    value = opened(typed(scope, e))
    machine = machine_of(scope, bare(value.type))
    if machine is not None:
        return value, machine
    if not isinstance(value.type, m.ErrorType):
        scope.report(none)
    return None


def element(scope: Scope, over: m.Expr) -> m.Type:
    """The type of what a set or list holds; reports when it is neither."""
    match over.type:
        case m.SetType(of=inner) | m.ListType(of=inner):
            return inner
        case m.ErrorType():
            return m.ERROR
        case _:
            return wrong(scope, over.span, f"expected a set or list, got {described(over.type)}").type
