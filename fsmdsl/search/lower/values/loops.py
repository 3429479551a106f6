"""Loops over sets, lists, subsets and types, in the order of `step.values.elements`; and over instances."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.program.builder import Builder, Inside
from fsmdsl.program.nodes import Expr, Int, Var, call
from fsmdsl.search.lower.context import AT, Context, Scope, T
from fsmdsl.search.lower.values.convert import element_of, item_of, length_of, number_of, shape_of
from fsmdsl.search.shapes import LARGEST, UnpackableError, to_number
from fsmdsl.step.evaluate import domain
from fsmdsl.step.values import MAX_VALUES


@contextmanager
def loop(scope: Scope, e: s.Expr, over: Expr) -> Iterator[Var]:
    """A loop through what an expression is worth, which is `over`; the body gets the variable of the item, and may be
    left with `break`."""
    b, t = scope.builder, e.type
    x = b.name()
    if isinstance(e, s.Apply) and e.function == "subsets":
        with _subsets(scope, over, e, x):
            yield x
        return
    if isinstance(e, s.Apply) and e.function == "domain":
        with _domain(scope, e.type, x):
            yield x
        return
    if isinstance(e, s.Apply) and e.function == "range":
        low, high = _ends(scope, e)
        with b.count(x, high + 1, low):
            yield x
        return
    assert isinstance(t, m.SetType | m.ListType)
    if (numbers := too_many(scope, e)) is not None:
        with b.count(x, numbers.stop, numbers.start):
            yield x
        return
    if members := constants(scope, e):
        with b.for_each(x, members):
            yield x
        return
    if isinstance(t, m.ListType):
        place = b.name()
        with b.count(place, length_of(over, t)):
            b.set(x, item_of(scope, over, t, place))
            yield x
        return
    of = element_of(scope, t)
    if over == Int((1 << of.codes) - 1):
        with b.count(x, of.high + 1, of.low):
            yield x
        return
    # Element by element, not place by place: so the processor can foresee how often.
    rest = b.name()
    b.set(rest, over)
    with b.while_(rest):
        b.set(x, number_of(call("lowest", rest), of))
        b.update(rest, "&", rest - 1)
        yield x


def _ends(scope: Scope, e: s.Apply) -> tuple[Expr, Expr]:
    """The first and the last number of a range, both computed before the first turn."""
    low, high = e.arguments
    assert isinstance(e.type, m.SetType)
    assert isinstance(e.type.of, m.RangeType)
    if e.type.of.high - e.type.of.low >= MAX_VALUES:
        raise UnpackableError(f"a range of more than {MAX_VALUES} numbers")
    return scope.variable(low), scope.variable(high)


def too_many(scope: Scope, e: s.Expr) -> range | None:
    """The numbers of the instances in a set of the system or in all of a machine, where they are without gaps and too
    many for the bits of a word; else None. A loop counts through them, and nothing else can be done with them."""
    universe = scope.context.universe
    match e:
        case s.Instances(kind="group", name=name):
            numbers = sorted(universe.instances_called(name))
        case s.Instances(kind="machine", name=machine):
            numbers = sorted(universe.instances_of(machine))
        case _:
            return None
    gapless = range(numbers[0], numbers[-1] + 1) if numbers else range(0)
    return gapless if len(gapless) == len(numbers) > LARGEST else None


def constants(scope: Scope, e: s.Expr) -> list[int]:
    """The numbers in `{100, 200}` or `[3, 1]`, in the order of a loop, if there is nothing else."""
    if not isinstance(e, s.Collection) or not all(isinstance(x, s.Constant) for x in e.items):
        return []
    assert isinstance(e.type, m.SetType | m.ListType)
    of = e.type.of
    numbers = [to_number(of, x.value, scope.context.universe) for x in e.items if isinstance(x, s.Constant)]
    if e.kind == "list":
        return numbers
    return sorted(set(numbers), key=shape_of(scope, of).code)


@contextmanager
def _subsets(scope: Scope, over: Expr, e: s.Apply, x: Var) -> Iterator[None]:
    """All subsets of so many elements, `{c0, c1}` before `{c0, c2}`. `x` runs through them; what follows is computed
    before the body, so that the body may be left at any time: mostly the last element makes way for the next."""
    b = scope.builder
    size = scope.variable(e.arguments[1])
    following, last, next_one = b.name(), b.name(), b.name()
    b.set(following, call("first_subset", over, size))
    b.set(last, call("highest", following))
    with b.while_(following >= 0):
        b.set(x, following)
        b.set(next_one, over & -(last << 1))
        with b.if_(next_one):
            b.update(next_one, "&", -next_one)
            b.update(following, "^", last | next_one)
            b.set(last, next_one)
        with b.else_():
            b.set(following, call("next_subset", over, x))
            b.set(last, call("highest", following))
        yield


@contextmanager
def _domain(scope: Scope, t: m.Type, x: Var) -> Iterator[None]:
    """All values of a type, of which there is one at least."""
    b, layout, of = scope.builder, scope.context.layout, m.element_of(t)
    values = [to_number(of, v, layout.universe) for v in domain(of, layout.universe)]
    if values == [*range(values[0], values[0] + len(values))]:
        with b.for_each(x, values):
            yield
        return
    # Others are written down once and for all.
    first, n = layout.reserve(len(values)), b.name()
    layout.params.update(enumerate(values, first))
    with b.count(n, first + len(values), first):
        b.set(x, T[n])
        yield


# Instances -----------------------------------------------------------------------------------------------------------


def each_of(context: Context, machine: m.Machine, b: Builder) -> Inside:
    """A loop through the instances of a machine."""
    return b.for_each(AT, sorted(context.universe.instances_of(machine.qualified)))


def stretches(context: Context, machines: Sequence[m.Machine]) -> list[tuple[m.Machine, range]]:
    """All instances of some machines in the order in which they were made: stretches of one machine."""
    runs: list[tuple[m.Machine, range]] = []
    for machine, group in groupby(enumerate(context.universe.machines), lambda x: x[1]):
        numbers = [n for n, _ in group]
        if machine in machines:
            runs.append((machine, range(numbers[0], numbers[-1] + 1)))
    return runs
