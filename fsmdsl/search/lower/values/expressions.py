"""Expressions: a node that is worth the value's number, after the statements that it needs.

Reads what `step.evaluate` says. What can go wrong (none where an instance is needed) leaves the function through
`scope.fail`, exactly where the definition raises its fault; so operands that need statements of their own stand behind
an `if`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, assert_never

from fsmdsl import model as m
from fsmdsl.core.presence import Known, present_if
from fsmdsl.model.typing import common
from fsmdsl.program.nodes import (
    TRUE,
    ZERO,
    Choice,
    Compare,
    Expr,
    Int,
    Not,
    all_of,
    any_of,
    binary,
    call,
)
from fsmdsl.search.layout import WAIT, awaitable
from fsmdsl.search.lower.context import Scope
from fsmdsl.search.lower.values import lets, maps, masks, sets
from fsmdsl.search.lower.values.convert import code_of, converted, misfit, number_of, refuse, shape_of
from fsmdsl.search.lower.values.references import machine_of, owner
from fsmdsl.search.shapes import LARGEST, UnpackableError, none_of, parts_of, to_number
from fsmdsl.syntax.operators import SetOperator, may_divide_by_zero

Connective = Literal["and", "or"]


def value(scope: Scope, e: m.Expr, want: m.Type | None = None) -> Expr:
    """The number of an expression, as one of the type wanted."""
    want = want or e.type
    match e:
        case m.Constant():
            return Int(to_number(want, e.value, scope.context.universe))
        case m.Collection():
            return sets.collection(scope, e, want)
        case m.Conditional():
            return _conditional(scope, e, want)
        case _:
            return converted(scope, _value(scope, e), e.type, want)


def _value(scope: Scope, e: m.Expr) -> Expr:
    universe = scope.context.universe
    match e:
        case m.Local(name=name):
            bound, t = scope.locals[name]
            return converted(scope, bound, t, e.type)
        case m.Read():
            return _read(scope, e)
        case m.InState():
            return _in_state(scope, e)
        case m.StateOf(target=target):
            instance, machine = owner(scope, target)
            return scope.at(scope.context.column(machine.qualified, ""), instance)
        case m.Binary():
            return _binary(scope, e)
        case m.Logic():
            return _logic(scope, e)
        case m.Not(operand=operand):
            return Not(value(scope, operand))
        case m.Apply():
            return _apply(scope, e)
        case m.Quantified():
            return sets.quantified(scope, e)
        case m.Derived():
            return lets.derived(scope, e)
        case m.Self():
            return scope.own[0]
        case m.Wait():
            return _wait(scope)
        case m.Negative(operand=operand):
            return -value(scope, operand)
        case m.InstanceRef():
            return Int(universe.system.number_of[e.name, e.index])
        case m.Instances():
            return Int(to_number(e.type, universe.instances_called(e.name), universe))
        case m.AllOf():
            return Int(to_number(e.type, universe.instances_of(e.machine), universe))
        case m.Construction():
            return _record(scope, e)
        case m.Part():
            return _part(scope, e)
        case m.Constant() | m.Collection() | m.Conditional():
            return value(scope, e)
        case m.Ordinal() | m.ChannelRef() | m.Temporal():
            raise TypeError(f"{type(e).__name__} has no value in one world")
        case _:
            assert_never(e)


# References ----------------------------------------------------------------------------------------------------------


def _read(scope: Scope, e: m.Read) -> Expr:
    context, (instance, machine) = scope.context, owner(scope, e.target)
    if e.kind == "field":
        return scope.at(context.column(machine.qualified, e.name), instance)
    return scope.at(context.layout.param_columns.get((machine.qualified, e.name), 0), instance)


def _record(scope: Scope, e: m.Construction) -> Expr:
    """The codes of the parts beside one another; a fault where a part cannot hold its value."""
    shape_of(scope, e.type)
    values = [scope.builder.temporary(value(scope, x)) for x in e.parts]
    made: Expr = ZERO
    for (of, s, at), x, given in zip(parts_of(e.type, scope.context.universe).values(), e.parts, values, strict=True):
        refuse(scope, misfit(scope, given, x.type, of))
        made = made | code_of(converted(scope, given, x.type, of), s) << at
    return made


def _part(scope: Scope, e: m.Part) -> Expr:
    assert isinstance(e.of.type, m.RecordType)
    _, s, at = parts_of(e.of.type, scope.context.universe)[e.name]
    return number_of(value(scope, e.of) >> at & (1 << s.bits) - 1, s)


def _in_state(scope: Scope, e: m.InState) -> Expr:
    target = scope.builder.temporary(value(scope, e.target))
    machine = machine_of(scope, e.target.type)
    state = scope.at(scope.context.column(machine.qualified, ""), target)
    there = in_leaves(state, machine, e.states)
    if isinstance(e.target.type, m.OptionalType):
        return all_of([target.differs(none_of(e.target.type, scope.context.universe)), there])
    return there


def _wait(scope: Scope) -> Expr:
    """Has the instance followed no transition in this round yet?"""
    instance, machine = scope.own
    if awaitable(machine):
        return scope.at(scope.context.column(machine.qualified, WAIT), instance).equals(0)
    layout, waited = scope.context.layout, scope.context.layout.waited
    return TRUE if waited is None else masks.test(layout, scope.row, waited, instance).equals(0)


def in_leaves(state: Expr, machine: m.Machine, leaves: Iterable[str]) -> Expr:
    """Is a state, as the number of a leaf, one of these?"""
    return is_one_of(state, [machine.leaf_numbers[s] for s in leaves], len(machine.leaves))


def is_one_of(x: Expr, numbers: Sequence[int], count: int) -> Expr:
    """Is a number from 0 on, below a count, one of these?"""
    these = sorted(set(numbers))
    if len(these) == count:
        return TRUE
    if len(these) == 1 or count > LARGEST:
        return any_of([x.equals(n) for n in these])
    return (sum(1 << n for n in these) >> x & 1).equals(1)


# Operators -----------------------------------------------------------------------------------------------------------


def _logic(scope: Scope, e: m.Logic) -> Expr:
    return joined(scope, [(x, False) for x in e.operands], e.operator)


def joined(scope: Scope, operands: Sequence[tuple[m.Expr, bool]], operator: Connective) -> Expr:
    """Conditions (negated where it says so), looked at from left to right and no further than needed."""
    b, result = scope.builder, scope.builder.name()
    combined = all_of if operator == "and" else any_of
    found: list[Expr] = []
    known: Known = frozenset()
    for x, negated in operands:
        with b.capture() as statements, scope.knowing(known):
            condition = value(scope, x)
        if negated:
            condition = Not(condition)
        known |= present_if(x, (operator == "and") is not negated)
        if statements and found:
            if found != [result]:
                b.set(result, combined(found))
            with b.if_(result if operator == "and" else Not(result)):
                b.splice(statements)
                b.set(result, condition)
            found = [result]
        else:
            b.splice(statements)
            found.append(condition)
    return combined(found)


def _binary(scope: Scope, e: m.Binary) -> Expr:
    match e.operator:
        case "=>":
            return joined(scope, [(e.left, True), (e.right, False)], "or")
        case "in":
            return sets.contained(scope, e)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            t = common(e.left.type, e.right.type)
            return Compare(value(scope, e.left, t), ((e.operator, value(scope, e.right, t)),))
        case "union" | "difference" | "intersection":
            t = common(e.left.type, e.right.type)
            left, right = value(scope, e.left, t), value(scope, e.right, t)
            return converted(scope, _of_sets(e.operator, left, right), t, e.type)
        case _:  # of numbers: each has its like in programs
            return _of_numbers(scope, e, value(scope, e.left), value(scope, e.right))


def _of_numbers(scope: Scope, e: m.Binary, left: Expr, right: Expr) -> Expr:
    assert isinstance(e.right.type, m.RangeType)
    if may_divide_by_zero(e.operator, (e.right.type.low, e.right.type.high)):
        left, right = scope.builder.temporary(left), scope.builder.temporary(right)
        with scope.builder.if_(right.equals(0)):
            scope.fail()
    match e.operator:
        case "/":
            return binary("//", left, right)
        case "+" | "-" | "*" | "%":
            return binary(e.operator, left, right)
        case _:
            raise TypeError(f"`{e.operator}` is not of numbers")


def _of_sets(operator: SetOperator, left: Expr, right: Expr) -> Expr:
    match operator:
        case "union":
            return left | right
        case "difference":
            return left & ~right
        case "intersection":
            return left & right
        case _:
            assert_never(operator)


def _conditional(scope: Scope, e: m.Conditional, want: m.Type) -> Expr:
    b = scope.builder
    condition = value(scope, e.condition)
    with b.capture() as first, scope.knowing(present_if(e.condition, True)):
        yes = value(scope, e.then, want)
    with b.capture() as second, scope.knowing(present_if(e.condition, False)):
        no = value(scope, e.otherwise, want)
    if not first and not second:
        return Choice(condition, yes, no)
    name = b.name()
    with b.if_(condition):
        b.splice(first)
        b.set(name, yes)
    with b.else_():
        b.splice(second)
        b.set(name, no)
    return name


def _apply(scope: Scope, e: m.Apply) -> Expr:
    first = e.arguments[0]
    match e.function:
        case "present":
            given = scope.builder.temporary(value(scope, first))
            if isinstance(first.type, m.OptionalType) and first not in scope.known:
                with scope.builder.if_(given.equals(none_of(first.type, scope.context.universe))):
                    scope.fail()
            return given
        case "size":
            return sets.size(scope, first, e.arguments[1:])
        case "min" | "max":
            return call(e.function, *(value(scope, x, e.type) for x in e.arguments))
        case "first":
            return sets.first(scope, first)
        case "item" if isinstance(first.type, m.MapType):
            return maps.entry(scope, e)
        case "item":
            return sets.item(scope, first, e.arguments[1])
        case "concat":
            return sets.concat(scope, value(scope, first, e.type), value(scope, e.arguments[1], e.type), e.type)
        case "rest":
            return sets.rest(scope, first, e.type)
        case "filled":
            return maps.filled(scope, e)
        case "replaced":
            return maps.replaced(scope, e)
        case "range":
            raise UnpackableError("a range that is more than iterated")
        case "subsets":
            raise UnpackableError("a set of sets that is more than iterated")
        case _:
            assert_never(e.function)
