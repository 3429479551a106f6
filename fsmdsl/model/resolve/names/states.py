"""Which states a name in a state test means, and the type whose values are the states of a machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.model.resolve.names.scope import MachineNames, Scope, unknown


def leaves(state: s.StateDecl) -> frozenset[str]:
    """The leaves inside a state; a leaf is its own."""
    return frozenset(x.name.text for x in leaves_in_order([state]))


def leaves_in_order(states: Iterable[s.StateDecl]) -> Iterator[s.StateDecl]:
    """The leaves of states, as they are declared."""
    for x in states:
        yield from leaves_in_order(x.children) if x.children else (x,)


def lasting(machine: MachineNames) -> list[str]:
    """The states that `*` stands for: all leaves that are not final."""
    return [x.name.text for x in machine.states.values() if not x.children and "final" not in x.flags]


def machine_of(scope: Scope, t: m.Type) -> MachineNames | None:
    """The machine that a reference refers to."""
    return scope.module.program.machines.get(t.machine) if isinstance(t, m.RefType) else None


def state_named(scope: Scope, machine: MachineNames, name: s.Name) -> s.StateDecl | None:
    """The state that is called so; reports when there is none."""
    return _state(scope, machine, name, machine.decl.name.text)


def own_state(scope: Scope, name: s.Name) -> s.StateDecl | None:
    """The state of the machine itself that is called so; reports when there is none."""
    assert scope.machine is not None
    return _state(scope, scope.machine, name, None)


def _state(scope: Scope, machine: MachineNames, name: s.Name, of: str | None) -> s.StateDecl | None:
    state = machine.states.get(name.text)
    if state is None:
        scope.report(unknown("state", name.text, name.span, tuple(machine.states), of))
    else:
        scope.note(name, "state", machine.qualified)
    return state


def entered(states: Iterable[s.StateDecl]) -> str:
    """The leaf that is entered through initial states, of one state or of several beside each other; an empty name
    where there is none."""
    siblings = list(states)
    at = siblings[0] if len(siblings) == 1 else next((x for x in siblings if "initial" in x.flags), None)
    while at is not None and at.children:
        at = next((x for x in at.children if "initial" in x.flags), None)
    return "" if at is None else at.name.text


def staying(states: Iterable[s.StateDecl]) -> frozenset[str]:
    """The leaves in which an instance can stay."""
    return frozenset(x.name.text for x in leaves_in_order(states) if "transient" not in x.flags)


def state_type(machine: MachineNames) -> m.EnumType:
    """`state of Pod`. It begins as the leaf in which an instance does. No enum has such a name."""
    members = tuple(dict.fromkeys(x.name.text for x in leaves_in_order(machine.top)))
    first = entered(machine.top)
    name = f"{machine.module.name}.state of {machine.decl.name.text}"
    return m.EnumType(name, members, False, machine.qualified, members.index(first) if first else 0)


def states_meant(scope: Scope, t: m.Type, of: s.Expr) -> frozenset[str] | None:
    """The leaves meant by `Used` or `{Used, Reserving}` behind `in`, where an instance or a state is before it; None if
    `of` is a set or list of values.

    A name that stands for a value here is that value. A name that is neither a value nor a state is reported.
    """
    machine = scope.module.program.machines.get(t.machine) if isinstance(t, m.RefType | m.EnumType) else None
    names = (
        [of] if isinstance(of, s.Name) else list(of.items) if isinstance(of, s.Collection) and of.kind == "set" else []
    )
    if machine is None or not names or not all(isinstance(n, s.Name) and not scope.holds(n.text) for n in names):
        return None
    leaf_names: frozenset[str] = frozenset()
    for n in names:
        assert isinstance(n, s.Name)
        state = state_named(scope, machine, n)
        leaf_names |= frozenset() if state is None else leaves(state)
    return leaf_names


def note_member(scope: Scope, n: s.Name, t: m.EnumType) -> None:
    """Keep that a name is a member of an enum, or a state as a value."""
    scope.note(n, "state" if t.machine else "member", t.machine or t.name)
