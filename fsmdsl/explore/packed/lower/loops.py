"""Loops over sets, lists and subsets, in the order of `step.values.elements`; subsets of a set in the order of their
numbers, for what comes of them does not depend on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fsmdsl import model as m
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.shapes import element


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
    if isinstance(t.of, m.NeverType):
        with w.block(f"for {x} in range(0):"):
            yield x
        return
    of = element(t.of, scope.context.universe)
    if isinstance(t, m.ListType):
        at, n = t.bound.bit_length(), w.name()
        with w.block(f"for {n} in range({over} & {(1 << at) - 1}):"):
            low = f" + {of.low}" if of.low else ""
            w.line(f"{x} = ({over} >> {at} + {n} * {of.bits} & {(1 << of.bits) - 1}){low}")
            yield x
        return
    if over == str((1 << of.codes) - 1):
        with w.block(f"for {x} in range({of.low}, {of.high + 1}):"):
            yield x
        return
    # Element by element, not place by place: so the processor can foresee how often.
    rest = w.name()
    w.line(f"{rest} = {over}")
    with w.block(f"while {rest}:"):
        w.line(f"{x} = lowest({rest})" + (f" + {of.low}" if of.low else ""))
        w.line(f"{rest} &= {rest} - 1")
        yield x


@contextmanager
def _subsets(scope: Scope, over: str, e: m.Apply, x: str) -> Iterator[None]:
    """All subsets of so many elements. `x` runs through them; it is moved on before the body, so that the body may be
    left at any time."""
    from fsmdsl.explore.packed.lower.expressions import value

    w = scope.writer
    size = w.named(value(scope, e.arguments[1]))
    following = w.name()
    w.line(f"{following} = first_subset({over}, {size})")
    with w.block(f"while {following} >= 0:"):
        w.line(f"{x} = {following}")
        w.line(f"{following} = next_subset({over}, {x})")
        yield
