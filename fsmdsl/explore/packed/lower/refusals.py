"""Whether a condition of the environment has no value: the function `refused`.

Then no step is taken at all, so this must be known before the first. It goes through the environment as
`step.offers` does, and is left out where nothing can be missing.
"""

from __future__ import annotations

from contextlib import nullcontext

from fsmdsl import model as m
from fsmdsl.explore.packed.lower.context import Context, Scope
from fsmdsl.explore.packed.lower.expressions import reference, value
from fsmdsl.explore.packed.lower.loops import loop
from fsmdsl.explore.packed.lower.orders import doubt
from fsmdsl.explore.packed.lower.sets import collected
from fsmdsl.explore.packed.lower.widen import Types, widened
from fsmdsl.explore.packed.lower.writer import Writer


def refusals(context: Context) -> list[str]:
    """`refused`: the code of the fault, or 0."""
    layout, w = context.layout, Writer()
    failing: list[str] = []

    def fail(kind: str) -> None:
        failing.append(kind)
        if context.reduction.sets:
            why = "which condition of the environment it is that has no value may depend on their order"
            w.line(doubt(context, "s", context.reduction.names, why))
        w.line(f"return {context.sites.one()}")

    scope = Scope(context, w, "s", None, None, fail)
    if layout.down is not None:
        with w.block(f"if s[{layout.down}]:"):
            _crashes(scope, during_recovery=True)
            w.line("return 0")
    _offers(scope)
    _crashes(scope, during_recovery=False)
    if not failing:
        return []
    head = ["def refused(s):", '    """Has a condition of the environment no value here?"""']
    return [*head, *w.lines, "    return 0", ""]


def _crashes(scope: Scope, *, during_recovery: bool) -> None:
    for c in scope.context.universe.system.crashes:
        if (c.kind == "during recovery") is during_recovery and c.guard is not None:
            value(scope, widened(scope.context.universe, c.guard))


def _offers(scope: Scope) -> None:
    layout, w = scope.context.layout, scope.writer
    standing = [
        n + 1
        for n, p in enumerate(layout.awaited)
        if not scope.context.universe.machines[p.instance].action_named[p.action].asynchronous
    ]
    if standing:
        w.line("still = False")
        with w.block(f"for k in range({layout.pending}, {layout.pending + layout.pending_places}):"):
            w.line(f"still = still or {' or '.join(f's[k] == {code}' for code in standing)}")
    with w.block("if not still:") if standing else nullcontext():
        for o in scope.context.universe.system.offers or ():
            _offer(scope, o, 0, {})


def _offer(scope: Scope, o: m.Offer, depth: int, types: Types) -> None:
    w, universe = scope.writer, scope.context.universe
    if depth < len(o.variables):
        name, over = o.variables[depth]
        over = widened(universe, over, types)
        of = over.type.of if isinstance(over.type, m.SetType | m.ListType) else m.ERROR
        with loop(scope, over.type, collected(scope, over), over) as x, scope.binding(name, x, of):
            _offer(scope, o, depth + 1, {**types, name: of})
        return
    guard = "True" if o.guard is None else value(scope, widened(universe, o.guard, types))
    with w.block(f"if {guard}:"):
        reference(scope, widened(universe, o.target, types))
        for a in o.arguments:
            value(scope, widened(universe, a, types))
