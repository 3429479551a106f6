"""Loops that would stand too deep in others, as functions of their own: Python refuses more than 20 blocks in a block.

A quantifier becomes a function that returns its value, or `FAULT` less the code of the fault where it has none; a `for`
one that returns the code of what it comes to, 0 where it ends well. They are given the row and the variables that they
use of the function that they stand in.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable

from fsmdsl.dataclasses import replace
from fsmdsl.program.builder import Builder, function, numbers, rows, words
from fsmdsl.program.nodes import Expr, Var, call
from fsmdsl.program.queries import constants_of
from fsmdsl.search.lower.context import CAP, OUT, Fail, N, S, Scope, T
from fsmdsl.search.lower.values.lets import missing, received, unknown

DEEPEST = 8
"""So many loops stand in one another in a function of the model's code; what the lowering adds has room beside them."""


def too_deep(scope: Scope) -> bool:
    """Does a loop that is written now need a function of its own?"""
    return scope.builder.loops >= DEEPEST


def value_apart(scope: Scope, body: Callable[[Scope], Expr]) -> Expr:
    """A value, computed in a function of its own."""
    b = scope.builder.inner()
    fail = missing(scope.context, b)
    shared: dict[Hashable, Var] = {}
    b.return_(body(replace(scope, builder=b, fail=fail, shared=shared)))
    b.statements[:0] = unknown(shared)
    return received(scope, _function_of(scope, b), fail.used)


def effects_apart(scope: Scope, body: Callable[[Scope], None]) -> None:
    """Effects, or the steps that are offered, in a function of its own."""
    if scope.offer is not None:
        steps_apart(scope, body)
        return
    b = scope.builder.inner()
    body(replace(scope, builder=b, fail=Fail(lambda code: b.return_(scope.context.code(code)))))
    b.return_(0)
    code = scope.builder.temporary(_function_of(scope, b))
    with scope.builder.if_(code.differs(0)):
        scope.builder.return_(code)


def steps_apart(scope: Scope, body: Callable[[Scope], None]) -> None:
    """Steps that are offered, in a function of its own."""
    call_steps(scope.builder, steps_function(scope, body))


StepsFunction = tuple[str, tuple[str, ...]]
"""The name of a function that takes steps, and the variables that it uses of where it is called."""


def steps_function(scope: Scope, body: Callable[[Scope], None]) -> StepsFunction:
    """A function that takes steps, and is worth how many successors there are then."""
    context, b = scope.context, scope.builder.inner()
    body(replace(scope, builder=b, variables={**scope.variables}))
    b.return_(N)
    name, signature = f"part_{len(context.parts)}", (*rows("s", "t"), *words("out"), *numbers("n", "cap"))
    free = constants_of(function(name, signature, b.block))
    context.parts.append(function(name, (*signature, *numbers(*free)), b.block))
    return name, free


def call_steps(b: Builder, called: StepsFunction) -> None:
    """Calls such a function."""
    name, free = called
    b.set(N, call(name, S, T, OUT, N, CAP, *map(Var, free)))


def _function_of(scope: Scope, b: Builder) -> Expr:
    """A call of the function that was written."""
    context, row = scope.context, rows(scope.row.name)
    name = f"part_{len(context.parts)}"
    free = constants_of(function(name, row, b.block))
    context.parts.append(function(name, (*row, *numbers(*free)), b.block))
    return call(name, scope.row, *map(Var, free))
