"""Expressions that stand for instances."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.model.typing import bare
from fsmdsl.program.nodes import Bool, Int, Var
from fsmdsl.search.lower.context import Scope


def reference(scope: Scope, e: m.Expr) -> Var | Int:
    """The number of the instance that an expression stands for. What may be none has been opened, by `present`."""
    assert isinstance(e.type, m.RefType)
    instance = scope.builder.temporary(scope.value(e))
    assert not isinstance(instance, Bool)
    return instance


def machine_of(scope: Scope, t: m.Type) -> m.Machine:
    """The machine that a reference leads to."""
    inner = bare(t)
    assert isinstance(inner, m.RefType)
    return scope.context.universe.model.machines[inner.machine]


def owner(scope: Scope, target: m.Expr | None) -> tuple[Var | Int, m.Machine]:
    """Whose data it is that is read or written, and its machine: without a target, the instance's own."""
    return scope.own if target is None else (reference(scope, target), machine_of(scope, target.type))
