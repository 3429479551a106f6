"""Symmetric sets, and types that refer to their members."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.typing import bare, referred
from fsmdsl.step.instances import Roster


@dataclass(frozen=True, slots=True)
class SymmetricSet:
    """Instances that a system says are interchangeable: those with the numbers from `first` on."""

    name: str
    machine: str
    """Qualified."""
    first: int
    count: int

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.count)

    @property
    def bits(self) -> int:
        """The members, each as the bit of its number."""
        return (1 << self.count) - 1 << self.first


def symmetric_sets(roster: Roster) -> Iterator[SymmetricSet]:
    """Those of a system with more than one member."""
    for x in roster.system.groups:
        if x.symmetric and x.count > 1:
            yield SymmetricSet(x.name, x.machine, min(roster.instances_called(x.name)), x.count)


def mentions(t: m.Type, machine: str) -> bool:
    """Can a value of a type refer to an instance of a machine?"""
    return machine in referred(t)


def unordered(t: m.Type, machine: str) -> bool:
    """Has a value of a type a set of records that refer to instances of a machine?"""
    match t:
        case m.SetType(of) if isinstance(bare(of), m.RecordType):
            return mentions(of, machine)
        case m.OptionalType(of) | m.SetType(of) | m.ListType(of) | m.MapType(of=of):
            return unordered(of, machine)
        case m.RecordType(parts=parts):
            return any(unordered(of, machine) for _, of in parts)
        case _:
            return False


def is_reference(t: m.Type) -> bool:
    """Is a value of a type an instance, or none?"""
    return isinstance(t, m.RefType) or (isinstance(t, m.OptionalType) and isinstance(t.of, m.RefType))
