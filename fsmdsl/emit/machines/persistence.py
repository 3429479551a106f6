"""Snapshots: what a machine saves, and how it comes back, within a step and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256

from fsmdsl import model as m
from fsmdsl.emit.machines.members import Member, method
from fsmdsl.emit.statements.expression_context import Place
from fsmdsl.emit.statements.text import indented, literal, tuple_of
from fsmdsl.emit.types import decoded, encoded


def persistence(place: Place, waits: bool, timers: bool, *first: str) -> list[Member]:
    """The methods of a machine in a system. `first`: what else its snapshot begins with."""
    file = place.file
    data, saved = file.machinery("Data", typing=True), file.machinery("Saved", typing=True)
    slots = _slots(place, waits)
    extra = ['"timers": self._system.remaining(self),'] if timers else []
    file.library("collections.abc", "Mapping")
    file.library("typing", "Any")
    doc = "All that can change, as JSON has it."
    decode = f"def _decode(self, data: {data}, machines: Mapping[int, Any]) -> {saved}:"
    return [
        method(f"def snapshot(self) -> {data}:", doc, _encoding(place, waits, first, extra)),
        method(decode, "", _decoding(place, waits)),
        method(f"def _save(self) -> {saved}:", "", [f"return {tuple_of(slots)}"]),
        method(f"def _load(self, saved: {saved}) -> None:", "", [f"{tuple_of(slots)} = saved"]),
    ]


def standalone_persistence(place: Place) -> list[Member]:
    """The methods of a machine that stands alone. Its snapshots have a version of their own."""
    given = '"version": VERSION,'
    snapshot, *others = persistence(place, False, False, given)
    version = method("def _version(self) -> str:", "", ["return VERSION"])
    return [snapshot, version, *others]


def version_constant(place: Place) -> list[str]:
    """The version of the snapshots of a machine that stands alone."""
    of = version([place.own_machine])
    return [f'{place.file.define("VERSION")}: {place.file.library("typing", "Final")} = "{of}"']


def version(machines: Iterable[m.Machine]) -> str:
    """Of snapshots: another one where states, fields or their types differ."""
    shapes = [(x.qualified, [s.name for s in x.leaves], [(f.name, repr(f.type)) for f in x.fields]) for x in machines]
    return sha256(repr(sorted(shapes)).encode()).hexdigest()[:12]


def _slots(place: Place, waits: bool) -> list[str]:
    fields = [f"self.{place.names.slot(f.name)}" for f in place.own_machine.fields]
    return ["self._state", *fields, *(["self._wait"] if waits else [])]


def _encoding(place: Place, waits: bool, first: Sequence[str], extra: list[str]) -> list[str]:
    """Fields called `state` and the like do not stand in the way of what is always there."""
    head = [*first, '"state": self._state.value,', *(['"wait": self._wait,'] if waits else [])]
    slots = ((f, f"self.{place.names.slot(f.name)}") for f in place.own_machine.fields)
    fields = [f"{literal(f.name)}: {encoded(place.file, f.type, slot)}," for f, slot in slots]
    apart = ['"fields": {', *indented(fields), "},"] if fields else []
    return ["return {", *indented([*head, *apart, *extra]), "}"]


def _decoding(place: Place, waits: bool) -> list[str]:
    values = _decoded(place) + (['data["wait"]'] if waits else [])
    return ["return (", *(f"    {v}," for v in values), ")"]


def _decoded(place: Place) -> list[str]:
    machine, file = place.own_machine, place.file
    out = [f'{file.machinery("state_named")}({file.states_class(machine.qualified)}, data["state"])']
    for f in machine.fields:
        out.append(decoded(file, f.type, f'data["fields"][{literal(f.name)}]', f.name))
    return out
