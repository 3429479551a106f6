"""Expressions with types as wide as their values, and not much wider.

A model's types say what is meant, and values may lie outside until they are put somewhere: `{x + 1}` in the place of a
`set<0..2>` may hold a 3, a `let f(n: 0..2)` may be asked about 5. Whoever gives a value so many bits needs to know;
and also that a set of three holds no 65536.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, assert_never

from fsmdsl import model as m
from fsmdsl.model.typing import holds
from fsmdsl.resolve.types import join, join_all
from fsmdsl.step.roster import Roster
from fsmdsl.step.values import cardinality

Types = Mapping[str, m.Type]
"""Of variables whose values may lie outside of the type that they are declared with."""

E = TypeVar("E")

_Use = tuple[str, str, tuple[m.Type, ...]]
"""A derived value, by owner and name, and the types of its parameters."""


def common(a: m.Type, b: m.Type) -> m.Type:
    """A type that has the numbers of both, so that they can be compared."""
    match a, b:
        case (m.NoneType() | m.NeverType() | m.ErrorType(), _):
            return (
                b if isinstance(b, m.OptionalType | m.NoneType) or not isinstance(a, m.NoneType) else m.OptionalType(b)
            )
        case (_, m.NoneType() | m.NeverType() | m.ErrorType()):
            return common(b, a)
        case (m.OptionalType(x), m.OptionalType(y)):
            return m.OptionalType(common(x, y))
        case (m.OptionalType(x), _):
            return m.OptionalType(common(x, b))
        case (_, m.OptionalType(y)):
            return m.OptionalType(common(a, y))
        case (m.SetType(x), m.SetType(y)):
            return m.SetType(common(x, y))
        case (m.ListType(x, n), m.ListType(y, k)):
            return m.ListType(common(x, y), max(n, k))
        case (m.RangeType(low, high), m.RangeType(other_low, other_high)):
            return m.RangeType(min(low, other_low), max(high, other_high))
        case _:
            return a


# Expressions ---------------------------------------------------------------------------------------------------------


def widened(roster: Roster, e: m.Expr, types: Types | None = None) -> m.Expr:
    """The same expression, with wider types where its values may lie outside."""
    return _Widening(roster, types or {}).expression(e)


class _Widening:
    """One scope of variables."""

    def __init__(self, roster: Roster, types: Types, bodies: dict[_Use, m.Expr] | None = None) -> None:
        self.roster = roster
        self.types = types
        self.bodies: dict[_Use, m.Expr] = {} if bodies is None else bodies
        """What derived values stand for."""

    def inner(self, name: str, over: m.Expr) -> _Widening:
        """Inside a quantifier or loop."""
        of = m.element_of(over.type)
        return _Widening(self.roster, {**self.types, name: of}, self.bodies)

    def expression(self, e: m.Expr) -> m.Expr:
        match e:
            case m.Local(name=name):
                return _changed(e, type=self.types.get(name, e.type))
            case m.Constant(value=int() as n, type=m.RangeType()) if not isinstance(n, bool):
                return _changed(e, type=m.RangeType(n, n))
            case m.Read(target=target):
                return _changed(e, target=None if target is None else self.expression(target))
            case m.InState(target=target):
                return _changed(e, target=self.expression(target))
            case m.Not(operand=operand):
                return _changed(e, operand=self.expression(operand))
            case m.Negative(operand=operand):
                return self._negative(e, self.expression(operand))
            case m.Logic(operands=operands) | m.Temporal(operands=operands):
                return _changed(e, operands=self._all(operands))
            case m.Binary(left=left, right=right):
                return self._binary(e, self.expression(left), self.expression(right))
            case m.Conditional():
                return self._conditional(e)
            case m.Quantified(variable=name, over=over, body=body):
                over = self.expression(over)
                t = self._counted(over.type, e.type) if e.kind == "count" else e.type
                return _changed(e, over=over, body=self.inner(name, over).expression(body), type=t)
            case m.Collection(items=items):
                return self._collection(e, self._all(items))
            case m.Apply(arguments=arguments):
                return self._applied(e, self._all(arguments))
            case m.Derived():
                return self._derived(e)
            case _:
                return e

    def _all(self, listed: Sequence[m.Expr]) -> tuple[m.Expr, ...]:
        return tuple(self.expression(x) for x in listed)

    def _negative(self, e: m.Negative, operand: m.Expr) -> m.Expr:
        t = operand.type
        return _changed(e, operand=operand, type=m.RangeType(-t.high, -t.low) if isinstance(t, m.RangeType) else e.type)

    def _binary(self, e: m.Binary, left: m.Expr, right: m.Expr) -> m.Expr:
        t = e.type
        match e.operator, left.type, right.type:
            case "+", m.RangeType(a, b), m.RangeType(c, d):
                t = m.RangeType(a + c, b + d)
            case "-", m.RangeType(a, b), m.RangeType(c, d):
                t = m.RangeType(a - d, b - c)
            case ("+" | "-" | "&", m.SetType() as a, m.SetType() as b):
                t = _joined(a, b)
            case _:
                pass
        return _changed(e, left=left, right=right, type=t)

    def _conditional(self, e: m.Conditional) -> m.Expr:
        then, otherwise = self.expression(e.then), self.expression(e.otherwise)
        t = join(then.type, otherwise.type) or e.type
        return _changed(e, condition=self.expression(e.condition), then=then, otherwise=otherwise, type=t)

    def _collection(self, e: m.Collection, items: tuple[m.Expr, ...]) -> m.Expr:
        of = join_all([x.type for x in items])
        if of is None:
            return _changed(e, items=items)
        return _changed(e, items=items, type=m.SetType(of) if e.kind == "set" else m.ListType(of, max(len(items), 1)))

    def _applied(self, e: m.Apply, arguments: tuple[m.Expr, ...]) -> m.Expr:
        first, t = arguments[0].type, e.type
        match e.function:
            case "present" if isinstance(first, m.OptionalType):
                t = first.of
            case "present" | "rest":
                t = first
            case "first" if isinstance(first, m.SetType | m.ListType):
                t = first.of
            case "min" | "max" if isinstance(t, m.RangeType):
                ranges = [x.type for x in arguments if isinstance(x.type, m.RangeType)]
                pick = min if e.function == "min" else max
                return _changed(
                    e, arguments=arguments, type=m.RangeType(pick(r.low for r in ranges), pick(r.high for r in ranges))
                )
            case "size" if isinstance(arguments[0], m.ChannelRef):
                bound = self.roster.model.channels[arguments[0].name].bound
                return _changed(e, arguments=arguments, type=m.RangeType(0, bound))
            case "size":
                return _changed(e, arguments=arguments, type=self._counted(first, t))
            case "subsets":
                t = m.SetType(first)
            case _:
                pass
        return _changed(e, arguments=arguments, type=t)

    def _derived(self, e: m.Derived) -> m.Expr:
        target = None if e.target is None else self.expression(e.target)
        e = _changed(e, target=target, arguments=self._all(e.arguments))
        types = types_of(self.roster, e)
        use = e.owner, e.name, tuple(types.values())
        if use not in self.bodies:
            self.bodies[use] = _Widening(self.roster, types, self.bodies).expression(self.roster.let(e).value)
        return _changed(e, type=self.bodies[use].type)

    def _counted(self, over: m.Type, otherwise: m.Type) -> m.Type:
        """How many there can be in a set or list."""
        match over:
            case m.ListType(bound=bound):
                return m.RangeType(0, bound)
            case m.SetType(of) if of != m.DurationType():
                return m.RangeType(0, min(cardinality(of, self.roster), 1 << 16))
            case _:
                return otherwise


def types_of(roster: Roster, e: m.Derived) -> dict[str, m.Type]:
    """The types of a `let`'s parameters where it is used like this: those declared, or wider."""
    pairs = zip(roster.let(e).parameters, e.arguments, strict=True)
    return {p.name: p.type if holds(p.type, a.type) else a.type for p, a in pairs}


def body_of(roster: Roster, e: m.Derived) -> m.Expr:
    """What a `let` stands for where it is used like this."""
    return widened(roster, roster.let(e).value, types_of(roster, e))


def _joined(a: m.Type, b: m.Type) -> m.Type:
    return join(a, b) or a


def _changed(e: E, **parts: object) -> E:
    """A node with other parts; the same one if they are not other."""
    for name, part in parts.items():
        before = getattr(e, name)
        if before is not part and before != part:
            changed: Any = e
            result: E = replace(changed, **parts)
            return result
    return e


# Effects -------------------------------------------------------------------------------------------------------------


def widened_effects(roster: Roster, effects: Sequence[m.Effect]) -> tuple[m.Effect, ...]:
    """The same effects, with wider types where values may lie outside."""
    w = _Widening(roster, {})
    return tuple(_effect(w, e) for e in effects)


def _effect(w: _Widening, e: m.Effect) -> m.Effect:
    match e:
        case m.Assign(target=target, value=value):
            return _changed(e, target=None if target is None else w.expression(target), value=w.expression(value))
        case m.Change(target=target, item=item):
            return _changed(e, target=None if target is None else w.expression(target), item=w.expression(item))
        case m.Send(target=target, arguments=arguments):
            return _changed(e, target=w.expression(target), arguments=w._all(arguments))
        case m.Post(arguments=arguments) | m.Request(arguments=arguments):
            return _changed(e, arguments=w._all(arguments))
        case m.ForEach(variable=name, over=over, body=body):
            over = w.expression(over)
            inner = w.inner(name, over)
            return _changed(e, over=over, body=tuple(_effect(inner, x) for x in body))
        case m.If(condition=condition, then=then, otherwise=otherwise):
            first, second = (tuple(_effect(w, x) for x in part) for part in (then, otherwise))
            return _changed(e, condition=w.expression(condition), then=first, otherwise=second)
        case _:
            assert_never(e)
