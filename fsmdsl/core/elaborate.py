"""Expressions with types as wide as their values: what an elaborated expression's type says holds, whatever the data.

A model's types say what is meant, and values may lie outside until they are put somewhere: `{x + 1}` in the place of a
`set<0..2>` may hold a 3, a `let f(n: 0..2)` may be asked about 5. A value that is elaborated `holds` in a place exactly
where no step has to look whether it fits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.typing import (
    arithmetic_type,
    bare,
    common,
    concat_type,
    element,
    extreme_type,
    holds,
    join_all,
    negative_type,
)
from fsmdsl.syntax.operators import LARGEST

Types = Mapping[str, m.Type]
"""Of variables: those declared, or wider."""

N = TypeVar("N")


class TooLargeNumberError(ValueError):
    """A number may be larger than `LARGEST`, because a `let` is given arguments outside its parameters' ranges."""

    def __init__(self, e: m.Binary, type_: m.RangeType) -> None:
        super().__init__(f"{e.span}: a number may be larger than {LARGEST}")
        self.e = e
        self.type = type_


SEVERAL = 32
"""A `let` is elaborated for so many types of its arguments each by itself."""

Size = Callable[[m.Type], int]
"""How many values a type has in a system."""

_LARGEST_SET = 1 << 16


@dataclass(frozen=True, slots=True)
class Body:
    """A `let` as it is used in one place."""

    parameters: Types
    value: m.Expr


class _Uses:
    """What a `let` is for each of the types that its arguments have. `let`s that use one another could have twice as
    many types with each; so beyond `SEVERAL`, each is as wide as all before it, and ends at a power of two."""

    def __init__(self, types: tuple[m.Type, ...]) -> None:
        self.bodies: dict[tuple[m.Type, ...], Body] = {}
        self._widest = types

    def widened(self, types: tuple[m.Type, ...]) -> tuple[m.Type, ...]:
        """The types that a new use is taken to have."""
        self._widest = tuple(common(a, b) for a, b in zip(self._widest, types, strict=True))
        if len(self.bodies) < SEVERAL:
            return types
        self._widest = tuple(map(_rounded, self._widest))
        return self._widest


def _declared(place: m.Type, value: m.Type) -> m.Type:
    """The type of a value that a place may be too small for. What none stands for, and what is in an empty collection,
    is as the place says: its machine is named nowhere else."""
    match place, value:
        case m.OptionalType(), m.NoneType():
            return place
        case _, m.NeverType():
            return place
        case m.OptionalType(of), m.OptionalType(inner):
            return m.OptionalType(_declared(of, inner))
        case m.OptionalType(of), _:
            return _declared(of, value)
        case m.SetType(of), m.SetType(inner):
            return m.SetType(_declared(of, inner))
        case m.ListType(of), m.ListType(inner, bound):
            return m.ListType(_declared(of, inner), bound)
        case _:
            return value


def _rounded(t: m.Type) -> m.Type:
    """A type that holds all values of another, one of few."""
    match t:
        case m.RangeType(low, high):
            return m.RangeType(-_power(-low), _power(high))
        case m.OptionalType(of):
            return m.OptionalType(_rounded(of))
        case m.SetType(of):
            return m.SetType(_rounded(of))
        case m.ListType(of, bound):
            return m.ListType(_rounded(of), _power(bound))
        case _:
            return t


def _power(n: int) -> int:
    return min((1 << n.bit_length()) - 1, LARGEST) if n > 0 else 0


class Elaboration:
    """The expressions and effects of a model, each elaborated once in each scope. All of it raises
    `TooLargeNumberError`, which `check.numbers` finds before.

    `system` is needed for `let`s of systems alone; without `size` a count of a set has the type that is declared.
    """

    def __init__(self, model: m.Model, system: m.System | None = None, size: Size | None = None) -> None:
        self.model = model
        self.system = system
        self.size = size
        self._elaborated: dict[tuple[int, object], tuple[object, Any]] = {}
        """By identity and scope: the node, so that it lasts, and what it has become."""
        self._uses: dict[tuple[str, str], _Uses] = {}
        """By the owner and name of a `let`."""

    def expression(self, e: m.Expr, types: Types | None = None) -> m.Expr:
        """An expression where variables have these types."""
        return _Scope(self, types or {}).expression(e)

    def effects(self, effects: Sequence[m.Effect]) -> tuple[m.Effect, ...]:
        """Effects, whose arguments have the types that are declared."""
        scope = _Scope(self, {})
        return tuple(scope.effect(x) for x in effects)

    def body(self, e: m.Derived) -> Body:
        """What a `let` stands for where it is used with these elaborated arguments. Takes time in proportion to the
        texts of `let`s and to how many types their parameters are used with, which are few; see `_Uses`."""
        let = self.model.let(e, self.system)
        pairs = zip(let.parameters, e.arguments, strict=True)
        types = tuple(p.type if holds(p.type, a.type) else _declared(p.type, a.type) for p, a in pairs)
        uses = self._uses.setdefault((e.owner, e.name), _Uses(types))
        if types not in uses.bodies:
            wide = uses.widened(types)
            if wide not in uses.bodies:
                parameters = {p.name: t for p, t in zip(let.parameters, wide, strict=True)}
                uses.bodies[wide] = Body(parameters, _Scope(self, parameters).expression(let.value))
            uses.bodies[types] = uses.bodies[wide]
        return uses.bodies[types]


class _Scope:
    """Where variables have certain types."""

    def __init__(self, whole: Elaboration, types: Types) -> None:
        self.whole = whole
        self.types = types
        self._key = tuple(types.items())

    def _inner(self, name: str, over: m.Expr) -> _Scope:
        """Inside a quantifier or loop."""
        return _Scope(self.whole, {**self.types, name: element(over.type)})

    def expression(self, e: m.Expr) -> m.Expr:
        key = id(e), self._key
        if key not in self.whole._elaborated:
            self.whole._elaborated[key] = e, self._expression(e)
        elaborated: m.Expr = self.whole._elaborated[key][1]
        return elaborated

    def effect(self, e: m.Effect) -> m.Effect:
        key = id(e), self._key
        if key not in self.whole._elaborated:
            self.whole._elaborated[key] = e, self._effect(e)
        elaborated: m.Effect = self.whole._elaborated[key][1]
        return elaborated

    # Expressions

    def _expression(self, e: m.Expr) -> m.Expr:
        match e:
            case m.Local(name=name):
                return _changed(e, type=self.types.get(name, e.type))
            case m.Constant(value=int() as n, type=m.RangeType()) if not isinstance(n, bool):
                return _changed(e, type=m.RangeType(n, n))
            case m.Read(target=target):
                return _changed(e, target=self._optional(target))
            case m.InState(target=target) | m.StateOf(target=target):
                return _changed(e, target=self.expression(target))
            case m.Not(operand=operand):
                return _changed(e, operand=self.expression(operand))
            case m.Negative(operand=operand):
                operand = self.expression(operand)
                t = negative_type(operand.type) if isinstance(operand.type, m.RangeType) else e.type
                return _changed(e, operand=operand, type=t)
            case m.Logic(operands=operands) | m.Temporal(operands=operands):
                return _changed(e, operands=self._all(operands))
            case m.Binary():
                return self._binary(e)
            case m.Conditional():
                return self._conditional(e)
            case m.Quantified(variable=name, over=over, body=body):
                over = self.expression(over)
                t = self._counted(over.type, e.type) if e.kind == "count" else e.type
                return _changed(e, over=over, body=self._inner(name, over).expression(body), type=t)
            case m.Construction(parts=parts):
                return _changed(e, parts=self._all(parts))
            case m.Part(of=of):
                return _changed(e, of=self.expression(of))
            case m.Collection(items=items):
                return self._collection(e, self._all(items))
            case m.Apply(arguments=arguments):
                arguments = self._all(arguments)
                return _changed(e, arguments=arguments, type=self._applied(e, arguments))
            case m.Derived(target=target, arguments=arguments):
                used = _changed(e, target=self._optional(target), arguments=self._all(arguments))
                return _changed(used, type=self.whole.body(used).value.type)
            case (
                m.Constant() | m.Self() | m.Wait() | m.ChannelRef() | m.InstanceRef() | m.Instances() | m.AllOf()
                | m.Ordinal()
            ):  # fmt: skip
                return e
            case _:
                assert_never(e)

    def _optional(self, e: m.Expr | None) -> m.Expr | None:
        return None if e is None else self.expression(e)

    def _all(self, operands: Sequence[m.Expr]) -> tuple[m.Expr, ...]:
        return tuple([self.expression(x) for x in operands])

    def _binary(self, e: m.Binary) -> m.Expr:
        left, right, t = self.expression(e.left), self.expression(e.right), e.type
        match e.operator:
            case "=>" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "in":
                pass
            case "union" | "difference" | "intersection":
                t = common(left.type, right.type)
            case _:
                if isinstance(left.type, m.RangeType) and isinstance(right.type, m.RangeType):
                    t = arithmetic_type(e.operator, left.type, right.type)
                    if max(-t.low, t.high) > LARGEST:
                        raise TooLargeNumberError(e, t)
        return _changed(e, left=left, right=right, type=t)

    def _conditional(self, e: m.Conditional) -> m.Expr:
        then, otherwise = self.expression(e.then), self.expression(e.otherwise)
        condition = self.expression(e.condition)
        return _changed(e, condition=condition, then=then, otherwise=otherwise, type=common(then.type, otherwise.type))

    def _collection(self, e: m.Collection, items: tuple[m.Expr, ...]) -> m.Expr:
        of = join_all(x.type for x in items)
        if of is None or not items:  # of none: what the variable of an empty range has is a number all the same
            return _changed(e, items=items)
        return _changed(e, items=items, type=m.SetType(of) if e.kind == "set" else m.ListType(of, max(len(items), 1)))

    def _applied(self, e: m.Apply, arguments: tuple[m.Expr, ...]) -> m.Type:
        first = arguments[0]
        match e.function:
            case "present":
                return bare(first.type)
            case "rest":
                return first.type
            case "concat":
                a, b = (x.type for x in arguments)
                assert isinstance(a, m.ListType)
                assert isinstance(b, m.ListType)
                return concat_type(a, b, common(a.of, b.of))
            case "item" if isinstance(first.type, m.MapType):
                return first.type.of
            case "first" | "item":
                return element(first.type)
            case "filled" | "replaced":  # holds no more than its type says: that is looked at when it is made
                return e.type
            case "min" | "max" if isinstance(e.type, m.RangeType):
                return extreme_type(e.function, (x.type for x in arguments if isinstance(x.type, m.RangeType)))
            case "size" if isinstance(first, m.ChannelRef):
                return m.RangeType(0, self.whole.model.channels[first.name].bound)
            case "size":
                return self._counted(first.type, e.type)
            case "range":
                low, high = (x.type for x in arguments)
                assert isinstance(low, m.RangeType)
                assert isinstance(high, m.RangeType)
                return m.SetType(m.RangeType(low.low, max(low.low, high.high)))
            case "subsets":
                return m.SetType(first.type)
            case "min" | "max":  # of members of an enum
                return e.type
            case _:
                assert_never(e.function)

    def _counted(self, over: m.Type, otherwise: m.Type) -> m.Type:
        """How many there can be in a set or list."""
        match over:
            case m.ListType(bound=bound):
                return m.RangeType(0, bound)
            case m.SetType(of) if self.whole.size is not None and of != m.DurationType():
                return m.RangeType(0, min(self.whole.size(of), _LARGEST_SET))
            case _:
                return otherwise

    # Effects

    def _effect(self, e: m.Effect) -> m.Effect:
        match e:
            case m.ForEach(variable=name, over=over, body=body):
                over = self.expression(over)
                inner = self._inner(name, over)
                return m.made_of(e, (over,), (tuple([inner.effect(x) for x in body]),))
            case _:
                blocks = tuple([tuple([self.effect(x) for x in block]) for block in m.inside(e)])
                return m.made_of(e, self._all(m.operands(e)), blocks)


def _changed(e: N, **parts: object) -> N:
    """A node with other parts; the same one if they are not other."""
    for name, part in parts.items():
        before = getattr(e, name)
        if before is not part and before != part:
            changed: Any = e
            result: N = replace(changed, **parts)
            return result
    return e
