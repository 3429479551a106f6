"""Derived values: a `let` is a function, made once and called.

It returns its value, or `FAULT` less the code of the fault where it has none. It changes nothing, so that what it uses
several times is computed once: lets that each use the one before twice cost as many calls as there are lets.
"""

from __future__ import annotations

from collections.abc import Hashable

from fsmdsl import model as m
from fsmdsl.model.walk import expressions as all_in
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import Assign, Bool, Expr, Int, Statement, Var, call, number
from fsmdsl.search.lower.context import AT, Context, Fail, Key, Let, S, Scope
from fsmdsl.search.lower.fault_codes import FAULT, UNKNOWN
from fsmdsl.search.lower.values.references import owner


def derived(scope: Scope, e: m.Derived) -> Expr:
    """The value of a `let` where it is used like this."""
    shared = _shared(scope, e)
    if shared is None:
        return _called(scope, e)
    with scope.builder.if_(shared.equals(UNKNOWN)):
        scope.builder.set(shared, _called(scope, e))
    return shared


# Calls ---------------------------------------------------------------------------------------------------------------


def _called(scope: Scope, e: m.Derived) -> Expr:
    """A call, with the value in a variable; a fault where it has none."""
    instance, machine = (scope.instance, scope.machine) if e.target is None else owner(scope, e.target)
    types = scope.context.elaboration.body(e).parameters.values()
    given = [scope.value(a, t) for a, t in zip(e.arguments, types, strict=True)]
    let = _let(scope.context, e, machine if instance is not None else None)
    about = [] if instance is None else [instance]
    return received(scope, call(let.name, scope.row, *about, *given), let.fails)


def received(scope: Scope, called: Expr, fails: bool) -> Expr:
    """What a function is worth that may be without a value, in a variable; then it is a fault."""
    result = scope.builder.temporary(called)
    if fails:
        with scope.builder.if_(result <= FAULT):
            scope.fail(FAULT - result)
    return result


def missing(context: Context, b: Builder) -> Fail:
    """In a function that is worth a value: it returns the fault."""
    return Fail(lambda code: b.return_(FAULT - number(context.code(code))))


def _let(context: Context, e: m.Derived, machine: m.Machine | None) -> Let:
    """The function for a `let` as it is used here, made if it is not there yet."""
    body = context.elaboration.body(e)
    types = body.parameters
    key: Key = e.owner, e.name, machine.qualified if machine is not None else None, tuple(types.values()), e.type
    if key in context.lets:
        return context.lets[key]
    b = Builder()
    fail = missing(context, b)
    shared: dict[Hashable, Var] = {}
    parameters = [Var(f"p{n}") for n in range(len(types))]
    scope = Scope(context, b, S, None if machine is None else AT, machine, fail, shared=shared)
    scope.lasting = frozenset({AT, *parameters})
    scope.locals = {name: (p, t) for p, (name, t) in zip(parameters, types.items(), strict=True)}
    b.return_(scope.value(body.value, e.type))
    given = (*rows(S.name), *numbers(*([AT.name] if machine is not None else []), *(p.name for p in parameters)))
    name = f"let_{len(context.lets)}"
    context.parts.append(function(name, given, [*unknown(shared), *b.statements], f"let {e.name}"))
    context.lets[key] = Let(name, fail.used)
    return context.lets[key]


# Computed once -------------------------------------------------------------------------------------------------------


def unknown(shared: dict[Hashable, Var]) -> list[Statement]:
    """What a function begins with that computes values once."""
    return [Assign(x, Int(UNKNOWN)) for x in shared.values()]


def _shared(scope: Scope, e: m.Derived) -> Var | None:
    """The variable for a value that is the same wherever it is used in this function; None where it may not be."""
    if scope.shared is None or not _lasts(scope, scope.instance):
        return None
    names = dict.fromkeys(x.name for x in all_in(e) if isinstance(x, m.Local) and x.name in scope.locals)
    bound = [scope.locals[name] for name in names]
    if not all(_lasts(scope, x) for x, _ in bound):
        return None
    key = e, scope.instance, tuple(bound)
    if key not in scope.shared:
        scope.shared[key] = scope.builder.name()
    return scope.shared[key]


def _lasts(scope: Scope, x: Expr | None) -> bool:
    """Does an expression stand for the same number everywhere in the function?"""
    return x is None or isinstance(x, Int | Bool) or x in scope.lasting
