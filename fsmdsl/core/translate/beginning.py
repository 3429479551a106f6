"""How a system begins. Before that, each field and parameter has the value that its type begins with; then those places
that begin with any value (`free`) have one."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.translate.context import (
    FALSE,
    TRUE,
    Builder,
    Context,
    Scope,
    negated,
    of_system,
)
from fsmdsl.core.translate.expressions import condition, value
from fsmdsl.core.translate.fitting import Place, fitting


def begin(context: Context) -> s.Procedure:
    """Parameters, then fields, take their first values, instance by instance. Where one is impossible, the value of the
    type remains."""
    b, system = Builder(), context.system
    assert system is not None
    placed = [(x, _of_instance(context, b, x, n)) for n, x in enumerate(system.instances)]
    for x, scope in placed:
        for p in context.model.machines[x.machine].params:
            first = dict(x.values).get(p.name, p.default)
            if first is not None:
                _give(scope, x, "param", p, first)
    for x, scope in placed:
        for f in context.model.machines[x.machine].fields:
            if not x.begins_with_any(f):
                _give(scope, x, "field", f, dict(x.values).get(f.name, f.default))
    return context.define(s.Name("begin"), (), b)


def _of_instance(context: Context, b: Builder, x: m.Instance, n: int) -> Scope:
    machine = context.model.machines[x.machine]
    return Scope(context, b, machine, s.Constant(n, m.RefType(machine.qualified)), {})


def _give(scope: Scope, x: m.Instance, kind: s.DataKind, place: m.Field | m.Param, expression: m.Expr) -> None:
    b, location = scope.builder, expression.span if expression.span.text else x.span
    with b.attempt(s.Unoffered()):
        first = value(scope, scope.context.elaboration.expression(expression))
        where = Place("initial", place.name, "", scope.self, s.Location(location))
        first = fitting(scope, place.type, first, place.name, where)
        b.add(s.Write(kind, scope.self, place.name, first, place.type))


def may_begin(context: Context) -> s.Procedure:
    """Does `start when` hold? Without a value, it does not."""
    b, system = Builder(), context.system
    assert system is not None
    for x in system.start_when:
        with b.attempt(s.Return(FALSE)), b.when(negated(condition(of_system(context, b), x))):
            b.add(s.Return(FALSE))
    b.add(s.Return(TRUE))
    return context.define(s.Name("may begin"), (), b)
