"""Sets and lists in expressions, and what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import comb

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.model.typing import common, is_structured
from fsmdsl.program.nodes import FALSE, TRUE, ZERO, Bool, Choice, Expr, Int, Not, all_of, any_of, call
from fsmdsl.search.lower.context import Scope
from fsmdsl.search.lower.values.convert import (
    code_of,
    converted,
    element_of,
    item_of,
    length_of,
    number_of,
    placed,
    shape_of,
)
from fsmdsl.search.lower.values.loops import constants, loop, too_many
from fsmdsl.search.lower.values.parts import too_deep, value_apart
from fsmdsl.search.shapes import UnpackableError
from fsmdsl.step.values import MAX_VALUES

# Made ----------------------------------------------------------------------------------------------------------------


def collection(scope: Scope, e: s.Collection, want: m.Type) -> Expr:
    """`{a, b}` or `[a, b]`, as one of the type wanted."""
    if not e.items:
        return ZERO
    own = e.type
    assert isinstance(own, m.SetType | m.ListType)
    of = element_of(scope, own)
    codes = [code_of(scope.value(x, own.of), of) for x in e.items]
    if isinstance(own, m.SetType):
        code = union([bit(x) for x in codes])
    else:
        at = own.bound.bit_length()
        code = union([Int(len(codes)), *(x << at + n * of.bits for n, x in enumerate(codes))])
    return converted(scope, code, own, want)


def union(parts: Sequence[Expr]) -> Expr:
    """The bits of all of them."""
    return reduce(lambda a, b: a | b, parts)


def bit(code: Expr) -> Expr:
    """A set of one element."""
    return 1 << code


# Gone through --------------------------------------------------------------------------------------------------------


def quantified(scope: Scope, e: s.Quantifier) -> Expr:
    """`all`, `some` and `count`, as a loop that ends as soon as it can."""
    if too_deep(scope):
        return value_apart(scope, lambda inner: quantified(inner, e))
    b = scope.builder
    over = collected(scope, e.over)
    result = b.name()
    b.set(result, ZERO if e.kind == "count" else Bool(e.kind == "all"))
    with loop(scope, e.over, over) as x:
        scope.variables[e.variable.name] = x
        holds = scope.value(e.body)
        if e.kind == "count":
            with b.if_(holds):
                b.update(result, "+", 1)
        else:
            with b.if_(Not(holds) if e.kind == "all" else holds):
                b.set(result, Bool(e.kind == "some"))
                b.break_()
    return result


def collected(scope: Scope, over: s.Expr) -> Expr:
    """What a loop goes through, in a variable; for subsets, what they are taken from."""
    if isinstance(over, s.Apply) and over.function == "subsets":
        _check_subsets(scope, over)
        return scope.variable(over.arguments[0])
    if isinstance(over, s.Apply) and over.function in ("range", "domain"):
        return ZERO
    if constants(scope, over) or too_many(scope, over) is not None:
        return ZERO
    if isinstance(over.type, m.SetType) and is_structured(over.type.of):
        raise UnpackableError("a set of sets or lists")
    return scope.variable(over)


def _check_subsets(scope: Scope, over: s.Apply) -> None:
    """There are never too many, by the sizes that are asked for."""
    whole, size = over.arguments
    codes = element_of(scope, whole.type).codes
    most = max((comb(codes, k) for k in _sizes(scope, size) if 0 <= k <= codes), default=0)
    if most > MAX_VALUES:
        raise UnpackableError(f"subsets of a set of up to {codes} elements: {most}, more than {MAX_VALUES}")


def _sizes(scope: Scope, e: s.Expr) -> list[int]:
    """What a size can be: that of a parameter has a value for each instance."""
    if isinstance(e, s.Read) and e.kind == "param":
        universe = scope.context.universe
        assert isinstance(e.owner.type, m.RefType)
        values = [universe.params[n][e.name] for n in universe.instances_of(e.owner.type.machine)]
        return [x for x in values if isinstance(x, int)]
    if isinstance(e.type, m.RangeType):
        return list(range(max(e.type.low, 0), min(e.type.high, 64) + 1))
    return list(range(64))


# Membership ---------------------------------------------------------------------------------------------------------


def contained(scope: Scope, e: s.Binary) -> Expr:
    """`x in set`, `x in list`."""
    over = e.right.type
    if isinstance(over, m.SetType) and is_structured(over.of):
        raise UnpackableError("a set of sets or lists")
    if isinstance(e.right, s.Apply) and e.right.function == "range":
        item, low, high = (scope.variable(x) for x in (e.left, *e.right.arguments))
        return all_of([low <= item, item <= high])
    if isinstance(e.right, s.Collection) and not _packable(scope, over):
        return _one_of(scope, e.left, e.right)
    assert isinstance(over, m.SetType | m.ListType)
    if isinstance(over.of, m.NeverType):
        return FALSE
    left = scope.standing_for(scope.variable(e.left), e.left.type)
    members = scope.value(e.right)
    if isinstance(over, m.ListType):
        return _in_list(scope, left, e.right, scope.builder.temporary(members), over)
    conditions, place = placed(scope, left, over.of)
    return all_of([*conditions, (members >> place & 1).equals(1)])


def _packable(scope: Scope, t: m.Type) -> bool:
    """Does a value of a type fit in a word?"""
    try:
        shape_of(scope, t)
    except UnpackableError:
        return False
    return True


def _one_of(scope: Scope, item: s.Expr, these: s.Collection) -> Expr:
    """`n in {100, 200}`, where there would be too many places."""
    t = reduce(common, [x.type for x in these.items], item.type)
    first, *others = [scope.builder.temporary(scope.value(x, t)) for x in (item, *these.items)]
    return any_of([first.equals(x) for x in others])


def _in_list(scope: Scope, item: s.Expr, e: s.Expr, items: Expr, over: m.ListType) -> Expr:
    b, result = scope.builder, scope.builder.name()
    b.set(result, FALSE)
    t = common(item.type, over.of)
    code = b.temporary(scope.value(item, t))
    with loop(scope, e, items) as x, b.if_(converted(scope, x, over.of, t).equals(code)):
        b.set(result, TRUE)
    return result


def first(scope: Scope, members: s.Expr) -> Expr:
    """The first item."""
    items = scope.variable(members)
    if isinstance(members.type, m.ListType):
        return item_of(scope, items, members.type, 0)
    return number_of(call("lowest", items), element_of(scope, members.type))


def item(scope: Scope, of: s.Expr, at: s.Expr) -> Expr:
    """The item at a place, or an instance by its number: those of a group follow one another."""
    if isinstance(of, s.Instances):
        return scope.value(at) + min(scope.context.universe.instances_called(of.name))
    assert isinstance(of.type, m.ListType)
    return item_of(scope, scope.value(of), of.type, scope.value(at))


def concat(scope: Scope, left: Expr, right: Expr, t: m.Type) -> Expr:
    """A list behind another, both as ones of their type."""
    assert isinstance(t, m.ListType)
    of, at = element_of(scope, t), t.bound.bit_length()
    left, right = scope.builder.temporary(left), scope.builder.temporary(right)
    return left + length_of(right, t) | right >> at << at + length_of(left, t) * of.bits


def rest(scope: Scope, code: s.Expr, t: m.Type) -> Expr:
    """A list without its first item."""
    assert isinstance(code.type, m.ListType)
    of, at = element_of(scope, code.type), code.type.bound.bit_length()
    items = scope.variable(code)
    length = length_of(items, code.type)
    shorter = Choice(length > 1, length - 1 | items >> at + of.bits << at, ZERO)
    return converted(scope, shorter, code.type, t)


def size(scope: Scope, of: s.Expr) -> Expr:
    """How many items a set or a list holds."""
    if isinstance(of, s.Instances) and of.kind == "group":
        return Int(len(scope.context.universe.instances_called(of.name)))
    items = scope.value(of)
    return length_of(items, of.type) if isinstance(of.type, m.ListType) else call("ones", items)
