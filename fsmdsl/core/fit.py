"""Which values are sure to fit the places that they go to, whatever the data are."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.core.lets import throughout
from fsmdsl.model.typing import element, holds


def fits(model: m.Model, value: m.Expr, place: m.Type, system: m.System | None = None) -> bool:
    """Is a value sure to fit its place? Where not, a step has to look.

    An expression's type is as wide as its values, but for two: a collection that is written out has the type of its
    place, so its items are looked at; and a `let` may be given arguments that its parameters do not hold, so that
    nothing is known of what it gives.
    """
    return _within(value, place) and _calls_fit(model, value, system)


def items_fit(model: m.Model, value: m.Expr, of: m.Type, system: m.System | None = None) -> bool:
    """Is the same sure of everything in a set or list?"""
    if isinstance(value, m.Collection):
        return all(fits(model, x, of, system) for x in value.items)
    return holds(of, element(value.type)) and _calls_fit(model, value, system)


def _within(value: m.Expr, place: m.Type) -> bool:
    if isinstance(value, m.Collection) and isinstance(place, m.SetType | m.ListType):
        short = isinstance(place, m.SetType) or len(value.items) <= place.bound
        return short and all(_within(x, place.of) for x in value.items)
    return holds(place, value.type)


def _calls_fit(model: m.Model, value: m.Expr, system: m.System | None) -> bool:
    """Do all `let`s that a value uses, directly or not, get what their parameters hold?"""
    calls = (x for x in throughout(model, value, system) if isinstance(x, m.Derived) and x.arguments)
    given = (zip(x.arguments, model.let(x, system).parameters, strict=True) for x in calls)
    return all(_within(a, p.type) for pairs in given for a, p in pairs)
