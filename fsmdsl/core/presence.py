"""What a condition says about values that may be none: those that are there where it holds, or where it does not."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.model.walk import effects, expressions

Present = frozenset[m.Expr]
"""Expressions of optional types whose values are not none."""

NOTHING: Present = frozenset()


def present_if(e: m.Expr, holds: bool) -> Present:
    """The values that are not none where a condition holds, or does not."""
    match e:
        case m.Not(operand=operand):
            return present_if(operand, not holds)
        case m.Logic(operator=operator, operands=operands) if (operator == "and") is holds:
            return frozenset().union(*(present_if(x, holds) for x in operands))
        case m.Binary(operator="=>", left=left, right=right) if not holds:
            return present_if(left, True) | present_if(right, False)
        case m.Binary(operator="!=" | "==" as operator, left=left, right=right) if (operator == "!=") is holds:
            return frozenset(x for x, other in ((left, right), (right, left)) if _is_none(other))
        case m.InState(target=target) if holds:
            return frozenset({target})
        case _:
            return NOTHING


def _is_none(e: m.Expr) -> bool:
    return isinstance(e, m.Constant) and e.value is None


def without(present: Present, name: str) -> Present:
    """What is still known where a name is bound anew."""
    return frozenset(e for e in present if not any(isinstance(x, m.Local) and x.name == name for x in expressions(e)))


def after(present: Present, done: m.Effect) -> Present:
    """What is still known when an effect is done: of variables and own fields, those that it cannot have changed.

    What is read of other instances is forgotten, as an event that is sent may change it.
    """
    inside = effects((done,))
    changed = {x.name for x in inside if isinstance(x, m.Write) and x.target is None}
    return frozenset(x for x in present if _is_own(x) and not (isinstance(x, m.Read) and x.name in changed))


def _is_own(e: m.Expr) -> bool:
    return isinstance(e, m.Local) or (isinstance(e, m.Read) and e.target is None)
