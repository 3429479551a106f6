"""Snapshots: what a machine saves, and how it comes back, within a step and as JSON."""

from __future__ import annotations

from fsmdsl.emit.members import Member, method
from fsmdsl.emit.place import Place
from fsmdsl.emit.text import indented, literal, tuple_of
from fsmdsl.emit.types import decoded, encoded


def persistence(place: Place, waits: bool, timers: bool) -> list[Member]:
    """The methods of a machine in a system."""
    file = place.file
    data, saved = file.machinery("Data", typing=True), file.machinery("Saved", typing=True)
    slots = _slots(place, waits)
    extra = ['"timers": self._system.remaining(self),'] if timers else []
    file.library("collections.abc", "Mapping")
    file.library("typing", "Any")
    doc = "All that can change, as JSON has it."
    decode = f"def _decode(self, data: {data}, machines: Mapping[int, Any]) -> {saved}:"
    return [
        method(f"def snapshot(self) -> {data}:", doc, _encoding(place, waits, extra)),
        method(decode, "", _decoding(place, waits)),
        method(f"def _save(self) -> {saved}:", "", [f"return {tuple_of(slots)}"]),
        method(f"def _load(self, saved: {saved}) -> None:", "", [f"{tuple_of(slots)} = saved"]),
    ]


def standalone_persistence(place: Place) -> list[Member]:
    """The methods of a machine that stands alone."""
    data = place.file.machinery("Data", typing=True)
    slots = _slots(place, False)
    values = _decoded(place)
    back = (
        [f"{slots[0]} = {values[0]}"]
        if len(slots) == 1
        else [f"found = {tuple_of(values)}", f"{tuple_of(slots)} = found"]
    )
    return [
        method(f"def snapshot(self) -> {data}:", "All that can change, as JSON has it.", _encoding(place, False, [])),
        method(f"def restore(self, data: {data}) -> None:", "Back to a snapshot.", back),
    ]


def _slots(place: Place, waits: bool) -> list[str]:
    fields = [f"self.{place.names.slot(f.name)}" for f in place.own_machine.fields]
    return ["self._state", *fields, *(["self._wait"] if waits else [])]


def _encoding(place: Place, waits: bool, extra: list[str]) -> list[str]:
    """Fields called `state` and the like do not stand in the way of what is always there."""
    head = ['"state": self._state.value,', *(['"wait": self._wait,'] if waits else [])]
    slots = ((f, f"self.{place.names.slot(f.name)}") for f in place.own_machine.fields)
    fields = [f"{literal(f.name)}: {encoded(f.type, slot)}," for f, slot in slots]
    apart = ['"fields": {', *indented(fields), "},"] if fields else []
    return ["return {", *indented([*head, *apart, *extra]), "}"]


def _decoding(place: Place, waits: bool) -> list[str]:
    values = _decoded(place) + (['data["wait"]'] if waits else [])
    return ["return (", *(f"    {v}," for v in values), ")"]


def _decoded(place: Place) -> list[str]:
    machine, file = place.own_machine, place.file
    out = [f'{file.states_class(machine.qualified)}(data["state"])']
    for f in machine.fields:
        out.append(decoded(file, f.type, f'data["fields"][{literal(f.name)}]'))
    return out
