"""Which states a name in a state test means."""

from __future__ import annotations

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.resolve.scope import MachineNames, Scope, unknown


def leaves(state: s.StateDecl) -> frozenset[str]:
    """The leaves inside a state; a leaf is its own."""
    if not state.children:
        return frozenset({state.name.text})
    return frozenset[str]().union(*(leaves(c) for c in state.children))


def lasting(machine: MachineNames) -> list[str]:
    """The states that `*` stands for: all leaves that are not final."""
    return [x.name.text for x in machine.states.values() if not x.children and "final" not in x.flags]


def machine_of(scope: Scope, t: m.Type) -> MachineNames | None:
    """The machine that a reference refers to."""
    return scope.module.program.machines.get(t.machine) if isinstance(t, m.RefType) else None


def states_meant(scope: Scope, t: m.Type, of: s.Expr) -> frozenset[str] | None:
    """The leaves meant by `Used` or `{Used, Reserving}`, or None if `of` is a set or list of values.

    A name that stands for a value here is that value. A name that is neither a value nor a state is reported.
    """
    machine = machine_of(scope, t)
    names = (
        [of] if isinstance(of, s.Name) else list(of.items) if isinstance(of, s.Collection) and of.kind == "set" else []
    )
    if machine is None or not names or not all(isinstance(n, s.Name) and not scope.holds(n.text) for n in names):
        return None
    meant: frozenset[str] = frozenset()
    for n in names:
        assert isinstance(n, s.Name)
        if n.text in machine.states:
            scope.note(n, "state", machine.qualified)
            meant |= leaves(machine.states[n.text])
        else:
            kind = f"state of {machine.decl.name.text}"
            scope.report(unknown(kind, n.text, n.span, tuple(machine.states)))
    return meant
