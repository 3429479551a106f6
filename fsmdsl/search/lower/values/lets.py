"""Derived values: a `let` is a function, made once and called.

It returns its value, or `FAULT` less the code of the fault where it has none. It changes nothing, so that what it uses
several times is computed once: lets that each use the one before twice cost as many calls as there are lets.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.program.builder import Builder, function, numbers, rows
from fsmdsl.program.nodes import Assign, Expr, Int, Statement, Var, call, number
from fsmdsl.program.queries import subexpressions
from fsmdsl.search.lower.context import AT, Context, Fail, S, Scope
from fsmdsl.search.lower.fault_codes import FAULT, UNKNOWN
from fsmdsl.search.lower.values.convert import converted


def derived(scope: Scope, let: s.Name, arguments: Sequence[s.Expr], t: m.Type, *, fails: bool) -> Expr:
    """The value of a `let` for these arguments, as one of a type; a fault where it has none."""
    procedure = scope.context.core.procedures[let]
    own = _machine(scope.context, let) is not None
    needed = list(zip(procedure.parameters, arguments, strict=True))[0 if own else 1 :]
    values = [scope.value(x, p.type) for p, x in needed]
    called = call(_function(scope.context, procedure), scope.row, *values)
    shared = _shared(scope, let, values)
    if shared is None:
        return _result(scope, called, procedure, t, fails)
    with scope.builder.if_(shared.equals(UNKNOWN)):
        scope.builder.set(shared, received(scope, called, fails))
    return _result(scope, shared, procedure, t, False)


def _result(scope: Scope, called: Expr, procedure: s.Procedure, t: m.Type, fails: bool) -> Expr:
    *_, last = procedure.body
    assert isinstance(last, s.Return)
    assert last.value is not None
    return converted(scope, received(scope, called, fails), last.value.type, t)


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


def _machine(context: Context, let: s.Name) -> m.Machine | None:
    """The machine whose `let` it is, if it is one of a machine; others depend on no instance."""
    return context.universe.model.machines.get(let.owner)


def _function(context: Context, procedure: s.Procedure) -> str:
    """The name of the function for a `let`, which is written if it is not there yet."""
    let = procedure.name
    if let in context.lets:
        return context.lets[let]
    b, machine = Builder(), _machine(context, let)
    shared: dict[Hashable, Var] = {}
    parameters = {x.name: Var(f"p{n}") for n, x in enumerate(procedure.parameters[1:])}
    scope = Scope(context, b, S, None if machine is None else AT, machine, missing(context, b), shared=shared)
    scope.lasting, scope.variables = frozenset({AT, *parameters.values()}), {**parameters}
    scope.execute(procedure.body)
    signature = (
        *rows(S.name),
        *numbers(*([] if machine is None else [AT.name]), *(x.name for x in parameters.values())),
    )
    context.lets[let] = f"let_{len(context.lets)}"
    block = [*unknown(shared), *b.statements]
    context.parts.append(function(context.lets[let], signature, block, f"let {let.subject}"))
    return context.lets[let]


# Computed once -------------------------------------------------------------------------------------------------------


def unknown(shared: dict[Hashable, Var]) -> list[Statement]:
    """What a function begins with that computes values once."""
    return [Assign(x, Int(UNKNOWN)) for x in shared.values()]


def _shared(scope: Scope, let: s.Name, arguments: Sequence[Expr]) -> Var | None:
    """The variable for a value that is the same wherever it is used in this function; None where it may not be."""
    if scope.shared is None:
        return None
    same = tuple(scope.meanings.get(x, x) if isinstance(x, Var) else x for x in arguments)
    if not all(_lasts(scope, x) for x in same):
        return None
    key = let, same
    if key not in scope.shared:
        scope.shared[key] = scope.builder.name()
    return scope.shared[key]


def _lasts(scope: Scope, e: Expr) -> bool:
    """Does an expression stand for the same number everywhere in the function?"""
    return all(x in scope.lasting or x == scope.row for x in subexpressions(e) if isinstance(x, Var))
