"""What may have no value in the environment: functions that say whether a line of it applies.

Each offer is judged by itself, as `step.offers` does: one without a value is not offered, and the fault is noted. What
always has a value needs no function.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

from fsmdsl import model as m
from fsmdsl.core.elaborate import Types
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import ONE, TRUE, ZERO, Expr, Function, Var, call
from fsmdsl.search.lower.context import Context, Fail, S, Scope, T
from fsmdsl.search.lower.values.sets import collected

Line = m.Offer | m.ProcessCrash
"""Of the environment, with variables and a condition."""


class Refusals:
    """Writes the functions. Each takes the variables that are bound, and is worth 0 where nothing is to be offered."""

    def __init__(self, context: Context, leads_on: int) -> None:
        self.context = context
        self.leads_on = leads_on
        """Where it is kept whether a step leads on: an event without a value counts as a step that fails."""
        self.functions: list[Function] = []

    def of_line(self, o: Line) -> list[str | None]:
        """For each variable, the function that says whether what it runs through has a value; at last the one that says
        whether the line applies."""
        names: list[str | None] = []
        types: dict[str, m.Type] = {}
        event = isinstance(o, m.Offer)
        for name, over in o.variables:
            names.append(self._function(types, partial(_has_value, over), event))
            types[name] = m.element_of(self.context.core.elaboration.expression(over, types).type)
        names.append(self._function(types, partial(_line, o), event))
        return names

    def of_crash(self, c: m.CrashOffer) -> str | None:
        """The function that says whether a crash of everything comes."""
        guard = c.guard
        if guard is None:
            return None
        return self._function({}, lambda scope: scope.evaluate(guard), False)

    def _function(self, types: Types, condition: Callable[[Scope], Expr], event: bool) -> str | None:
        """A function for a condition, given variables of these types; None if it always has a value."""
        b = Builder()

        def refuse(code: Expr | None) -> None:
            b.do(call("unoffered", T, self.context.code(code)))
            if event:
                b.set(T[self.leads_on], ONE)
            b.return_(ZERO)

        scope = Scope(self.context, b, S, None, None, Fail(refuse))
        bound = {name: Var(f"x{n}") for n, name in enumerate(types)}
        with ExitStack() as stack:
            for name, t in types.items():
                stack.enter_context(scope.binding(name, bound[name], t))
            b.return_(condition(scope))
        if not scope.fail.used:
            return None
        name = f"applies_{len(self.functions)}"
        signature = (*rows("s", "t"), *numbers(*(x.name for x in bound.values())))
        self.functions.append(function(name, signature, b.block, "Has this a value here, and is it true?"))
        return name


def _line(o: Line, scope: Scope) -> Expr:
    b = scope.builder
    if o.guard is not None:
        holds = scope.evaluate(o.guard)
        with b.if_(holds.equals(0)):
            b.return_(ZERO)
    for x in (o.target, *o.arguments) if isinstance(o, m.Offer) else o.targets:
        scope.variable(scope.sure(x))
    return TRUE


def _has_value(over: m.Expr, scope: Scope) -> Expr:
    scope.builder.temporary(collected(scope, scope.sure(over)))
    return TRUE
