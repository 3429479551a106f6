"""Values of a model as somebody else's code would like to have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fsmdsl import model as m
from fsmdsl.step import Universe, Value, World


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance as it begins. Other instances go by their names, durations are seconds, members of enumerations and
    states are text, sets are frozensets, lists tuples."""

    name: str
    machine: str
    state: str
    parameters: Mapping[str, object]
    fields: Mapping[str, object]


def instances(universe: Universe) -> tuple[Instance, ...]:
    """All that a system begins with."""
    start = universe.start
    return tuple(
        Instance(universe.name(n), machine.name, start.states[n], _parameters(universe, n), fields(universe, start, n))
        for n, machine in enumerate(universe.machines)
    )


def _parameters(universe: Universe, n: int) -> dict[str, object]:
    return {p.name: outward(universe, p.type, universe.params[n][p.name]) for p in universe.machines[n].params}


def fields(universe: Universe, world: World, n: int) -> dict[str, object]:
    """The fields of an instance, by name."""
    pairs = zip(universe.machines[n].fields, world.fields[n], strict=True)
    return {f.name: outward(universe, f.type, value) for f, value in pairs}


def named(universe: Universe, parameters: Sequence[m.Variable], values: Sequence[Value]) -> dict[str, object]:
    """Arguments, by the names of the parameters."""
    return {p.name: outward(universe, p.type, value) for p, value in zip(parameters, values, strict=True)}


def outward(universe: Universe, t: m.Type, value: Value) -> object:
    """One value."""
    match t, value:
        case _, None:
            return None
        case m.OptionalType(of), _:
            return outward(universe, of, value)
        case m.RefType(), int():
            return universe.name(value)
        case m.DurationType(), int():
            return value / 1000
        case m.SetType(of), frozenset():
            return frozenset(outward(universe, of, x) for x in value)
        case m.ListType(of=of), tuple():
            return tuple(outward(universe, of, x) for x in value)
        case _:
            return value
