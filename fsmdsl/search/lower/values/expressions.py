"""Sure expressions: a node that is worth the value's number, after the statements that it needs.

An operand that needs statements of its own is evaluated behind an `if`, where the operands before it decide whether it
has a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.model.typing import common
from fsmdsl.program import nodes
from fsmdsl.program.nodes import (
    FALSE,
    TRUE,
    ZERO,
    Bool,
    Choice,
    Compare,
    Expr,
    Int,
    Not,
    Var,
    all_of,
    any_of,
    binary,
    call,
)
from fsmdsl.search.layout import WAIT, awaitable
from fsmdsl.search.lower.context import AT, STATE, Scope
from fsmdsl.search.lower.machines.channels import about_queue
from fsmdsl.search.lower.values import lets, maps, masks, sets
from fsmdsl.search.lower.values.convert import code_of, converted, element_of, number_of, shape_of
from fsmdsl.search.shapes import LARGEST, UnpackableError, none_of, parts_of, to_number
from fsmdsl.syntax.operators import Arithmetic, SetOperator


def value(scope: Scope, e: s.Expr, want: m.Type | None = None) -> Expr:
    """The number of an expression, as one of the type wanted."""
    want = want or e.type
    match e:
        case s.Constant(value=constant):
            return Int(to_number(want, constant, scope.context.universe))
        case s.Collection():
            return sets.collection(scope, e, want)
        case s.Conditional():
            return _conditional(scope, e, want)
        case _:
            number = _value(scope, e)
            return number if want is e.type else converted(scope, number, e.type, want)


def _value(scope: Scope, e: s.Expr) -> Expr:
    universe = scope.context.universe
    match e:
        case s.Variable(name=name):
            return scope.own[0] if name == "self" and name not in scope.variables else scope.variables[name]
        case s.Read(kind="field" | "param"):
            return _read(scope, e)
        case s.State() | s.InState():
            return _state(scope, e)
        case s.Instances(kind="group", name=name):
            return Int(to_number(e.type, universe.instances_called(name), universe))
        case s.Instances(kind="machine", name=name):
            return Int(to_number(e.type, universe.instances_of(name), universe))
        case s.Not(operand=operand):
            holds = value(scope, operand)
            return Bool(not holds.value) if isinstance(holds, Bool) else Not(holds)
        case s.Negative(operand=operand):
            return -value(scope, operand)
        case s.Logic():
            return _logic(scope, e)
        case s.Binary():
            return _binary(scope, e)
        case s.Quantifier():
            return sets.quantified(scope, e)
        case s.Record():
            return _record(scope, e)
        case s.Part():
            return _part(scope, e)
        case s.Apply():
            return _apply(scope, e)
        case s.Derived(let=name, arguments=arguments, type=t):
            return lets.derived(scope, name, arguments, t, fails=False)
        case s.Flag() | s.Depth() | s.Down() | s.Waits() | s.Chosen():
            return _query(scope, e)
        case s.Length() | s.IsMessage() | s.Argument() | s.IsRepeated():
            return about_queue(scope, e)
        case s.Constant() | s.Collection() | s.Conditional():
            return value(scope, e)
        case (
            s.Location() | s.Read() | s.Instances() | s.Flagged() | s.Awaited() | s.IsPending() | s.Blocker()
            | s.Blocks()
        ):  # fmt: skip
            raise TypeError(f"{type(e).__name__} has no number")
        case _:
            assert_never(e)


# Instances -----------------------------------------------------------------------------------------------------------

BLOCKER = Var("first")
"""The code of the first pending action that holds up the system, or 0."""


def instance_of(scope: Scope, e: s.Expr) -> Var | Int:
    """The number of an instance, and where it is not none."""
    instance = scope.variable(e)
    assert not isinstance(instance, Bool)
    return instance


def machine_of(scope: Scope, e: s.Expr) -> m.Machine:
    """The machine of an instance."""
    match e.type:
        case m.RefType("") | m.OptionalType(m.RefType("")):
            return scope.own[1]
        case m.RefType(machine) | m.OptionalType(m.RefType(machine)):
            return scope.context.universe.model.machines[machine]
        case _:
            raise TypeError(f"{e.type} is no type of instances")


def read_state(scope: Scope) -> None:
    """`state`: the leaf in which the instance `at` is."""
    _, machine = scope.own
    scope.builder.set(STATE, scope.at(scope.context.column(machine.qualified, ""), AT))
    scope.state = STATE


def _read(scope: Scope, e: s.Read) -> Expr:
    key, instance = (machine_of(scope, e.owner).qualified, e.name), instance_of(scope, e.owner)
    if e.kind == "field":
        return scope.at(scope.context.column(*key), instance)
    return scope.at(scope.context.layout.param_columns.get(key, 0), instance)


def _state(scope: Scope, e: s.State | s.InState) -> Expr:
    if isinstance(e.owner.type, m.NoneType):
        return Bool(False)
    machine, instance = machine_of(scope, e.owner), instance_of(scope, e.owner)
    own = scope.state is not None and instance == scope.instance
    state = scope.state if own and scope.state else scope.at(scope.context.column(machine.qualified, ""), instance)
    if isinstance(e, s.State):
        return state
    there = in_leaves(state, machine, e.leaves)
    if isinstance(e.owner.type, m.OptionalType):
        return all_of([instance.differs(none_of(e.owner.type, scope.context.universe)), there])
    return there


def _query(scope: Scope, e: s.Flag | s.Depth | s.Down | s.Waits | s.Chosen) -> Expr:
    layout, row = scope.context.layout, scope.row
    match e:
        case s.Flag(flag, instance):
            mask: int | None = {"busy": layout.busy, "touched": layout.touched, "waited": layout.waited}[flag]
            machine, at = machine_of(scope, instance), instance_of(scope, instance)
            if flag == "waited" and awaitable(machine):
                return scope.at(scope.context.column(machine.qualified, WAIT), at)
            return Bool(False) if mask is None else masks.test(layout, row, mask, at)
        case s.Depth():
            return ZERO if layout.nested is None else row[layout.nested]
        case s.Down():
            return FALSE if layout.down is None else row[layout.down].differs(0)
        case s.Waits(instance):
            waits = awaitable(machine_of(scope, instance))
            return call("awaits", row, instance_of(scope, instance)) if waits else FALSE
        case s.Chosen(transition=n):
            assert scope.choice is not None
            variable, leaves = scope.choice
            return variable.equals(n + 1) if leaves is None else in_leaves(variable, scope.own[1], leaves.get(n, ()))
        case _:
            assert_never(e)


def in_leaves(state: Expr, machine: m.Machine, leaves: Iterable[str]) -> Expr:
    """Is a state, as the number of a leaf, one of these?"""
    return is_one_of(state, [machine.leaf_numbers[s] for s in leaves], len(machine.leaves))


def is_one_of(x: Expr, numbers: Sequence[int], count: int) -> Expr:
    """Is a number from 0 on, below a count, one of these?"""
    these = sorted(set(numbers))
    if not these:
        return FALSE
    if len(these) == count:
        return TRUE
    if len(these) == 1 or count > LARGEST:
        return any_of([x.equals(n) for n in these])
    return (sum(1 << n for n in these) >> x & 1).equals(1)


# Operators -----------------------------------------------------------------------------------------------------------


def _logic(scope: Scope, e: s.Logic) -> Expr:
    """Conditions, evaluated from left to right and no further than needed."""
    b, result = scope.builder, scope.builder.name()
    combined = all_of if e.operator == "and" else any_of
    parts: list[Expr] = []
    for x in e.operands:
        with b.capture() as statements:
            condition = value(scope, x)
        if statements and parts:
            if parts != [result]:
                b.set(result, combined(parts))
            with b.if_(result if e.operator == "and" else Not(result)):
                b.splice(statements)
                b.set(result, condition)
            parts = [result]
        else:
            b.splice(statements)
            parts.append(condition)
    return combined(parts)


def opposite(scope: Scope, e: s.Expr) -> Expr:
    """Does a condition not hold?"""
    return _contrary(value(scope, e))


def _contrary(x: Expr) -> Expr:
    match x:
        case Bool(holds):
            return Bool(not holds)
        case Not(operand):
            return operand
        case Compare(first, ((operator, other),)):
            return Compare(first, ((_OPPOSITE[operator], other),))
        case nodes.Logic("and", operands):
            return any_of([_contrary(y) for y in operands])
        case nodes.Logic("or", operands):
            return all_of([_contrary(y) for y in operands])
        case _:
            return Not(x)


_OPPOSITE: dict[nodes.Comparison, nodes.Comparison] = {
    "==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">",
}  # fmt: skip


def _binary(scope: Scope, e: s.Binary) -> Expr:
    match e:
        case s.Binary("<=", s.Depth()) if scope.context.layout.nested is None:
            return TRUE  # so few instances cannot be nested deeper
        case s.Binary("==", s.Blocker(), s.Constant(None)):
            return BLOCKER.equals(0) if scope.context.layout.standing else TRUE
        case s.Binary(">", s.Apply("size", (of,)), s.Constant(0)) if isinstance(of.type, m.SetType):
            return value(scope, of).differs(0)
        case s.Binary("in"):
            return sets.contained(scope, e)
        case s.Binary("==" | "!=" | "<" | "<=" | ">" | ">=" as operator, left, right):
            t = common(left.type, right.type)
            return Compare(value(scope, left, t), ((operator, value(scope, right, t)),))
        case s.Binary("union" | "difference" | "intersection" as operator, left, right):
            t = common(left.type, right.type)
            return converted(scope, _of_sets(operator, value(scope, left, t), value(scope, right, t)), t, e.type)
        case s.Binary("+" | "-" | "*" | "/" | "%" as operator, left, right):
            return _of_numbers(operator, value(scope, left), value(scope, right))
        case _:
            raise TypeError(f"`{e.operator}` has no number")


def _of_numbers(operator: Arithmetic, left: Expr, right: Expr) -> Expr:
    return binary("//" if operator == "/" else operator, left, right)


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


def _conditional(scope: Scope, e: s.Conditional, want: m.Type) -> Expr:
    b = scope.builder
    condition = value(scope, e.condition)
    with b.capture() as first:
        yes = value(scope, e.then, want)
    with b.capture() as second:
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


# Records and functions -----------------------------------------------------------------------------------------------


def _record(scope: Scope, e: s.Record) -> Expr:
    """The codes of the parts beside one another."""
    shape_of(scope, e.type)
    code: Expr = ZERO
    for (of, shape, at), x in zip(parts_of(e.type, scope.context.universe).values(), e.parts, strict=True):
        code = code | code_of(value(scope, x, of), shape) << at
    return code


def _part(scope: Scope, e: s.Part) -> Expr:
    assert isinstance(e.of.type, m.RecordType)
    _, shape, at = parts_of(e.of.type, scope.context.universe)[e.name]
    return number_of(value(scope, e.of) >> at & (1 << shape.bits) - 1, shape)


def _apply(scope: Scope, e: s.Apply) -> Expr:
    match e.function:
        case "present":
            return value(scope, e.arguments[0])
        case "size":
            return sets.size(scope, e.arguments[0])
        case "min" | "max":
            return call(e.function, *(value(scope, x, e.type) for x in e.arguments))
        case "first":
            return sets.first(scope, e.arguments[0])
        case "item" if isinstance(e.arguments[0].type, m.MapType):
            return maps.entry(scope, e)
        case "item":
            return sets.item(scope, *e.arguments)
        case "concat":
            left, right = (value(scope, x, e.type) for x in e.arguments)
            return sets.concat(scope, left, right, e.type)
        case "rest":
            return sets.rest(scope, e.arguments[0], e.type)
        case "filled":
            return maps.filled(scope, e)
        case "replaced":
            return maps.replaced(scope, e)
        case "range":
            raise UnpackableError("a range that is more than iterated")
        case "subsets":
            raise UnpackableError("a set of sets that is more than iterated")
        case "add" if isinstance(e.type, m.SetType):
            added, of = e.arguments[1], element_of(scope, e.type)
            return value(scope, e.arguments[0], e.type) | sets.bit(code_of(value(scope, added, e.type.of), of))
        case "add" | "remove" | "domain":
            raise TypeError(f"`{e.function}` has no number")
        case _:
            assert_never(e.function)
