"""Loops over sets, lists and subsets, in the order of `step.values.elements`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fsmdsl import model as m
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.lower.convert import decoded, element_of, item_of, shape_of
from fsmdsl.explore.packed.shapes import to_number


@contextmanager
def loop(scope: Scope, t: m.Type, over: str, e: m.Expr | None = None) -> Iterator[str]:
    """Writes the head of a loop through what `over` names; the body gets the name of the item. `break` leaves it."""
    w = scope.writer
    x = w.name()
    if isinstance(e, m.Apply) and e.function == "subsets":
        with _subsets(scope, over, e, x):
            yield x
        return
    assert isinstance(t, m.SetType | m.ListType)
    if listed := constants(scope, e):
        with w.block(f"for {x} in ({', '.join(map(str, listed))},):"):
            yield x
        return
    if isinstance(t.of, m.NeverType):
        with w.block(f"for {x} in range(0):"):
            yield x
        return
    if isinstance(t, m.ListType):
        n = w.name()
        with w.block(f"for {n} in range({over} & {(1 << t.bound.bit_length()) - 1}):"):
            w.line(f"{x} = {item_of(scope, over, t, n)}")
            yield x
        return
    of = element_of(scope, t)
    if over == str((1 << of.codes) - 1) and of.none is None:
        with w.block(f"for {x} in range({of.low}, {of.high + 1}):"):
            yield x
        return
    # Element by element, not place by place: so the processor can foresee how often.
    rest = w.name()
    w.line(f"{rest} = {over}")
    with w.block(f"while {rest}:"):
        w.line(f"{x} = {decoded(scope, f'lowest({rest})', of)}")
        w.line(f"{rest} &= {rest} - 1")
        yield x


def constants(scope: Scope, e: m.Expr | None) -> list[int]:
    """The numbers in `{100, 200}` or `[3, 1]`, in the order of a loop, if there is nothing else."""
    if not isinstance(e, m.Collection) or not all(isinstance(x, m.Constant) for x in e.items):
        return []
    assert isinstance(e.type, m.SetType | m.ListType)
    of = e.type.of
    numbers = [to_number(of, x.value, scope.context.universe) for x in e.items if isinstance(x, m.Constant)]
    if e.kind == "list":
        return numbers
    return sorted(set(numbers), key=shape_of(scope, of).code)


@contextmanager
def _subsets(scope: Scope, over: str, e: m.Apply, x: str) -> Iterator[None]:
    """All subsets of so many elements, `{c0, c1}` before `{c0, c2}`. `x` runs through them; what follows is found
    before the body, so that the body may be left at any time: mostly the last element makes way for the next."""
    from fsmdsl.explore.packed.lower.expressions import value

    w = scope.writer
    size = w.named(value(scope, e.arguments[1]))
    following, last, next_one = w.name(), w.name(), w.name()
    w.line(f"{following} = first_subset({over}, {size})")
    w.line(f"{last} = highest({following})")
    with w.block(f"while {following} >= 0:"):
        w.line(f"{x} = {following}")
        w.line(f"{next_one} = {over} & -({last} << 1)")
        with w.block(f"if {next_one}:"):
            w.line(f"{next_one} &= -{next_one}")
            w.line(f"{following} ^= {last} | {next_one}")
            w.line(f"{last} = {next_one}")
        with w.block("else:"):
            w.line(f"{following} = next_subset({over}, {x})")
            w.line(f"{last} = highest({following})")
        yield
