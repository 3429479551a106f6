"""Model values converted to plain Python values, for code that does not know the model."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import timedelta
from enum import Enum

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.step import Universe, Value, World
from fsmdsl.step.data import RecordValue, Table


class InstanceName(str):
    """The name of an instance, where a value refers to one."""

    __slots__ = ()

    __repr__ = str.__repr__


@dataclass(frozen=True, slots=True, eq=False)
class RecordParts(Mapping[str, object]):
    """The parts of a record, by name, which can be an element of a set."""

    items_: tuple[tuple[str, object], ...]

    def __getitem__(self, name: str) -> object:
        return dict(self.items_)[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.items_)

    def __len__(self) -> int:
        return len(self.items_)

    def __hash__(self) -> int:
        return hash(self.items_)

    def __repr__(self) -> str:
        return repr(dict(self.items_))


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance as it begins. Other instances go by their names, durations are seconds, members of enumerations and
    states are text, sets are frozensets, lists tuples, records mappings."""

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
    return {p.name: plain_value(universe, p.type, universe.params[n][p.name]) for p in universe.machines[n].params}


def fields(universe: Universe, world: World, n: int) -> dict[str, object]:
    """The fields of an instance, by name."""
    pairs = zip(universe.machines[n].fields, world.fields[n], strict=True)
    return {f.name: plain_value(universe, f.type, value) for f, value in pairs}


def arguments_by_name(
    universe: Universe, parameters: Sequence[m.Variable], values: Sequence[Value]
) -> dict[str, object]:
    """Arguments, by the names of the parameters."""
    return {p.name: plain_value(universe, p.type, value) for p, value in zip(parameters, values, strict=True)}


def plain_value(universe: Universe, t: m.Type, value: Value) -> object:
    """A model value as a plain Python value."""
    match t, value:
        case _, None:
            return None
        case m.OptionalType(of), _:
            return plain_value(universe, of, value)
        case m.RefType(), int():
            return InstanceName(universe.name(value))
        case m.DurationType(), int():
            return value / 1000
        case m.RecordType(parts=parts), RecordValue(values):
            pairs = zip(parts, values, strict=True)
            return RecordParts(tuple((name, plain_value(universe, of, x)) for (name, of), x in pairs))
        case m.SetType(of), frozenset():
            return frozenset(plain_value(universe, of, x) for x in value)
        case m.ListType(of=of), tuple():
            return tuple(plain_value(universe, of, x) for x in value)
        case m.MapType(key, of), Table(entries):
            return {plain_value(universe, key, k): plain_value(universe, of, x) for k, x in entries}
        case _:
            return value


def same(expected: object, value: object, names: Mapping[int, str]) -> bool:
    """Is a value of an implementation that of the model? Objects stand for the instances that `names` has for their
    `id`, members of enumerations for their names or values, `timedelta` for seconds. A collection of the same members
    is a set (one that has a member twice is none), any sequence a list, a mapping or an object with the attributes a
    record."""
    if id(value) in names:
        return expected == names[id(value)]
    match expected, value:
        case _, Enum():
            return expected in (value.name, value.value)
        case _, timedelta():
            return expected == value.total_seconds()
        case (str(), _) | (_, str()):
            return expected == value
        case AbstractSet(), Collection():
            return len(expected) == len(value) and all(any(same(x, y, names) for y in value) for x in expected)
        case RecordParts(), _ if not isinstance(value, Mapping):
            return all(hasattr(value, name) and same(x, getattr(value, name), names) for name, x in expected.items())
        case Mapping(), Mapping():
            return len(expected) == len(value) and all(
                any(same(key, k, names) and same(x, y, names) for k, y in value.items()) for key, x in expected.items()
            )
        case Sequence(), Sequence():
            return len(expected) == len(value) and all(same(x, y, names) for x, y in zip(expected, value, strict=True))
        case _:
            return expected == value
