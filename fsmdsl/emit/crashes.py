"""What a crash does to a machine."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.emit.effects import statements
from fsmdsl.emit.members import Member, method, notes, table
from fsmdsl.emit.names import Namespace
from fsmdsl.emit.place import Place
from fsmdsl.emit.rows import triggers
from fsmdsl.emit.selection import Trigger, dispatch
from fsmdsl.emit.text import indented, literal


def crash_members(place: Place, waits: bool) -> list[Member]:
    """Which crash transition a machine takes; what it forgets; the transition."""
    machine = place.machine
    assert machine is not None
    found = triggers(machine, m.OnCrash)
    return [_choice(place, found), _forgetting(place, waits), _transition(place, found)]


def _choice(place: Place, found: list[m.Transition]) -> Member:
    machine, file = place.machine, place.file
    assert machine is not None
    fleeting = [x.name for x in machine.leaves if not lasts(machine, x.name)]
    if not found and not fleeting:
        return []
    why = f'raise {file.machinery("Lost")}(f"a crash finds {{self!r}}, and no crash transition leads on")'
    rows = _rows(found)
    trigger = Trigger("crash", place, (), lambda _place, _leaf, t: [f"return {literal(rows[t.index])}"], ['return ""'])
    lines = dispatch(trigger, {x: [why] for x in fleeting})
    return method("def _crash_row(self) -> str:", "", lines)


def _rows(found: list[m.Transition]) -> dict[int, str]:
    """What crash transitions are called."""
    space = Namespace(())
    return {t.index: space.claim(f"{t.source} -> {t.target or t.source}") for t in found}


def lasts(machine: m.Machine, leaf: str) -> bool:
    """Does a state survive a crash? The innermost state that says so decides."""
    for state in (machine.state_named[s] for s in machine.ancestors(leaf)):
        if state.persistent or state.volatile or state.transient:
            return state.persistent
    return True


def _forgetting(place: Place, waits: bool) -> Member:
    machine = place.machine
    assert machine is not None
    reset = [f"self.{place.names.slot(f.name)}" for f in machine.fields if not f.durable]
    lines = [f"{', '.join(reset)}{',' if len(reset) == 1 else ''} = self._first"] if reset else []
    lines = [f"({lines[0].replace(' = ', ') = ')}"] if len(reset) == 1 else lines
    lines += ["self._wait = True"] if waits else []
    return method("def _forget(self) -> None:", "", lines) if lines else []


def _transition(place: Place, found: list[m.Transition]) -> Member:
    """Its effects are assignments, and hooks do not run."""
    machine = place.machine
    if not found:
        return []
    assert machine is not None
    lines: list[str] = []
    rows = _rows(found)
    for t in found:
        target = "self._state" if t.target is None else place.names.states[machine.entered(t.target)]
        code = [*notes(t), f'self._follow({literal(t.name)}, "crash", {target})', *statements(place, t.effects)]
        code += [] if t.target is None else [f"self._state = {target}"]
        lines += [f"{'elif' if lines else 'if'} row == {literal(rows[t.index])}:", *indented(code)]
    return method("def _crash(self, row: str) -> None:", f"A restart of the whole system.\n\n{table(found)}", lines)
