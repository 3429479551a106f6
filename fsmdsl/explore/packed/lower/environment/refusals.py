"""Whether a condition of the environment has no value: the function `refused`.

Then no step is taken at all, so this must be known before the first. It goes through the environment as
`step.offers` does, and is left out where nothing can be missing.
"""

from __future__ import annotations

from contextlib import nullcontext

from fsmdsl import model as m
from fsmdsl.core.elaborate import Types
from fsmdsl.explore.packed.lower.context import Context, Fail, S, Scope
from fsmdsl.explore.packed.lower.symmetry.orders import doubt
from fsmdsl.explore.packed.lower.values.expressions import value
from fsmdsl.explore.packed.lower.values.loops import loop
from fsmdsl.explore.packed.lower.values.references import reference
from fsmdsl.explore.packed.lower.values.sets import collected
from fsmdsl.explore.program.builder import Builder, function, numbers, rows
from fsmdsl.explore.program.nodes import TRUE, Expr, Function, Not, Var

STILL = Var("still")


def refusals(context: Context) -> list[Function]:
    """`refused`: the code of the fault, or 0; given whether an action holds up the system. None where nothing can be
    missing."""
    layout, b = context.layout, Builder()

    def refuse(code: Expr | None) -> None:
        if context.reduction.sets:
            why = "which condition of the environment it is that has no value may depend on their order"
            b.put([doubt(context, S, context.reduction.names, why)])
        b.leave(context.code(code))

    scope = Scope(context, b, S, None, None, Fail(refuse))
    if layout.down is not None:
        with b.when(S[layout.down]):
            _crashes(scope, during_recovery=True)
            b.leave(0)
    _offers(scope)
    _crashes(scope, during_recovery=False)
    for o in context.universe.system.process_crashes:
        _offer(scope, o, 0, {})
    if not scope.fail.used:
        return []
    given = (*rows("s"), *numbers(STILL.name))
    return [function("refused", given, b.block, "Has a condition of the environment no value here?")]


def _crashes(scope: Scope, *, during_recovery: bool) -> None:
    for c in scope.context.universe.system.crashes:
        if (c.kind == "during recovery") is during_recovery and c.guard is not None:
            value(scope, scope.context.elaboration.expression(c.guard))


def _offers(scope: Scope) -> None:
    with scope.builder.when(Not(STILL)) if scope.context.layout.standing else nullcontext():
        for o in scope.context.universe.system.offers or ():
            _offer(scope, o, 0, {})


def _offer(scope: Scope, o: m.Offer | m.ProcessCrash, depth: int, types: Types) -> None:
    elaborated = scope.context.elaboration.expression
    if depth < len(o.variables):
        name, over = o.variables[depth]
        over = elaborated(over, types)
        of = m.element_of(over.type)
        with loop(scope, over.type, collected(scope, over), over) as x, scope.binding(name, x, of):
            _offer(scope, o, depth + 1, {**types, name: of})
        return
    guard = TRUE if o.guard is None else value(scope, elaborated(o.guard, types))
    with scope.builder.when(guard):
        for target in (o.target,) if isinstance(o, m.Offer) else o.targets:
            reference(scope, elaborated(target, types))
        for a in o.arguments if isinstance(o, m.Offer) else ():
            value(scope, elaborated(a, types))
