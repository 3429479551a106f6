"""What a bound variable runs through: the items of a set or list, the numbers of a range, all subsets of a set.

A range whose ends are known is the set of its numbers. `subsets(nodes)` is written in simpler words: the subsets of a
set are those of no element, of one, of two, and so on.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import dataclass
from fsmdsl.model import typing
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.names.scope import Scope
from fsmdsl.model.resolve.values.ordinals import constant_value
from fsmdsl.model.resolve.values.places import element, opened, typed
from fsmdsl.model.walk import expressions
from fsmdsl.text.source import Span

MAX_SIZE = 10_000
"""Maximum number of numbers in a range."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A binder in simpler words."""

    scope: Scope
    """Where the variable is known."""
    variables: tuple[tuple[str, m.Expr], ...]
    """The names of variables with what each runs through, the outer ones first."""


def bound(scope: Scope, binder: s.Binder, fixed: str | None = None) -> Bound:
    """What a binder binds. `fixed` is a word for a place where all values are known before the first is visited."""
    over = binder.over
    if binder.last is not None:
        return _range(scope, binder, (typed(scope, over), typed(scope, binder.last)), fixed)
    if isinstance(over, s.Call) and len(over.arguments) == 1 and _all_subsets(scope, over.target):
        return _subsets(scope, binder, typed(scope, over.arguments[0]), over)
    domain = opened(typed(scope, over))
    return Bound(scope.bind(binder.name, element(scope, domain)), ((binder.name.text, domain),))


def quantified(e: s.Quantified, inner: Bound, body: m.Expr, result: m.Type) -> m.Expr:
    """A quantifier over a binder's variables."""
    for name, over in reversed(inner.variables):
        body = m.Quantified(e.kind, name, over, body, result, e.span)
    return body


def _nothing(scope: Scope, binder: s.Binder, t: m.Type = m.ERROR) -> Bound:
    over = m.Constant(None, m.ERROR, binder.over.span)
    return Bound(scope.bind(binder.name, t), ((binder.name.text, over),))


# Ranges --------------------------------------------------------------------------------------------------------------


def _range(scope: Scope, binder: s.Binder, ends: Sequence[m.Expr], fixed: str | None) -> Bound:
    """The numbers from the first to the last."""
    assert binder.last is not None
    low, high = map(opened, ends)
    span = Span(binder.span.source, low.span.start, high.span.end)
    if isinstance(low.type, m.ErrorType) or isinstance(high.type, m.ErrorType):
        return _nothing(scope, binder)
    if not isinstance(low.type, m.RangeType) or not isinstance(high.type, m.RangeType):
        scope.report(rules.MISMATCH.at(span, "the bounds of a range must be numbers"))
        return _nothing(scope, binder)
    first, last = _constant(scope, low), _constant(scope, high)
    if fixed is not None and (first is None or last is None):
        diagnostic = rules.MISPLACED.at(span, f"the bounds of the range of {fixed} must not depend on the state")
        advice = (
            "use numbers or the `size` of a set of instances as bounds, and put state-dependent parts in a condition"
        )
        scope.report(diagnostic.help(advice))
        return _nothing(scope, binder, m.RangeType(low.type.low, max(low.type.low, high.type.high)))
    hidden = next((x for e in (low, high) for x in expressions(e) if _is_called(x, binder.name.text)), None)
    if hidden is not None and (first is None or last is None):
        diagnostic = rules.MISPLACED.at(
            hidden.span, f"the range of `{binder.name.text}` depends on another variable of that name"
        )
        scope.report(diagnostic.help("give one of them another name"))
        return _nothing(scope, binder)
    least, most = low.type.low if first is None else first, high.type.high if last is None else last
    if most - least >= MAX_SIZE:
        scope.report(rules.TOO_LARGE.at(span, f"this range has {most - least + 1} numbers; the maximum is {MAX_SIZE}"))
        return _nothing(scope, binder, m.RangeType(least, most))
    t = m.RangeType(least, max(least, most))
    if first is not None and last is not None:
        over: m.Expr = numbers(first, last, span)
    else:
        over = m.Apply("range", (_number(low, first), _number(high, last)), m.SetType(t), span)
    return Bound(scope.bind(binder.name, t), ((binder.name.text, over),))


def _number(e: m.Expr, value: int | None) -> m.Expr:
    """An end of a range; a constant, where it is known."""
    return e if value is None else m.Constant(value, m.RangeType(value, value), e.span)


def _is_called(e: m.Expr, name: str) -> bool:
    return isinstance(e, m.Local) and e.name == name


def _constant(scope: Scope, e: m.Expr) -> int | None:
    return constant_value({} if scope.system is None else scope.system.groups, e)


def numbers(low: int, high: int, span: Span) -> m.Collection:
    """The set of the numbers from one to another."""
    items = tuple(m.Constant(n, m.RangeType(n, n), span) for n in range(low, high + 1))
    return m.Collection("set", items, m.SetType(m.RangeType(low, max(low, high))), span)


# Subsets -------------------------------------------------------------------------------------------------------------


def _all_subsets(scope: Scope, function: s.Expr) -> bool:
    return isinstance(function, s.Name) and function.text == "subsets" and not scope.computes("subsets")


def _subsets(scope: Scope, binder: s.Binder, of: m.Expr, e: s.Call) -> Bound:
    """`q in subsets(nodes)`: of each size, all."""
    of = opened(of)
    if isinstance(of.type, m.ErrorType):
        return _nothing(scope, binder)
    if not isinstance(of.type, m.SetType):
        scope.report(rules.MISMATCH.at(of.span, "`subsets` takes a set"))
        return _nothing(scope, binder)
    most = _most(scope, of)
    if most is None:
        diagnostic = rules.MISPLACED.at(e.span, "the size of this set is known only in a system")
        scope.report(diagnostic.help(f"specify the size of the subsets: `subsets({of.span.quote}, 2)`"))
        return _nothing(scope, binder, of.type)
    size = binder.name.text + "_size"
    while size in scope.locals or size in binder.span.source.text:
        size += "_"
    t = m.RangeType(0, most)
    over = m.Apply("subsets", (of, m.Local(size, t, e.span)), m.SetType(of.type), e.span)
    return Bound(scope.bind(binder.name, of.type), ((size, _sizes(of, most, e.span)), (binder.name.text, over)))


def _sizes(of: m.Expr, most: int, span: Span) -> m.Expr:
    """The possible sizes of the subsets of a set. An argument may have more elements than the type of its parameter
    says."""
    if isinstance(of, m.Instances | m.AllOf):
        return numbers(0, most, span)
    t = m.RangeType(0, most)
    none = m.Constant(0, m.RangeType(0, 0), span)
    return m.Apply("range", (none, m.Apply("size", (of,), t, span)), m.SetType(t), span)


def _most(scope: Scope, of: m.Expr) -> int | None:
    """Maximum number of elements of a set."""
    match typing.element(of.type):
        case m.BoolType():
            return 2
        case m.EnumType(members=members):
            return len(members)
        case m.RangeType(low=low, high=high) if high - low < MAX_SIZE:
            return high - low + 1
        case m.RefType(machine=machine) if scope.system is not None:
            groups = scope.system.groups
            if isinstance(of, m.Instances):
                return groups[of.name].count
            return sum(g.count for g in groups.values() if g.machine == machine)
        case _:
            return None
