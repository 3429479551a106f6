"""Conditions on states: invariants, what is to be reachable, bounds, what properties of runs speak of."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.translate.context import FALSE, Builder, Context, instance_of, of_machine, of_system
from fsmdsl.core.translate.expressions import condition
from fsmdsl.dataclasses import replace


def holds(
    context: Context,
    name: str,
    e: m.Expr,
    machine: m.Machine | None = None,
    variables: Sequence[tuple[str, m.Type]] = (),
) -> s.Procedure:
    """Does a condition hold, of an instance of a machine or of the system? Without a value, it does not."""
    b = Builder()
    parameters = [b.variable(x, t) for x, t in variables]
    scope = of_system(context, b) if machine is None else of_machine(context, b, machine)
    scope = replace(scope, locals={x: y for (x, _), y in zip(variables, parameters, strict=True)})
    with b.attempt(s.Return(FALSE)):
        b.add(s.Return(condition(scope, e)))
    instance = () if machine is None else (instance_of(machine),)
    owner = "" if machine is None else machine.qualified
    return context.define(s.Name("holds", owner, name), (*instance, *parameters), b)
