"""How often transitions are followed and states inhabited, in a program that is to count it.

The transitions that a step follows are bits of a mask, which is part of what a step begins with: it is empty at the
beginning of each, and what a step does on trial leaves nothing in it. They are added to the totals where the step
arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_

from fsmdsl import model as m
from fsmdsl.program.builder import Builder, function, rows
from fsmdsl.program.nodes import ONE, ZERO, Expr, Function, Var, all_of, any_of, call
from fsmdsl.search import layout as layouts
from fsmdsl.search.layout import Layout, Totals, kinds
from fsmdsl.search.lower.context import AT, Context, S, T
from fsmdsl.search.shapes import LARGEST

LEFT = Var("left")


def follow(layout: Layout, key: tuple[str, int], b: Builder) -> None:
    """Note in the step's mask that it follows a transition, if that is counted."""
    totals = layout.totals
    if totals is not None:
        word, bit = divmod(totals.followed[key] - totals.first, layouts.PER_WORD)
        b.update(T[totals.mask + word], "|", 1 << bit)


def add_followed(layout: Layout, change: Expr, b: Builder) -> None:
    """Add the transitions of the mask to the totals, if they are counted, at the end of a step."""
    totals = layout.totals
    if totals is None:
        return
    for k in range(totals.words):
        b.set(LEFT, T[totals.mask + k])
        _add_bits(totals.first + k * layouts.PER_WORD, change, b)


def _add_bits(first: int, change: Expr, b: Builder) -> None:
    """Add to the place of each bit of `left`."""
    with b.while_(LEFT):
        b.update(T[call("lowest", LEFT) + first], "+", change)
        b.update(LEFT, "&", LEFT - 1)


def inhabit(context: Context, change: Expr) -> list[Function]:
    """`inhabit`, if that is counted: adds the states of machines in which there are instances."""
    totals, b = context.layout.totals, Builder()
    if totals is None:
        return []
    for machine in kinds(context.universe):
        _inhabit_machine(context, machine, totals, change, b)
    return [function("inhabit", rows("s", "t"), b.block, "In which states of machines are instances?")]


def _inhabit_machine(context: Context, machine: m.Machine, totals: Totals, change: Expr, b: Builder) -> None:
    instances = sorted(context.universe.instances_of(machine.qualified))
    state = S[context.column(machine.qualified, "") + AT]
    masks = [b.name() for _ in range(0, len(machine.leaves), LARGEST)]
    for mask in masks:
        b.set(mask, ZERO)
    with b.for_each(AT, instances):
        for k, mask in enumerate(masks):
            first = k * LARGEST
            with b.if_(all_of([state >= first, state < first + LARGEST])):
                b.update(mask, "|", ONE << state - first)
    for s in (x.name for x in machine.states if x.name not in machine.leaf_numbers):
        numbers = [machine.leaf_numbers[x] for x in machine.leaves_of(s)]
        with b.if_(_among(masks, numbers)):
            b.update(T[totals.inhabited[machine.qualified, s]], "+", change)
    for k, mask in enumerate(masks):
        b.set(LEFT, mask)
        _add_bits(totals.inhabited[machine.qualified, machine.leaves[k * LARGEST].name], change, b)


def _among(masks: Sequence[Var], numbers: Sequence[int]) -> Expr:
    """Is one of the bits with these numbers set?"""
    parts = []
    for k, mask in enumerate(masks):
        bits = reduce(or_, (1 << n - k * LARGEST for n in numbers if n // LARGEST == k), 0)
        parts += [(mask & bits).differs(0)] if bits else []
    return any_of(parts)
