"""Tests of a machine's state, in classes and in models of `transitions`."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl.classes.naming import state_path
from fsmdsl.classes.statements.code import Binds, Text
from fsmdsl.classes.statements.scope import Scope
from fsmdsl.classes.statements.text import literal


def state_test(
    scope: Scope, machine: m.Machine, target: str, own: bool, states: frozenset[str], positive: bool
) -> Text:
    """Is the machine with this name in one of these states, or (not `positive`) in none of them?"""
    if scope.file.context.dialect == "transitions":
        return _string_test(machine, target, states, positive)
    names = scope.file.context.machine(machine.qualified)
    composite = next((c for c in names.composites if set(machine.leaves_of(c)) == states), None)
    state = "self._state" if own else f"{target}.state"
    if composite is not None and len(states) > 1:
        if own:
            return Text(f"{state} {'in' if positive else 'not in'} {names.states[composite]}", Binds.COMPARISON)
        test = f"{target}.{names.composites[composite]}"
        return Text(test) if positive else Text(f"not {test}", Binds.NOT)
    if own and states >= {s.name for s in machine.leaves}:
        return Text(str(positive))
    prefix = "" if own and scope.machine == machine else f"{scope.file.states_class(machine.qualified)}."
    members = [f"{prefix}{names.states[s.name]}" for s in machine.leaves if s.name in states]
    if len(members) == 1:
        return Text(f"{state} {'is' if positive else 'is not'} {members[0]}", Binds.COMPARISON)
    return Text(f"{state} {'in' if positive else 'not in'} ({', '.join(members)})", Binds.COMPARISON)


def _string_test(machine: m.Machine, target: str, states: frozenset[str], positive: bool) -> Text:
    """A test of the state of a model of `transitions`."""
    members = [literal(state_path(machine, s.name)) for s in machine.leaves if s.name in states]
    if len(members) == 1:
        return Text(f"{target}.state {'==' if positive else '!='} {members[0]}", Binds.COMPARISON)
    return Text(f"{target}.state {'in' if positive else 'not in'} ({', '.join(members)})", Binds.COMPARISON)
