"""Maps: the codes of their values side by side, each where the code of its key says."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.program.nodes import Expr, Int
from fsmdsl.search.lower.context import Scope
from fsmdsl.search.lower.values.convert import code_of, number_of, shape_of
from fsmdsl.search.shapes import to_number
from fsmdsl.step.values import keys


def entry(scope: Scope, e: s.Apply) -> Expr:
    """`votes[n]`."""
    t = _of_map(e.arguments[0].type)
    table, place = _place(scope, e, t)
    of = shape_of(scope, t.of)
    return number_of(table >> place & (1 << of.bits) - 1, of)


def replaced(scope: Scope, e: s.Apply) -> Expr:
    """A map with another value for one key."""
    t = _of_map(e.type)
    table, place = _place(scope, e, t)
    code = _coded_value(scope, e.arguments[2], t)
    return table & ~(Int((1 << shape_of(scope, t.of).bits) - 1) << place) | code << place


def filled(scope: Scope, e: s.Apply) -> Expr:
    """The map that has a value for every key."""
    t, universe = _of_map(e.type), scope.context.universe
    shape_of(scope, t)
    key, bits = shape_of(scope, t.key), shape_of(scope, t.of).bits
    places = (key.code(to_number(t.key, k, universe)) for k in keys(t, universe))
    return _coded_value(scope, e.arguments[0], t) * sum(1 << n * bits for n in places)


def _of_map(t: m.Type) -> m.MapType:
    assert isinstance(t, m.MapType)
    return t


def _place(scope: Scope, e: s.Apply, t: m.MapType) -> tuple[Expr, Expr]:
    """A map, and at which bit it has the entry for a key."""
    of, at, *_ = e.arguments
    table, key = scope.variable(of), scope.variable(at)
    shape_of(scope, t)
    place = code_of(key, shape_of(scope, t.key)) * shape_of(scope, t.of).bits
    return table, scope.builder.temporary(place)


def _coded_value(scope: Scope, e: s.Expr, t: m.MapType) -> Expr:
    return scope.builder.temporary(code_of(scope.value(e, t.of), shape_of(scope, t.of)))
