"""What a crash does to a machine."""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.classes.machines.members import Member, method, notes, table
from fsmdsl.classes.names import Namespace
from fsmdsl.classes.statements.code import Block, Branch, If, Text
from fsmdsl.classes.statements.effects import statements
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.selection import Trigger, dispatch
from fsmdsl.classes.statements.text import literal
from fsmdsl.core.selection import Move
from fsmdsl.core.triggers import CRASH, triggered_by


def crash_members(scope: Scope) -> list[Member]:
    """Which crash transition a machine takes; what it forgets; the transition."""
    machine = scope.own_machine
    transitions = triggered_by(machine, m.OnCrash)
    return [_choice(scope, transitions), _forgetting(scope), _transition(scope, transitions)]


def _choice(scope: Scope, transitions: Sequence[m.Transition]) -> Member:
    machine, file = scope.own_machine, scope.file
    hierarchy = scope.selection.hierarchy
    fleeting = [x.name for x in machine.leaves if hierarchy.endurance(x.name) in ("volatile", "transient")]
    if not transitions and not fleeting:
        return []
    rows = _rows(transitions)

    def follow(_: Scope, move: Move) -> Block:
        return (f"return {literal(rows[move.transition.index])}",)

    trigger = Trigger(CRASH, scope, (), follow, lambda: ('return ""',))

    def lost() -> Block:
        why = 'f"a crash finds {self!r}, but no `on crash` transition leaves its state"'
        return (f"raise {file.machinery('Lost')}({why})",)

    return method("def _crash_row(self) -> str:", "", dispatch(trigger, dict.fromkeys(fleeting, lost)))


def _rows(transitions: Sequence[m.Transition]) -> dict[int, str]:
    """What crash transitions are called."""
    space = Namespace(())
    return {t.index: space.claim(f"{t.source} -> {t.target or t.source}") for t in transitions}


def _forgetting(scope: Scope) -> Member:
    machine = scope.own_machine
    reset = [f"self.{scope.names.slot(f.name)}" for f in machine.fields if not f.durable]
    targets = f"({reset[0]},)" if len(reset) == 1 else ", ".join(reset)
    lines = [f"{targets} = self._first"] if reset else []
    lines += ["self._wait = True"] if scope.waits else []
    return method("def _forget(self) -> None:", "", lines) if lines else []


def _transition(scope: Scope, transitions: Sequence[m.Transition]) -> Member:
    """Its effects are assignments, and hooks do not run."""
    if not transitions:
        return []
    branches: list[Branch] = []
    rows = _rows(transitions)
    for t in transitions:
        target = "self._state" if t.target is None else scope.names.states[scope.selection.hierarchy.entered[t.target]]
        follow = f'self._follow({literal(t.name)}, "crash", {target})'
        arrive = () if t.target is None else (f"self._state = {target}",)
        body = (*notes(t), follow, *statements(scope, t.effects), *arrive)
        branches.append(Branch(Text(f"row == {literal(rows[t.index])}"), body))
    doc = f"A restart of the whole system.\n\n{table(transitions)}"
    return method("def _crash(self, row: str) -> None:", doc, [If(tuple(branches))])
