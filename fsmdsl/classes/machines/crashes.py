"""What a crash does to a machine."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.classes.machines.members import Member, method, notes, table
from fsmdsl.classes.names import Namespace
from fsmdsl.classes.statements.code import Block, Branch, If, Text
from fsmdsl.classes.statements.effects import statements
from fsmdsl.classes.statements.expression_context import Place
from fsmdsl.classes.statements.selection import Trigger, dispatch
from fsmdsl.classes.statements.text import literal
from fsmdsl.core.selection import Move
from fsmdsl.core.triggers import CRASH, triggered_by


def crash_members(place: Place) -> list[Member]:
    """Which crash transition a machine takes; what it forgets; the transition."""
    machine = place.own_machine
    found = triggered_by(machine, m.OnCrash)
    return [_choice(place, found), _forgetting(place), _transition(place, found)]


def _choice(place: Place, found: Sequence[m.Transition]) -> Member:
    machine, file = place.own_machine, place.file
    hierarchy = place.selection.hierarchy
    fleeting = [x.name for x in machine.leaves if hierarchy.endurance(x.name) in ("volatile", "transient")]
    if not found and not fleeting:
        return []
    rows = _rows(found)

    def follow(_: Place, move: Move) -> Block:
        return (f"return {literal(rows[move.transition.index])}",)

    trigger = Trigger(CRASH, place, (), follow, lambda: ('return ""',))

    def lost() -> Block:
        why = 'f"a crash finds {self!r}, and no crash transition leads on"'
        return (f"raise {file.machinery('Lost')}({why})",)

    return method("def _crash_row(self) -> str:", "", dispatch(trigger, dict.fromkeys(fleeting, lost)))


def _rows(found: Sequence[m.Transition]) -> dict[int, str]:
    """What crash transitions are called."""
    space = Namespace(())
    return {t.index: space.claim(f"{t.source} -> {t.target or t.source}") for t in found}


def _forgetting(place: Place) -> Member:
    machine = place.own_machine
    reset = [f"self.{place.names.slot(f.name)}" for f in machine.fields if not f.durable]
    targets = f"({reset[0]},)" if len(reset) == 1 else ", ".join(reset)
    lines = [f"{targets} = self._first"] if reset else []
    lines += ["self._wait = True"] if place.waits else []
    return method("def _forget(self) -> None:", "", lines) if lines else []


def _transition(place: Place, found: Sequence[m.Transition]) -> Member:
    """Its effects are assignments, and hooks do not run."""
    if not found:
        return []
    branches: list[Branch] = []
    rows = _rows(found)
    for t in found:
        target = "self._state" if t.target is None else place.names.states[place.selection.hierarchy.entered[t.target]]
        follow = f'self._follow({literal(t.name)}, "crash", {target})'
        arrive = () if t.target is None else (f"self._state = {target}",)
        body = (*notes(t), follow, *statements(place, t.effects), *arrive)
        branches.append(Branch(Text(f"row == {literal(rows[t.index])}"), body))
    doc = f"A restart of the whole system.\n\n{table(found)}"
    return method("def _crash(self, row: str) -> None:", doc, [If(tuple(branches))])
