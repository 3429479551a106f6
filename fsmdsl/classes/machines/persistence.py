"""Snapshots: what a machine saves, and how it comes back, within a step and as JSON."""

from __future__ import annotations

from fsmdsl.classes.machines.members import Member, method
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.text import indented, literal, tuple_of
from fsmdsl.classes.traits import snapshot_version
from fsmdsl.classes.types import decoded, encoded


def persistence(scope: Scope) -> list[Member]:
    """The methods of a machine. The snapshots of one that stands alone have a version of their own."""
    file, machine = scope.file, scope.own_machine
    data, saved = file.machinery("Data", typing=True), file.machinery("Saved", typing=True)
    slots = tuple_of(_slots(scope))
    alone = file.context.standalone(machine)
    file.library("collections.abc", "Mapping")
    file.library("typing", "Any")
    doc = "All that can change, as JSON has it."
    decode = f"def _decode(self, data: {data}, machines: Mapping[int, Any]) -> {saved}:"
    return [
        method(f"def snapshot(self) -> {data}:", doc, _encoding(scope, alone)),
        method("def _version(self) -> str:", "", ["return VERSION"]) if alone else [],
        method(decode, "", _decoding(scope)),
        method(f"def _save(self) -> {saved}:", "", [f"return {slots}"]),
        method(f"def _load(self, saved: {saved}) -> None:", "", [f"{slots} = saved"]),
    ]


def version_constant(scope: Scope) -> list[str]:
    """The version of the snapshots of a machine that stands alone."""
    of = snapshot_version([scope.own_machine])
    return [f'{scope.file.define("VERSION")}: {scope.file.library("typing", "Final")} = "{of}"']


def _slots(scope: Scope) -> list[str]:
    fields = [f"self.{scope.names.slot(f.name)}" for f in scope.own_machine.fields]
    return ["self._state", *fields, *(["self._wait"] if scope.waits else [])]


def _encoding(scope: Scope, alone: bool) -> list[str]:
    """Fields called `state` and the like do not stand in the way of what is always there."""
    timers = not alone and scope.file.context.traits(scope.own_machine.module).timers
    slots = ((f, f"self.{scope.names.slot(f.name)}") for f in scope.own_machine.fields)
    fields = [f"{literal(f.name)}: {encoded(scope.file, f.type, slot)}," for f, slot in slots]
    entries = [
        *(['"version": VERSION,'] if alone else []),
        '"state": self._state.value,',
        *(['"wait": self._wait,'] if scope.waits else []),
        *(['"fields": {', *indented(fields), "},"] if fields else []),
        *(['"timers": self._timers.remaining(self),'] if timers else []),
    ]
    return ["return {", *indented(entries), "}"]


def _decoding(scope: Scope) -> list[str]:
    machine, file = scope.own_machine, scope.file
    values = [f'{file.machinery("state_named")}({file.states_class(machine.qualified)}, data["state"])']
    values += (decoded(file, f.type, f'data["fields"][{literal(f.name)}]', f.name) for f in machine.fields)
    values += [f'{file.machinery("truth")}(data["wait"], "wait")'] if scope.waits else []
    return ["return (", *(f"    {v}," for v in values), ")"]
