"""The values in the braces after a set of instances: `index` replaced by each one's number, and the instances that are
chosen by a number replaced by those that they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fsmdsl import model as m
from fsmdsl.dataclasses import fields, replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import Scope
from fsmdsl.syntax.operators import COMPARISONS, number

Groups = Mapping[str, m.InstanceGroup]
"""The sets of instances of a system, by name."""


def numbered(scope: Scope, value: m.Expr, index: int) -> m.Expr:
    """The value that the instance of this number begins with. Reports a choice that chooses nothing."""
    if isinstance(value, m.Ordinal):
        return m.Constant(index, m.RangeType(index, index), value.span)
    if isinstance(value, m.Conditional) and scope.system is not None:
        holds = constant_value(scope.system.groups, numbered(scope, value.condition, index))
        if holds is not None:  # the other side may speak of an instance that there is not
            return numbered(scope, value.then if holds else value.otherwise, index)
    parts: dict[str, Any] = {f.name: _part(scope, getattr(value, f.name), index) for f in fields(value)}
    expression = replace(value, **parts)
    if (
        isinstance(expression, m.Apply)
        and expression.function == "item"
        and isinstance(expression.arguments[0], m.Instances)
    ):
        return _chosen(scope, expression, expression.arguments[0], index)
    return expression


def _part(scope: Scope, part: object, index: int) -> object:
    if isinstance(part, tuple):
        return tuple(_part(scope, x, index) for x in part)
    return numbered(scope, part, index) if isinstance(part, m.Expr) else part


def _chosen(scope: Scope, e: m.Apply, of: m.Instances, index: int) -> m.Expr:
    """`forks[(index + 1) % size(forks)]`: the fork."""
    assert scope.system is not None
    group = scope.system.groups[of.name]
    at = constant_value(scope.system.groups, e.arguments[1])
    if isinstance(at, int) and 0 <= at < group.count:
        return m.InstanceRef(group.name, at, m.RefType(group.machine), e.span)
    if at is None:
        diagnostic = rules.MISPLACED.at(e.arguments[1].span, "the index of an instance may depend only on numbers here")
        scope.report(diagnostic.help("use `index`, numbers, `size` of a set of instances, and operators"))
    else:
        message = f"`{group.name}` has instances 0 to {group.count - 1}, and `{e.arguments[1].span.quote}` is {at}"
        scope.report(rules.RANGE.at(e.span, f"{message} where `index` is {index}"))
    return m.Constant(None, m.ERROR, e.span)


def constant_value(groups: Groups, e: m.Expr) -> bool | int | None:
    """What an expression of numbers is; None where that is not known, or nothing, before there are instances."""
    match e:
        case m.Constant(value=int() as value):
            return value
        case m.Apply(function="size", arguments=(m.Instances(name=name),)):
            return groups[name].count
        case m.Apply(function="min" | "max" as function, arguments=arguments):
            numbers = _all(groups, arguments)
            return None if numbers is None else min(numbers) if function == "min" else max(numbers)
        case m.Negative(operand=operand):
            of = constant_value(groups, operand)
            return None if of is None else -of
        case m.Not(operand=operand):
            of = constant_value(groups, operand)
            return None if of is None else not of
        case m.Logic(operator=operator, operands=operands):
            values = _all(groups, operands)
            return None if values is None else all(values) if operator == "and" else any(values)
        case m.Conditional(condition=condition, then=then, otherwise=otherwise):
            holds = constant_value(groups, condition)
            return None if holds is None else constant_value(groups, then if holds else otherwise)
        case m.Binary():
            return _computed(groups, e)
        case _:
            return None


def _all(groups: Groups, expressions: Sequence[m.Expr]) -> list[bool | int] | None:
    values = [constant_value(groups, x) for x in expressions]
    there = [x for x in values if x is not None]
    return there if len(there) == len(values) else None


def _computed(groups: Groups, e: m.Binary) -> bool | int | None:
    left, right = constant_value(groups, e.left), constant_value(groups, e.right)
    if left is None or right is None:
        return None
    match e.operator:
        case "+" | "-" | "*":
            return number(e.operator, left, right)
        case "/" | "%":
            return number(e.operator, left, right) if right else None
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return COMPARISONS[e.operator](left, right)
        case _:
            return None
