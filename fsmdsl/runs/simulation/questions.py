"""What a system and its machines promise, and whether it is so in a world."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.explain import explain
from fsmdsl.step import FaultError, Universe, World, holds
from fsmdsl.step.evaluate import Frame


@dataclass(frozen=True, slots=True)
class ConditionValue:
    """An invariant or a `reachable` condition, and its value in a world. `why`: the parts of an invariant that fail."""

    kind: Literal["invariant", "reachable"]
    name: str
    holds: bool
    why: tuple[str, ...] = ()


def condition_values(universe: Universe, world: World) -> list[ConditionValue]:
    """The invariants and `reachable` conditions of a system, each with its value in a world."""
    values = [_invariant(universe, world, x, m.shown_name(x), [None]) for x in universe.system.invariants]
    for machine in dict.fromkeys(universe.machines):
        instances = [n for n, y in enumerate(universe.machines) if y is machine]
        values += [_invariant(universe, world, x, m.shown_name(x, machine), instances) for x in machine.invariants]
    for r in universe.system.reachables:
        values.append(ConditionValue("reachable", m.shown_name(r), _holds(universe, world, r.condition, None)))
    return values


def _invariant(
    universe: Universe, world: World, x: m.Invariant, name: str, instances: Sequence[int | None]
) -> ConditionValue:
    failing = [n for n in instances if not _holds(universe, world, x.condition, n)]
    return ConditionValue("invariant", name, not failing, tuple(_why(universe, world, x, failing)))


def _why(universe: Universe, world: World, x: m.Invariant, failing: Sequence[int | None]) -> Iterator[str]:
    for n in failing:
        whose = "" if n is None else f"in {universe.name(n)}: "
        yield from (whose + line for line in explain(Frame(universe, world, n), x.condition))


def _holds(universe: Universe, world: World, condition: m.Expr, instance: int | None) -> bool:
    try:
        return holds(universe, world, condition, instance=instance)
    except FaultError:
        return False
