"""The states of a machine inside one another: what is around a leaf, what a transition leaves and what it enters."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from fsmdsl import model as m

Endurance = Literal["persistent", "volatile", "transient"]
"""What a state says of a crash: the instance stays in it, falls back, or must not be found in it."""


class Hierarchy:
    """One machine's states. Each table is made when it is first used, in time proportional to what it holds."""

    def __init__(self, machine: m.Machine) -> None:
        self.machine = machine

    @cached_property
    def around(self) -> Mapping[str, tuple[str, ...]]:
        """Each state: itself, then the composites around it, innermost first."""
        enclosing: dict[str, tuple[str, ...]] = {}
        for state in self.machine.states:  # a composite stands before its children
            enclosing[state.name] = (state.name, *(enclosing[state.parent] if state.parent is not None else ()))
        return enclosing

    @cached_property
    def inside(self) -> Mapping[str, tuple[str, ...]]:
        """The leaves in each state; a leaf is in itself."""
        leaves_of: dict[str, list[str]] = {s.name: [] for s in self.machine.states}
        for leaf in self.machine.leaves:
            for state in self.around[leaf.name]:
                leaves_of[state].append(leaf.name)
        return {state: tuple(leaves) for state, leaves in leaves_of.items()}

    @cached_property
    def entered(self) -> Mapping[str, str]:
        """The leaf that a transition to each state arrives in; a composite without an initial child has none."""
        arrivals: dict[str, str] = {}
        for state in reversed(self.machine.states):
            first = next((c for c in state.children if self.machine.state_named[c].initial), None)
            if not state.children or first is not None:
                arrivals[state.name] = arrivals[first] if first is not None else state.name
        return arrivals

    def arrival(self, t: m.Transition) -> str | None:
        """The leaf that a transition ends in; None if it is internal."""
        return None if t.target is None else self.entered[t.target]

    def left(self, t: m.Transition, leaf: str) -> tuple[str, ...]:
        """The states that a transition leaves from a leaf, innermost first: those inside the innermost composite that
        holds both its source and its target, and is neither. An internal one leaves none."""
        if t.target is None:
            return ()
        stays = self._around_both(t.source, t.target)
        return tuple(s for s in self.around[leaf] if s not in stays)

    def arrived(self, t: m.Transition) -> tuple[str, ...]:
        """The states that a transition enters, outermost first."""
        if t.target is None:
            return ()
        stays = self._around_both(t.source, t.target)
        return tuple(s for s in reversed(self.around[self.entered[t.target]]) if s not in stays)

    def _around_both(self, source: str, target: str) -> frozenset[str]:
        return frozenset(self.around[source][1:]) & frozenset(self.around[target][1:])

    def endurance(self, leaf: str) -> Endurance | None:
        """What is said of a leaf, or of the innermost state around it that says something; None where nothing is."""
        for name in self.around[leaf]:
            state = self.machine.state_named[name]
            if state.persistent:
                return "persistent"
            if state.volatile or state.transient:
                return "volatile" if state.volatile else "transient"
        return None
