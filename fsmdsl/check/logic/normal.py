"""Conditions in a form in which equal things look equal.

Derived values are replaced by what they stand for, bound variables get names by their depth, `not` is moved inwards,
`all` becomes the negation of `some`, and comparing with `{}` becomes comparing a size with 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.syntax.operators import COMPLEMENT

_MAX_NODES = 2000
_MAX_LEVELS = 150


class TooLargeError(Exception):
    """Derived values within derived values make the condition too large to look at."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an expression is read: what its names and the machine's own fields stand for, whose data it reads, how many
    variables are bound."""

    locals: Mapping[str, m.Expr]
    fields: Mapping[str, m.Expr]
    owner: m.Expr | None = None
    bound: int = 0


class Normal:
    """Brings conditions into normal form; one for each condition, as it counts how much it has seen."""

    def __init__(self, model: m.Model, system: m.System | None = None) -> None:
        self._model = model
        self._system = system
        self._nodes = 0
        self._levels = 0

    def of(
        self, e: m.Expr, names: Mapping[str, m.Expr] | None = None, fields: Mapping[str, m.Expr] | None = None
    ) -> m.Expr:
        """An expression in normal form. `names` and `fields` say what local variables and the machine's own fields
        stand for, in normal form as well. Raises `TooLargeError`."""
        return self._in(e, _Place(names or {}, fields or {}), False)

    def _in(self, e: m.Expr, at: _Place, negated: bool) -> m.Expr:
        """Keeps count of size and depth, so that nothing grows or recurses without bound."""
        self._nodes += 1
        self._levels += 1
        if self._nodes > _MAX_NODES or self._levels > _MAX_LEVELS:
            raise TooLargeError
        normal_form = self._truth(e, at, negated) if e.type == m.BOOL else self._term(e, at)
        self._levels -= 1
        return normal_form

    # Conditions ------------------------------------------------------------------------------------------------------

    def _truth(self, e: m.Expr, at: _Place, negated: bool) -> m.Expr:
        match e:
            case m.Constant(value=value):
                return m.Constant(value is not negated, m.BOOL)
            case m.Not(operand=operand):
                return self._in(operand, at, not negated)
            case m.Logic(operator=operator, operands=operands):
                turned = operator if not negated else ("or" if operator == "and" else "and")
                return m.Logic(turned, tuple(self._in(x, at, negated) for x in operands))
            case m.Binary():
                return self._binary(e, at, negated)
            case m.Conditional(condition=condition, then=then, otherwise=otherwise):
                parts = self._in(condition, at, False), self._in(then, at, negated), self._in(otherwise, at, negated)
                return m.Conditional(*parts, m.BOOL)
            case m.Quantified(kind="all" | "some"):
                return self._quantified(e, at, negated)
            case m.Derived():
                return self._inlined(e, at, negated)
            case m.InState(target=target, states=states):
                return _not(m.InState(self._in(target, at, False), states, ""), negated)
            case _:
                return _not(self._term(e, at), negated)

    def _binary(self, e: m.Binary, at: _Place, negated: bool) -> m.Expr:
        if e.operator == "=>":
            left, right = self._in(e.left, at, not negated), self._in(e.right, at, negated)
            return m.Logic("and" if negated else "or", (left, right))
        if e.operator not in COMPLEMENT:
            return _not(replace(e, left=self._in(e.left, at, False), right=self._in(e.right, at, False)), negated)
        operator = COMPLEMENT[e.operator] if negated else e.operator
        for one, other in ((e.left, e.right), (e.right, e.left)):
            if operator in ("==", "!=") and isinstance(one, m.Collection) and not one.items:
                most = other.type.bound if isinstance(other.type, m.ListType) else 1 << 16
                size = m.Apply("size", (self._in(other, at, False),), m.RangeType(0, most))
                return m.Binary(operator, size, m.Constant(0, m.RangeType(0, 0)), m.BOOL)
        return m.Binary(operator, self._in(e.left, at, False), self._in(e.right, at, False), m.BOOL)

    def _quantified(self, e: m.Quantified, at: _Place, negated: bool) -> m.Expr:
        """`all x: p` is `not some x: not p`."""
        over, body = self._bound(e, at, e.kind == "all")
        return _not(m.Quantified("some", f"${at.bound}", over, body, m.BOOL), negated is not (e.kind == "all"))

    def _bound(self, e: m.Quantified, at: _Place, negated: bool) -> tuple[m.Expr, m.Expr]:
        element = m.element_of(e.over.type)
        names = {**at.locals, e.variable: m.Local(f"${at.bound}", element)}
        inner = replace(at, locals=names, bound=at.bound + 1)
        return self._in(e.over, at, False), self._in(e.body, inner, negated)

    def _inlined(self, e: m.Derived, at: _Place, negated: bool) -> m.Expr:
        let = self._model.let(e, self._system)
        arguments = (self._in(x, at, False) for x in e.arguments)
        names = {p.name: x for p, x in zip(let.parameters, arguments, strict=True)}
        owner = at.owner if e.target is None else self._in(e.target, at, False)
        return self._in(let.value, _Place(names, at.fields, owner, at.bound), negated)

    # Other values ----------------------------------------------------------------------------------------------------

    def _term(self, e: m.Expr, at: _Place) -> m.Expr:
        match e:
            case m.Local(name=name):
                return at.locals.get(name, e)
            case m.Self():
                return at.owner or e
            case m.Read(target=target):
                owner = at.owner if target is None else self._in(target, at, False)
                if owner is None or isinstance(owner, m.Self):
                    return (
                        at.fields.get(e.name, replace(e, target=None)) if e.kind == "field" else replace(e, target=None)
                    )
                return replace(e, target=owner)
            case m.Derived():
                return self._inlined(e, at, False)
            case m.Binary(left=left, right=right):
                return replace(e, left=self._in(left, at, False), right=self._in(right, at, False))
            case m.Conditional(condition=condition, then=then, otherwise=otherwise, type=type_):
                parts = self._in(condition, at, False), self._in(then, at, False), self._in(otherwise, at, False)
                return m.Conditional(*parts, type_)
            case m.Quantified():
                over, body = self._bound(e, at, False)
                return m.Quantified(e.kind, f"${at.bound}", over, body, e.type)
            case m.Collection(items=items):
                return replace(e, items=tuple(self._in(x, at, False) for x in items))
            case m.Apply(arguments=arguments):
                return replace(e, arguments=tuple(self._in(x, at, False) for x in arguments))
            case m.Construction(parts=parts):
                return replace(e, parts=tuple(self._in(x, at, False) for x in parts))
            case m.Part(of=of, name=name):
                record = self._in(of, at, False)
                if isinstance(record, m.Construction):
                    return dict(zip((n for n, _ in record.type.parts), record.parts, strict=True))[name]
                return replace(e, of=record)
            case m.StateOf(target=target):
                return replace(e, target=self._in(target, at, False))
            case m.Negative(operand=operand):
                return replace(e, operand=self._in(operand, at, False))
            case _:
                return e


def _not(e: m.Expr, negated: bool) -> m.Expr:
    return m.Not(e) if negated else e
