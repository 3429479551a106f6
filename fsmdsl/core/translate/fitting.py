"""Whether a place can hold a value: a field, an argument, a part of a record, an entry of a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.translate.context import NONE, Scope, all_of, compared, is_present, size
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.typing import holds


@dataclass(frozen=True, slots=True)
class Place:
    """A place that takes a value, as its fault names it."""

    kind: s.PlaceKind
    name: str
    of: str
    instance: s.Expr
    location: s.Expr

    def fault(self, kind: Literal["range", "overflow", "none"], value: s.Expr, low: int = 0, high: int = 0) -> s.Fault:
        """The place cannot hold a value."""
        cause = s.Unfit(self.kind, self.name, self.of, kind, value, low, high)
        return s.Fault(cause, self.instance, self.location)


def fits(scope: Scope, t: m.Type, value: s.Expr, place: Place) -> None:
    """Requires that a place of a type can hold a value; nothing, where its type says so. `value` is used several times.

    Of a list, its length is checked first; of the members of a list or set, the first that does not fit is the fault.
    """
    if holds(t, value.type):
        return
    b, value_type = scope.builder, value.type
    match t:
        case m.RangeType(low, high):
            assert isinstance(value_type, m.RangeType)
            bounds = [compared(value, ">=", low)] if value_type.low < low else []
            bounds += [compared(value, "<=", high)] if value_type.high > high else []
            b.add(s.Require(all_of(bounds), place.fault("range", value, low, high)))
        case m.OptionalType(of) if isinstance(value_type, m.OptionalType):
            with b.when(is_present(value)):
                fits(scope, of, s.Apply("present", (value,), value_type.of), place)
        case m.OptionalType(of):
            fits(scope, of, value, place)
        case m.RefType():
            b.add(s.Require(is_present(value), place.fault("none", NONE)))
        case m.ListType(of, bound):
            assert isinstance(value_type, m.ListType)
            if value_type.bound > bound:
                b.add(s.Require(compared(size(value), "<=", bound), place.fault("overflow", value, high=bound)))
            _members_fit(scope, of, value, place)
        case m.SetType(of):
            _members_fit(scope, of, value, place)
        case _:
            pass


def fitting(scope: Scope, t: m.Type, value: s.Expr, name: str, place: Place) -> s.Expr:
    """A value for a place of a type, which requires that it fits, and is named if that has to be checked."""
    if holds(t, value.type):
        return value
    value = scope.builder.temporary(value, name)
    fits(scope, t, value, place)
    return value


def _members_fit(scope: Scope, of: m.Type, value: s.Expr, place: Place) -> None:
    member = scope.builder.variable("member", m.element_of(value.type))
    with scope.builder.each(member, value):
        fits(scope, of, member, place)


def arguments_fit(
    scope: Scope,
    name: str,
    parameters: Sequence[m.Variable],
    values: Sequence[s.Expr],
    instance: s.Expr,
    location: s.Expr,
) -> None:
    """Requires that the parameters of an event or action can hold values, from the first to the last."""
    for p, value in zip(parameters, values, strict=True):
        fits(scope, p.type, value, Place("argument", p.name, name, instance, location))
