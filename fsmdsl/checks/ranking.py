"""Which of two transitions `priority` puts first."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.step.universe import trigger_name


def names(t: m.Transition) -> frozenset[str]:
    """By what a chain of `priority` can name a transition: its event, its label, derived values its guard asks for."""
    found = {trigger_name(t.trigger), t.label}
    if t.guard is not None:
        found.update(_conjuncts(t.guard))
    return frozenset(x for x in found if x)


def _conjuncts(guard: m.Expr) -> Iterator[str]:
    match guard:
        case m.Derived(name=name):
            yield name
        case m.Logic(operator="and", operands=operands):
            for x in operands:
                yield from _conjuncts(x)
        case _:
            return


def places(machine: m.Machine, t: m.Transition) -> tuple[int | None, ...]:
    """The place of a transition in each chain: the best of its names, or that of `*`; None where it has none."""
    known = names(t)
    return tuple(_place(chain, known) for chain in machine.priority)


def _place(chain: tuple[str, ...], known: frozenset[str]) -> int | None:
    return next((i for i, n in enumerate(chain) if n in known), chain.index("*") if "*" in chain else None)


def before(machine: m.Machine, a: m.Transition, b: m.Transition) -> bool:
    """Does `priority` put the first before the second, in some chain?"""
    if not machine.priority:
        return False
    pairs = zip(places(machine, a), places(machine, b), strict=True)
    return any(x is not None and y is not None and x < y for x, y in pairs)
