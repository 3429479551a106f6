"""What `recovers on cells, user` compares: some fields of all instances, or all fields and states."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.dataclasses import NamedTuple
from fsmdsl.step import Universe, Value, World
from fsmdsl.step.describe import value_text


class Slot(NamedTuple):
    """A field of an instance, by its place; None: the state that the instance is in."""

    instance: int
    field: int | None


Projection = tuple[Value, ...]
"""What the slots hold in a world."""


def compared(universe: Universe, recovers: m.Recovers) -> tuple[Slot, ...]:
    """The slots, by instance."""
    states = not recovers.fields
    return tuple(
        slot
        for n, machine in enumerate(universe.machines)
        for slot in (
            *([Slot(n, None)] if states else []),
            *(Slot(n, k) for k, f in enumerate(machine.fields) if states or _matches_name(recovers.fields, machine, f)),
        )
    )


def not_there(universe: Universe, recovers: m.Recovers) -> tuple[str, ...]:
    """The names that are a field of no instance."""
    return tuple(
        name
        for name in recovers.fields
        if not any(_matches_name((name,), machine, f) for machine in universe.machines for f in machine.fields)
    )


def _matches_name(names: Sequence[str], machine: m.Machine, field: m.Field) -> bool:
    return any(x in names for x in (field.name, f"{machine.name}.{field.name}", f"{machine.qualified}.{field.name}"))


def slot_value(world: World, slot: Slot) -> Value:
    """The value of a slot in a world."""
    n, k = slot
    return world.states[n] if k is None else world.fields[n][k]


def projection(world: World, slots: Sequence[Slot]) -> Projection:
    """The values of all slots."""
    states, fields = world.states, world.fields
    return tuple([states[n] if k is None else fields[n][k] for n, k in slots])


# Words ---------------------------------------------------------------------------------------------------------------


def name(universe: Universe, slot: Slot) -> str:
    """`c0.user`, or `c0` where its state is meant."""
    n, k = slot
    return universe.name(n) if k is None else f"{universe.name(n)}.{universe.machines[n].fields[k].name}"


def value(universe: Universe, slot: Slot, x: Value) -> str:
    """The value of a slot, as the author would write it."""
    n, k = slot
    return str(x) if k is None else value_text(universe, universe.machines[n].fields[k].type, x)


def statement(universe: Universe, slot: Slot, x: Value) -> str:
    """`c0.user is g1`, `c0 is in Used`."""
    return f"{name(universe, slot)} {'is in' if slot.field is None else 'is'} {value(universe, slot, x)}"


def written(universe: Universe, slot: Slot, x: Value) -> str:
    """`c0.user = g1`, `c0 in Used`."""
    return f"{name(universe, slot)} {'in' if slot.field is None else '='} {value(universe, slot, x)}"


def changes(universe: Universe, slots: Sequence[Slot], before: Projection, after: Projection) -> str:
    """`c0.user from none to g1`, for all that differ."""
    parts = (
        f"{name(universe, slot)} from {value(universe, slot, x)} to {value(universe, slot, y)}"
        for slot, x, y in zip(slots, before, after, strict=True)
        if x != y
    )
    return ", ".join(parts)
