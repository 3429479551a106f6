"""What guards are made of, and which of them can be seen not to hold at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from fsmdsl import model as m
from fsmdsl.model.walk import expressions
from fsmdsl.syntax.operators import COMPARISONS, ORDERS


def conjuncts(condition: m.Expr | None) -> list[m.Expr]:
    """What must hold, one after the other, for a condition to hold; nothing, where there is no condition."""
    match condition:
        case None:
            return []
        case m.Logic(operator="and", operands=operands):
            return [x for o in operands for x in conjuncts(o)]
        case _:
            return [condition]


def exclusive(a: m.Transition, b: m.Transition, lets: Mapping[str, m.Let]) -> bool:
    """Can the guards of two transitions of one trigger be seen not to hold at once? A quick look, sure of nothing but
    its yes: what both ask of one value is compared, also inside the machine's own derived values. `check.logic`
    decides more, in more time.
    """
    ambiguous = _ambiguous(_arguments(a), _arguments(b))

    def conditions(t: m.Transition) -> list[m.Expr]:
        return [x for x in _conditions(t.guard, lets) if not any(_is_one_of(y, ambiguous) for y in expressions(x))]

    others = conditions(b)
    return any(_contrary(x, y) or _contrary(y, x) for x in conditions(a) for y in others)


def _arguments(t: m.Transition) -> tuple[str, ...]:
    return t.trigger.arguments if isinstance(t.trigger, m.OnEvent) else ()


def _ambiguous(a: tuple[str, ...], b: tuple[str, ...]) -> frozenset[str]:
    """The names that do not stand for the same argument in both."""
    return frozenset(name for x, y in zip(a, b, strict=False) if x != y for name in (x, y))


def _is_one_of(e: m.Expr, names: frozenset[str]) -> bool:
    return isinstance(e, m.Local) and e.name in names


def _conditions(guard: m.Expr | None, lets: Mapping[str, m.Let]) -> Iterator[m.Expr]:
    """What a guard asks, the conditions inside its derived values included, each value's once."""
    waiting, seen = [guard], set[str]()
    while waiting:
        for x in conjuncts(waiting.pop()):
            yield x
            own = isinstance(x, m.Derived) and x.name in lets and not x.arguments and x.target is None
            if own and isinstance(x, m.Derived) and x.name not in seen:
                seen.add(x.name)
                waiting.append(lets[x.name].value)


def _contrary(x: m.Expr, y: m.Expr) -> bool:
    match x, y:
        case m.Not(operand=operand), _ if operand == y:
            return True
        case m.Not(operand=m.InState(target=t1, states=s1)), m.InState(target=t2, states=s2) if t1 == t2:
            return s2 <= s1
        case m.InState(target=t1, states=s1), m.InState(target=t2, states=s2) if t1 == t2:
            return not s1 & s2
        case m.Binary(left=l1, right=m.Constant() as c1), m.Binary(left=l2, right=m.Constant() as c2) if l1 == l2:
            compared = x.operator in COMPARISONS and y.operator in COMPARISONS
            return compared and not _overlapping(x.operator, c1, y.operator, c2)
        case m.Binary(operator=o1, left=l1, right=r1), m.Binary(operator=o2, left=l2, right=r2) if (l1, r1) == (l2, r2):
            return o1 in ORDERS and o2 in ORDERS and not ORDERS[o1] & ORDERS[o2]
        case _:
            return False


def _overlapping(o1: str, c1: m.Constant, o2: str, c2: m.Constant) -> bool:
    """Is there a value that compares so with both constants?"""
    a, b = _number(c1), _number(c2)
    if a is None or b is None:
        same = c1.value == c2.value
        return not (({o1, o2} == {"=="} and not same) or ({o1, o2} == {"==", "!="} and same))
    values: Iterable[int] = range(min(a, b) - 1, max(a, b) + 2)
    if isinstance(c1.type, m.EnumType):
        values = range(len(c1.type.members))
    return any(COMPARISONS[o1](v, a) and COMPARISONS[o2](v, b) for v in values)


def _number(c: m.Constant) -> int | None:
    """A number, or a member's place among the members."""
    if isinstance(c.type, m.EnumType) and isinstance(c.value, str):
        return c.type.members.index(c.value)
    return c.value if isinstance(c.value, int) and not isinstance(c.value, bool) else None
