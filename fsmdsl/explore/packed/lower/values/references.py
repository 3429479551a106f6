"""Expressions that stand for instances."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.shapes import none_of
from fsmdsl.explore.program.nodes import Bool, Int, Var
from fsmdsl.model.typing import bare


def reference(scope: Scope, e: m.Expr) -> Var | Int:
    """The number of the instance that an expression stands for; a fault where it is none."""
    instance = scope.builder.named(scope.value(e))
    assert not isinstance(instance, Bool)
    if isinstance(e.type, m.OptionalType) and e not in scope.known:
        with scope.builder.when(instance.equals(none_of(e.type, scope.context.universe))):
            scope.fail()
    return instance


def machine_of(scope: Scope, t: m.Type) -> m.Machine:
    """The machine that a reference leads to."""
    inner = bare(t)
    assert isinstance(inner, m.RefType)
    return scope.context.universe.model.machines[inner.machine]


def owner(scope: Scope, target: m.Expr | None) -> tuple[Var | Int, m.Machine]:
    """Whose data it is that is read or written, and its machine: without a target, the instance's own."""
    return scope.own if target is None else (reference(scope, target), machine_of(scope, target.type))
