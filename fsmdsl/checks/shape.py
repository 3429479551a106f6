"""A machine as a graph: what several rules need to know of it, found in time proportional to its size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.core.hierarchy import Hierarchy
from fsmdsl.core.selection import Selection


class Shape:
    """Which states lead to which, beside what `core` knows of a machine."""

    def __init__(self, machine: m.Machine) -> None:
        self.machine = machine
        self.hierarchy = Hierarchy(machine)
        self.selection = Selection(machine, self.hierarchy)

    @cached_property
    def leaving(self) -> Mapping[str, tuple[m.Transition, ...]]:
        """The transitions written with each state as their source."""
        found: dict[str, list[m.Transition]] = defaultdict(list)
        for t in self.machine.transitions:
            found[t.source].append(t)
        return {state: tuple(found[state]) for state in (s.name for s in self.machine.states)}

    @cached_property
    def lines(self) -> tuple[tuple[m.Transition, ...], ...]:
        """Transitions by the line of the text that they come from."""
        found: dict[tuple[int, int], list[m.Transition]] = defaultdict(list)
        for t in self.machine.transitions:
            found[(t.span.start, t.span.end)].append(t)
        return tuple(map(tuple, found.values()))

    def ways_out(self, leaf: str) -> Iterator[m.Transition]:
        """The transitions that lead from a leaf to another."""
        for state in self.hierarchy.around[leaf]:
            yield from (t for t in self.leaving[state] if self.hierarchy.arrival(t) not in (None, leaf))

    @cached_property
    def reachable(self) -> frozenset[str]:
        """The states that an instance can be in, if any guard may hold; composites as soon as one of their leaves."""
        found: set[str] = set()
        waiting = [self.machine.initial.name]
        while waiting:
            at = waiting.pop()
            if at in found:
                continue
            for state in self.hierarchy.around[at]:
                if state not in found:
                    found.add(state)
                    waiting.extend(x for x in map(self.hierarchy.arrival, self.leaving[state]) if x is not None)
        return frozenset(found)

    def reaching(self, goals: Iterable[str]) -> frozenset[str]:
        """The leaves from which one of these leaves can be reached, themselves included."""
        arrivals: dict[str, set[str]] = defaultdict(set)
        for t in self.machine.transitions:
            after = self.hierarchy.arrival(t)
            if after is not None:
                arrivals[after].add(t.source)
        found: set[str] = set()
        seen: set[str] = set()
        waiting = list(goals)
        while waiting:
            at = waiting.pop()
            if at in found:
                continue
            found.add(at)
            new = arrivals[at] - seen
            seen |= new
            waiting.extend(leaf for source in new for leaf in self.hierarchy.inside[source])
        return frozenset(found)
