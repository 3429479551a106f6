"""Which transition a trigger leads to in each leaf of a machine, and everything that following it does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain
from typing import Literal

from fsmdsl import model as m
from fsmdsl.core.guards import exclusive
from fsmdsl.core.hierarchy import Hierarchy
from fsmdsl.core.priority import Pair, Priority
from fsmdsl.core.triggers import trigger_name, triggered_by
from fsmdsl.dataclasses import dataclass

Level = tuple[m.Transition, ...]
"""Transitions of one source and one trigger, in the order of the text: guards and `priority` decide among them."""


@dataclass(frozen=True, slots=True)
class Move:
    """What a transition does from one leaf, in this order: exits, its own effects, the change of state, entries.

    An internal transition leaves and enters nothing, and has no target.
    """

    transition: m.Transition
    left: tuple[str, ...]
    """The states left, innermost first."""
    exits: tuple[m.Effect, ...]
    target: str | None
    """The leaf that the instance is in afterwards; None where it stays."""
    entered: tuple[str, ...]
    """The states entered, outermost first."""
    entries: tuple[m.Effect, ...]

    @property
    def effects(self) -> tuple[m.Effect, ...]:
        """All of them, in their order."""
        return (*self.exits, *self.transition.effects, *self.entries)


@dataclass(frozen=True, slots=True)
class Group:
    """Leaves in which a trigger leads to the same transitions, with the same effects."""

    leaves: tuple[str, ...]
    levels: tuple[Level, ...]


class Selection:
    """One machine: what comes into question where, who goes first, and what a move does.

    Each table is made when it is first used. Between levels the first with an enabled transition decides; within one,
    `priority`; two enabled transitions of one level that it does not rank are the fault `overlap`.
    """

    def __init__(self, machine: m.Machine, hierarchy: Hierarchy | None = None) -> None:
        self.machine = machine
        self.hierarchy = hierarchy or Hierarchy(machine)
        self.priority = Priority(machine)
        self._moves: dict[tuple[str, int], Move] = {}
        self._groups: dict[str, tuple[Group, ...]] = {}

    # Candidates

    @cached_property
    def _by_source(self) -> Mapping[tuple[str, bool, str], Level]:
        """By source, whether it is written as `*`, and trigger."""
        rows: dict[tuple[str, bool, str], list[m.Transition]] = {}
        for t in self.machine.transitions:
            trigger = trigger_name(t.trigger)
            if trigger is not None:
                rows.setdefault((t.source, t.wild, trigger), []).append(t)
        return {key: tuple(transitions) for key, transitions in rows.items()}

    @cached_property
    def _triggers(self) -> frozenset[str]:
        return frozenset(trigger for _, _, trigger in self._by_source)

    def rivals(self) -> Iterator[Level]:
        """Every level of the machine, whatever leaf it is met in."""
        return iter(self._by_source.values())

    def sources(self, leaf: str) -> Iterator[tuple[str, bool]]:
        """Where transitions from a leaf may be written, and whether as `*`: the innermost source first, `*` last."""
        yield from ((state, False) for state in self.hierarchy.around[leaf])
        yield leaf, True

    def level(self, source: str, wild: bool, trigger: str) -> Level:
        """The transitions written with a source, or as `*` for a leaf."""
        return self._by_source.get((source, wild, trigger), ())

    def unguarded(self, source: str, wild: bool, trigger: str) -> Level:
        """Those of them without a guard."""
        return self._unguarded.get((source, wild, trigger), ())

    @cached_property
    def _unguarded(self) -> Mapping[tuple[str, bool, str], Level]:
        return {key: tuple(t for t in level if t.guard is None) for key, level in self._by_source.items()}

    def levels(self, leaf: str, trigger: str) -> tuple[Level, ...]:
        """The transitions that come into question in a leaf, best level first. No level is empty."""
        candidates = [self._by_source.get((source, wild, trigger)) for source, wild in self.sources(leaf)]
        return tuple([level for level in candidates if level])

    def candidates(self, leaf: str, trigger: str) -> tuple[m.Transition, ...]:
        """All of them, best level first."""
        return tuple(t for level in self.levels(leaf, trigger) for t in level)

    def groups(self, trigger: str) -> tuple[Group, ...]:
        """The leaves in which a trigger has transitions, those together in which it does the same, whichever timers it
        stops. In the order of the first leaf of each."""
        if trigger not in self._groups:
            levels = {x.name: self.levels(x.name, trigger) for x in self.machine.leaves if trigger in self._triggers}
            self._groups[trigger] = self._grouped(levels)
        return self._groups[trigger]

    def timer_groups(self, t: m.Transition) -> tuple[Group, ...]:
        """The same for the time of a transition, which competes with no other: the leaves inside its source."""
        return self._grouped(dict.fromkeys(self.hierarchy.inside[t.source], ((t,),)))

    def _grouped(self, levels: Mapping[str, tuple[Level, ...]]) -> tuple[Group, ...]:
        groups: dict[object, list[str]] = {}
        for leaf, these in levels.items():
            if these:
                key = tuple(tuple(self._behaviour(leaf, t) for t in level) for level in these)
                groups.setdefault(key, []).append(leaf)
        return tuple(Group(tuple(leaves), levels[leaves[0]]) for leaves in groups.values())

    def _behaviour(self, leaf: str, t: m.Transition) -> object:
        """What tells the moves of transitions from different leaves apart: not the leaves, but what runs in them."""
        move = self.move(leaf, t)
        return t.index, move.target, tuple(s for s in move.left if ("exit", s) in self.hooks)

    # Guards

    def disputed(self, level: Level) -> tuple[Pair, ...]:
        """Pairs that neither `priority` nor a look at their guards tells apart: both enabled are a fault.

        Left out are those of which one is always beaten, by a transition without a guard. Pairs that `priority` ranks
        both ways come last.
        """
        sure = [t for t in level if t.guard is None]
        beaten = {t.index for t in level if any(self.priority.before(other, t) for other in sure)}
        open_ = (p for p in self.priority.unranked(level) if not {p[0].index, p[1].index} & beaten)
        pairs = chain(open_, self.priority.contradictory(level))
        return tuple((a, b) for a, b in pairs if not exclusive(a, b, self.machine.let_named))

    # Moves

    def move(self, leaf: str, t: m.Transition) -> Move:
        """What a transition does from a leaf inside its source."""
        key = (leaf, t.index)
        if key not in self._moves:
            left, entered = self.hierarchy.left(t, leaf), self.hierarchy.arrived(t)
            exits, entries = self._effects("exit", left), self._effects("entry", entered)
            self._moves[key] = Move(t, left, exits, self.hierarchy.arrival(t), entered, entries)
        return self._moves[key]

    @cached_property
    def hooks(self) -> Mapping[tuple[Literal["entry", "exit"], str], tuple[m.Effect, ...]]:
        """Entry and exit effects of each state that has some."""
        effects: dict[tuple[Literal["entry", "exit"], str], tuple[m.Effect, ...]] = {}
        for hook in self.machine.hooks:
            key = (hook.kind, hook.state)
            effects[key] = (*effects.get(key, ()), *hook.effects)
        return effects

    def _effects(self, kind: Literal["entry", "exit"], states: tuple[str, ...]) -> tuple[m.Effect, ...]:
        return tuple(x for s in states for x in self.hooks.get((kind, s), ()))

    # Timers

    @cached_property
    def _timers(self) -> Mapping[str, tuple[m.Transition, ...]]:
        timed = triggered_by(self.machine, m.OnTimer)
        return {source: tuple(t for t in timed if t.source == source) for source in {t.source for t in timed}}

    def timers(self, states: tuple[str, ...]) -> tuple[m.Transition, ...]:
        """The timers that run while these states are active."""
        return tuple(t for s in states for t in self._timers.get(s, ()))
