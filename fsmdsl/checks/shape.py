"""A machine as a graph: what several rules need to know of it, found in time proportional to its size."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.step.universe import trigger_name


class Shape:
    """Which states are inside which, and which transitions leave them."""

    def __init__(self, machine: m.Machine) -> None:
        self.machine = machine

    @cached_property
    def around(self) -> Mapping[str, tuple[str, ...]]:
        """Each leaf, and the composites around it, innermost first."""
        return {leaf.name: tuple(self.machine.ancestors(leaf.name)) for leaf in self.machine.leaves}

    @cached_property
    def inside(self) -> Mapping[str, tuple[str, ...]]:
        """The leaves in each state; a leaf is in itself."""
        found: dict[str, list[str]] = {s.name: [] for s in self.machine.states}
        for leaf, around in self.around.items():
            for state in around:
                found[state].append(leaf)
        return {state: tuple(leaves) for state, leaves in found.items()}

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

    @cached_property
    def _levels(self) -> Mapping[tuple[str, bool, str], tuple[m.Transition, ...]]:
        found: dict[tuple[str, bool, str], list[m.Transition]] = defaultdict(list)
        for t in self.machine.transitions:
            trigger = trigger_name(t.trigger)
            if trigger is not None:
                found[(t.source, t.wild, trigger)].append(t)
        return {key: tuple(listed) for key, listed in found.items()}

    def groups(self) -> Iterator[tuple[m.Transition, ...]]:
        """Transitions of one source and one trigger, between which only guards and `priority` can decide."""
        return iter(self._levels.values())

    def levels(self, leaf: str, trigger: str) -> Iterator[tuple[m.Transition, ...]]:
        """The transitions that come into question for a trigger in a leaf, best level first."""
        for source, wild in self.sources(leaf):
            level = self._levels.get((source, wild, trigger))
            if level:
                yield level

    def sources(self, leaf: str) -> Iterator[tuple[str, bool]]:
        """Where transitions from a leaf may be written, and whether as `*`: the innermost source first, `*` last."""
        yield from ((state, False) for state in self.around[leaf])
        yield leaf, True

    @cached_property
    def sure(self) -> Mapping[tuple[str, bool, str], tuple[m.Transition, ...]]:
        """The transitions without a guard, by source, whether written as `*`, and trigger."""
        return {key: tuple(t for t in level if t.guard is None) for key, level in self._levels.items()}

    def candidates(self, leaf: str, trigger: str) -> tuple[m.Transition, ...]:
        """All of them, best level first."""
        return tuple(t for level in self.levels(leaf, trigger) for t in level)

    def arrival(self, t: m.Transition) -> str | None:
        """The leaf that a transition ends in; None if it is internal."""
        return None if t.target is None else self._entered[t.target]

    @cached_property
    def _entered(self) -> Mapping[str, str]:
        """Found from the last state to the first, as composites stand before their children."""
        found: dict[str, str] = {}
        for state in reversed(self.machine.states):
            first = next((c for c in state.children if self.machine.state_named[c].initial), None)
            if not state.children or first is not None:
                found[state.name] = found[first] if first is not None else state.name
        return found

    def entries(self, t: m.Transition) -> tuple[str, ...]:
        """The states that a transition enters, outermost first."""
        if t.target is None:
            return ()
        kept = set(self._outside(t.source)) & set(self._outside(t.target))
        return tuple(s for s in reversed(self.around[self._entered[t.target]]) if s not in kept)

    def exits(self, t: m.Transition, leaf: str) -> tuple[str, ...]:
        """The states that a transition leaves from a leaf, innermost first."""
        if t.target is None:
            return ()
        kept = set(self._outside(t.source)) & set(self._outside(t.target))
        return tuple(s for s in self.around[leaf] if s not in kept)

    @cached_property
    def hooks(self) -> Mapping[tuple[str, str], tuple[m.Effect, ...]]:
        """Entry and exit effects, by `entry` or `exit` and state."""
        found: dict[tuple[str, str], tuple[m.Effect, ...]] = {}
        for hook in self.machine.hooks:
            key = (hook.kind, hook.state)
            found[key] = (*found.get(key, ()), *hook.effects)
        return found

    def _outside(self, state: str) -> tuple[str, ...]:
        return tuple(self.machine.ancestors(state))[1:]

    def ways_out(self, leaf: str) -> Iterator[m.Transition]:
        """The transitions that lead from a leaf to another."""
        for state in self.around[leaf]:
            yield from (t for t in self.leaving[state] if self.arrival(t) not in (None, leaf))

    @cached_property
    def reachable(self) -> frozenset[str]:
        """The states that an instance can be in, if any guard may hold; composites as soon as one of their leaves."""
        found: set[str] = set()
        waiting = [self.machine.initial.name]
        while waiting:
            at = waiting.pop()
            if at in found:
                continue
            for state in self.around[at]:
                if state not in found:
                    found.add(state)
                    waiting.extend(x for x in map(self.arrival, self.leaving[state]) if x is not None)
        return frozenset(found)

    def reaching(self, goals: Iterable[str]) -> frozenset[str]:
        """The leaves from which one of these leaves can be reached, themselves included."""
        arrivals: dict[str, set[str]] = defaultdict(set)
        for t in self.machine.transitions:
            after = self.arrival(t)
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
            waiting.extend(leaf for source in new for leaf in self.inside[source])
        return frozenset(found)
