"""A machine as a graph: what several rules need to know of it, found in time proportional to its size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.core.graphs import reachable
from fsmdsl.core.hierarchy import Hierarchy
from fsmdsl.core.selection import Selection


class Shape:
    """Which states lead to which, beside what `core` knows of a machine."""

    def __init__(self, machine: m.Machine, begins: Iterable[str] = ()) -> None:
        """`begins`: leaves in which instances begin elsewhere than at the initial state."""
        self.machine = machine
        self.begins = (machine.initial.name, *begins)
        self.hierarchy = Hierarchy(machine)
        self.selection = Selection(machine, self.hierarchy)

    @cached_property
    def leaving(self) -> Mapping[str, tuple[m.Transition, ...]]:
        """The transitions written with each state as their source."""
        by_source: dict[str, list[m.Transition]] = defaultdict(list)
        for t in self.machine.transitions:
            by_source[t.source].append(t)
        return {state: tuple(by_source[state]) for state in (s.name for s in self.machine.states)}

    @cached_property
    def lines(self) -> tuple[tuple[m.Transition, ...], ...]:
        """Transitions by the line of the text that they come from."""
        by_line: dict[tuple[int, int], list[m.Transition]] = defaultdict(list)
        for t in self.machine.transitions:
            by_line[(t.span.start, t.span.end)].append(t)
        return tuple(map(tuple, by_line.values()))

    def ways_out(self, leaf: str) -> Iterator[m.Transition]:
        """The transitions that lead from a leaf to another."""
        for state in self.hierarchy.around[leaf]:
            yield from (t for t in self.leaving[state] if self.hierarchy.arrival(t) not in (None, leaf))

    @cached_property
    def reachable(self) -> frozenset[str]:
        """The states that an instance can be in, if any guard may hold; composites as soon as one of their leaves."""

        def after(state: str) -> Iterator[str]:
            yield from self.hierarchy.around[state]
            yield from (x for x in map(self.hierarchy.arrival, self.leaving[state]) if x is not None)

        return frozenset(reachable(self.begins, after))

    def reaching(self, goals: Iterable[str]) -> frozenset[str]:
        """The leaves from which one of these leaves can be reached, themselves included."""
        before: dict[str, list[str]] = {state: list(leaves) for state, leaves in self.hierarchy.inside.items()}
        for t in self.machine.transitions:
            after = self.hierarchy.arrival(t)
            if after is not None:
                before[after].append(t.source)
        states = reachable(goals, before.__getitem__)
        return frozenset(s.name for s in self.machine.leaves if s.name in states)
