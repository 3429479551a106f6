"""Expressions as they read best, and what decides how they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import replace
from fsmdsl.syntax.operators import COMPLEMENT


def gathered(e: m.Logic, may_fail: Callable[[m.Expr], bool]) -> list[m.Expr]:
    """The operands, with tests of one state each put together: `Free or Used`, `not Free and not Used`. None is tested
    before an operand on its left that may fail."""
    out: list[m.Expr] = []
    for x in e.operands:
        test = x.operand if isinstance(x, m.Not) else x
        if isinstance(test, m.InState) and (x is test) == (e.operator == "or"):
            places = [n for n, other in enumerate(out) if _same_test(other, x)]
            if places and not any(map(may_fail, out[places[-1] + 1 :])):
                before = out[places[-1]]
                inner = before.operand if isinstance(before, m.Not) else before
                assert isinstance(inner, m.InState)
                both = replace(inner, states=inner.states | test.states)
                out[places[-1]] = both if x is test else m.Not(both)
                continue
        out.append(x)
    return out


def _same_test(a: m.Expr, b: m.Expr) -> bool:
    """Do two conditions test the state of one machine, or deny it?"""
    match a, b:
        case m.InState(target=x), m.InState(target=y):
            return x == y
        case m.Not(operand=m.InState(target=x)), m.Not(operand=m.InState(target=y)):
            return x == y
        case _:
            return False


def flips(e: m.Expr) -> bool:
    """Has a condition an opposite that is no longer than itself?"""
    optional = isinstance(e, m.InState) and isinstance(e.target.type, m.OptionalType)
    return (isinstance(e, m.Not | m.InState) and not optional) or (isinstance(e, m.Binary) and e.operator in COMPLEMENT)


def unique(t: m.Type) -> bool:
    """Is there one Python object for each value of a type?"""
    match t:
        case m.BoolType() | m.EnumType() | m.RefType() | m.NoneType():
            return True
        case m.OptionalType(of):
            return unique(of)
        case m.RangeType() | m.DurationType() | m.OpaqueType() | m.RecordType() | m.SetType() | m.ListType():
            return False
        case m.MapType() | m.NeverType() | m.ErrorType():
            return False
        case _:
            assert_never(t)


def fixed(e: m.Expr) -> tuple[bool | int | str | None, ...]:
    """The value of a constant, with or without a sign; of anything else, nothing."""
    match e:
        case m.Constant(value=value):
            return (value,)
        case m.Negative(m.Constant(value=int(value))):
            return (-value,)
        case _:
            return ()


def one_more(e: m.Expr) -> m.Expr:
    """A number that is greater by 1."""
    match e:
        case m.Constant(value=int(n)):
            return replace(e, value=n + 1)
        case m.Binary(operator="-", left=left, right=m.Constant(value=1)):
            return left
        case _:
            return m.Binary("+", e, m.Constant(1, m.RangeType(1, 1)), e.type)
