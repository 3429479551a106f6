"""A system made ready for stepping: how its instances begin, and which transitions come into question where.

Everything here follows from the model alone; what is looked up often is computed once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from functools import cached_property
from math import prod
from typing import Any, cast

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.step.evaluate import (
    MAX_VALUES,
    Frame,
    TooManyValuesError,
    cardinality,
    default,
    domain,
    domains,
    evaluate,
    outside,
    truth,
)
from fsmdsl.step.instances import Roster
from fsmdsl.step.world import Fault, FaultError, Message, NoStart, Unfit, Value, World
from fsmdsl.text.source import Span

CRASH = "on crash"
EVENTLESS = ""
STATE = -1
"""In the place of a field: the state of the instance."""
MAX_TRIED = 2 * MAX_VALUES
"""Maximum number of combinations of first values that are checked against `start when`. The limit also holds for the
first fields alone."""

Levels = tuple[tuple[m.Transition, ...], ...]
"""Transitions that come into question: those of the innermost source first, those of `*` last."""


@dataclass(frozen=True, slots=True)
class Move:
    """What a transition does to the state of an instance in a leaf: effects of the states left, of those entered."""

    exits: tuple[m.Effect, ...]
    entries: tuple[m.Effect, ...]
    after: str


class Universe(Roster):
    """One system of a model."""

    def __init__(self, model: m.Model, system: m.System) -> None:
        super().__init__(model, system)
        self._fault: Fault | None = None
        indexes = {x.qualified: _Index(x) for x in self.machines}
        self._index = tuple(indexes[x.qualified] for x in self.machines)
        self.free = tuple(x for n in range(len(self.machines)) for x in self._free(n))
        """The fields that begin with any value: by instance and place; STATE is that of an instance's state."""
        for n, machine in enumerate(self.machines):
            self.params[n].update((p.name, default(p.type, self)) for p in machine.params)
        nothing_given = _Beginning(self)
        for n, machine in enumerate(self.machines):
            self._give_params(Frame(self, nothing_given, n), machine)
        impossible = self._fault
        self.start = self._begun([self._some(place) for place in self.free]).world()
        """The world in which it begins. With `free` fields this is one among many, and may be none of `starts`."""
        if self.free:
            self._fault = impossible  # what is wrong with worlds in which it may begin is found with these

    # Where transitions are found

    def candidates(self, instance: int, state: str, trigger: str) -> Levels:
        """The transitions of a trigger (see `trigger_name`) that may leave a leaf, by level."""
        return self._index[instance].levels.get((state, trigger), ())

    def timers(self, instance: int, state: str) -> tuple[m.Transition, ...]:
        """The timers that run in a leaf."""
        return self._index[instance].timers.get(state, ())

    def ignores(self, instance: int, state: str, trigger: str) -> bool:
        """Does the machine say that it ignores an event, or `action.outcome`, in a leaf?"""
        return (trigger, state) in self._index[instance].ignored

    def preferred(self, instance: int, among: list[m.Transition]) -> list[m.Transition]:
        """Those that no other has priority over."""
        if len(among) < 2:
            return among
        return self._index[instance].preferred(among)

    def before(self, instance: int, a: m.Transition, b: m.Transition) -> bool:
        """Has one transition priority over another?"""
        return self._index[instance].before(a, b)

    def move(self, instance: int, state: str, transition: m.Transition) -> Move:
        """What an external transition leaves and enters, from a leaf."""
        return self._index[instance].move(state, transition)

    # How it begins

    @property
    def starts(self) -> tuple[World, ...]:
        """The worlds in which it may begin, each once, the value of the last field changing fastest: with any values in
        `free`, as far as `start when` allows. If it allows none, `fault` says so. Raises `TooManyValuesError`."""
        worlds = self._starts
        if worlds is None:
            raise TooManyValuesError(f"more than {MAX_VALUES} initial states")
        return worlds

    @cached_property
    def _starts(self) -> tuple[World, ...] | None:
        """None: too many. What the first fields alone rule out is not completed."""
        if not self.free and not self.system.start_when:
            return (self.start,)
        ways = [self._ways(place) for place in self.free]
        if max(ways, default=0) > MAX_VALUES or (not self.system.start_when and prod(ways) > MAX_VALUES):
            return None
        values = [self._values(place) for place in self.free]
        worlds: list[World] = []
        waiting: list[tuple[Value, ...]] = [()]
        for _ in range(MAX_TRIED):
            if not waiting:
                break
            chosen = waiting.pop()
            begun = self._begun(chosen)
            if not self._may_begin(begun):
                continue
            if len(chosen) == len(values):
                worlds.append(begun.world())
            else:
                waiting += [(*chosen, x) for x in reversed(values[len(chosen)])]
        if waiting or len(worlds) > MAX_VALUES:
            return None
        if not worlds:
            self._fault = Fault(NoStart(), None, self.system.span)
        return tuple(worlds)

    @property
    def cannot_begin(self) -> bool:
        """Is there no first world? Then `fault` says why."""
        with suppress(TooManyValuesError):
            return not self.starts
        return False

    @property
    def fault(self) -> Fault | None:
        """Why an initial value is impossible, if one is, or there is no first world. The universe can be used all the
        same."""
        with suppress(TooManyValuesError):
            self.starts  # noqa: B018 - notes what is wrong
        return self._fault

    def beginning(self, start: World) -> Universe:
        """The same system where it begins in one of its first worlds."""
        if start == self.start and not self.free:
            return self
        other = copy(self)
        other.start, other.free, other._fault = start, (), self.fault
        other.__dict__["_starts"] = (start,)
        return other

    def _free(self, n: int) -> Iterator[tuple[int, int]]:
        """What an instance begins with any value of: first its state."""
        instance = self.system.instances[n]
        if instance.states:
            yield n, STATE
        yield from ((n, slot) for slot, f in enumerate(self.machines[n].fields) if instance.begins_with_any(f))

    def _ways(self, place: tuple[int, int]) -> int:
        """Number of values for a place in `free`; see `cardinality`."""
        n, slot = place
        if slot == STATE:
            return len(self.system.instances[n].states)
        return cardinality(self.machines[n].fields[slot].type, self)

    def _values(self, place: tuple[int, int]) -> tuple[Value, ...]:
        n, slot = place
        return self.system.instances[n].states if slot == STATE else domain(self.machines[n].fields[slot].type, self)

    def _some(self, place: tuple[int, int]) -> Value:
        """One of the values for a place in `free`."""
        n, slot = place
        if slot == STATE:
            return self.system.instances[n].state
        t = self.machines[n].fields[slot].type
        return min(self.instances_of(t.machine), default=None) if isinstance(t, m.RefType) else default(t, self)

    def _may_begin(self, begun: _Beginning) -> bool:
        """Does nothing that stands behind `start when` fail, as far as that depends on what is chosen?"""
        for x in self.system.start_when:
            try:
                if not truth(Frame(self, begun), x):
                    return False
            except _OpenError:
                continue
            except FaultError:
                return False
        return True

    def _begun(self, chosen: Sequence[Value]) -> _Beginning:
        """No effects, no entry hooks, no eventless transitions: states and values as declared, and those chosen for the
        first of the free fields."""
        beginning = _Beginning(self)
        for n, (instance, slot) in enumerate(self.free):
            value: Any = chosen[n] if n < len(chosen) else _OPEN
            if slot == STATE:
                beginning.states[instance] = value
            else:
                beginning.fields[instance][slot] = value
        free = set(self.free)
        for n, machine in enumerate(self.machines):
            for slot, f in enumerate(machine.fields):
                if (n, slot) not in free:
                    initial = self._initial_value(n, f.name) or f.default
                    beginning.fields[n][slot] = self._first_value(Frame(self, beginning, n), f.name, f.type, initial)
        return beginning

    def _give_params(self, frame: Frame, machine: m.Machine) -> None:
        assert frame.instance is not None
        for p in machine.params:
            initial = self._initial_value(frame.instance, p.name) or p.default
            if initial is not None:
                self.params[frame.instance][p.name] = self._first_value(frame, p.name, p.type, initial)

    def _initial_value(self, instance: int, name: str) -> m.Expr | None:
        return next((e for n, e in self.system.instances[instance].values if n == name), None)

    def _first_value(self, frame: Frame, name: str, t: m.Type, expression: m.Expr) -> Value:
        """The value that the text gives, if the place can hold it; else the type's own, and a fault."""
        assert frame.instance is not None
        try:
            value = evaluate(frame, expression)
        except _OpenError:
            return cast(Value, _OPEN)
        except FaultError as error:
            self._fault = self._fault or error.fault
            return default(t, self)
        why = outside(t, value)
        if why is not None:
            cause = Unfit("initial", name, "", why)
            self._fault = self._fault or Fault(cause, frame.instance, self._where(frame.instance, expression))
            return default(t, self)
        return value

    def _where(self, instance: int, expression: m.Expr) -> Span:
        return expression.span if expression.span.text else self.system.instances[instance].span

    # What the environment may send where the system does not say

    @cached_property
    def unrestricted(self) -> tuple[tuple[int, str, tuple[tuple[Value, ...], ...]], ...]:
        """Every event from the environment, with all its arguments. Raises `TooManyValuesError`."""
        return tuple(
            (n, event.name, domains((p.type for p in event.parameters), self))
            for n, machine in enumerate(self.machines)
            for event in machine.events
            if event.from_environment
        )


def trigger_name(trigger: m.Trigger) -> str | None:
    """What finds a transition: `take`, `deploy.ok`, `CRASH`, `EVENTLESS`; nothing finds a timer."""
    match trigger:
        case m.OnEvent(event, _):
            return event
        case m.OnOutcome(action, outcome):
            return f"{action}.{outcome}"
        case m.OnCrash():
            return CRASH
        case m.Eventless():
            return EVENTLESS
        case m.OnTimer():
            return None


class _OpenError(Exception):
    """A field is read that is still to be chosen."""


_OPEN: Any = object()
"""In place of the value of such a field."""


class _Values(list[Any]):
    """States, or the fields of an instance; one that is open cannot be read."""

    def __getitem__(self, slot: Any) -> Any:
        value = super().__getitem__(slot)
        if value is _OPEN:
            raise _OpenError
        return value


class _Beginning:
    """A first world under way: each place has the value of its type until it has its own."""

    def __init__(self, universe: Universe) -> None:
        self.states = _Values(i.state for i in universe.system.instances)
        self.fields = [_Values(default(f.type, universe) for f in x.fields) for x in universe.machines]
        self.waited: frozenset[int] = frozenset()
        self.channels: tuple[tuple[Message, ...], ...] = tuple(() for _ in universe.queues)

    def world(self) -> World:
        """When nothing is open."""
        return World(tuple(self.states), tuple(map(tuple, self.fields)), frozenset(), self.channels, (), False)


class _Index:
    """What is looked up often in one machine."""

    def __init__(self, machine: m.Machine) -> None:
        self.machine = machine
        self.levels: dict[tuple[str, str], Levels] = {}
        self.timers: dict[str, tuple[m.Transition, ...]] = {}
        self.ignored = frozenset((i.event, i.state) for i in machine.ignores)
        self.ranks = tuple(tuple(_rank(chain, t) for chain in machine.priority) for t in machine.transitions)
        self.moves: dict[tuple[str, int], Move] = {}
        leaving: dict[str, list[m.Transition]] = defaultdict(list)
        for t in machine.transitions:
            leaving[t.source].append(t)
        for leaf in machine.leaves:
            around = tuple(machine.ancestors(leaf.name))
            self._add(leaf.name, around, sorted((t for s in around for t in leaving[s]), key=lambda t: t.index))

    def _add(self, leaf: str, around: tuple[str, ...], active: list[m.Transition]) -> None:
        self.timers[leaf] = tuple(t for t in active if isinstance(t.trigger, m.OnTimer))
        for trigger in {trigger_name(t.trigger) for t in active} - {None}:
            assert trigger is not None
            these = [t for t in active if trigger_name(t.trigger) == trigger]
            levels = [tuple(t for t in these if t.source == s and not t.wild) for s in around]
            levels.append(tuple(t for t in these if t.wild))
            self.levels[(leaf, trigger)] = tuple(level for level in levels if level)

    def preferred(self, among: list[m.Transition]) -> list[m.Transition]:
        best = [t for t in among if not any(self.before(other, t) for other in among)]
        return best or among

    def before(self, a: m.Transition, b: m.Transition) -> bool:
        """Does one stand before the other in a chain of `priority`?"""
        pairs = zip(self.ranks[a.index], self.ranks[b.index], strict=True)
        return any(x is not None and y is not None and x < y for x, y in pairs)

    def move(self, leaf: str, t: m.Transition) -> Move:
        key = (leaf, t.index)
        if key not in self.moves:
            self.moves[key] = _move(self.machine, leaf, t)
        return self.moves[key]


def _rank(chain: tuple[str, ...], t: m.Transition) -> int | None:
    """The place of a transition in a chain: the best of its event, labels and its guard's `let`s, or that of `*`."""
    names = {trigger_name(t.trigger), *t.labels, *(_conjuncts(t.guard) if t.guard is not None else ())}
    places = [n for n, name in enumerate(chain) if name in names] or [n for n, name in enumerate(chain) if name == "*"]
    return min(places, default=None)


def _conjuncts(guard: m.Expr) -> Iterator[str]:
    """The derived values that must hold for a guard to hold."""
    match guard:
        case m.Derived(name=name):
            yield name
        case m.Logic(operator="and", operands=operands):
            for x in operands:
                yield from _conjuncts(x)
        case _:
            return


def _move(machine: m.Machine, leaf: str, t: m.Transition) -> Move:
    """The states left, innermost first, and entered, outermost first: all below the innermost state that is around
    both source and target, and is neither of them."""
    assert t.target is not None
    after = machine.entered(t.target)
    around_both = set(list(machine.ancestors(t.source))[1:]) & set(list(machine.ancestors(t.target))[1:])
    left = [s for s in machine.ancestors(leaf) if s not in around_both]
    entered = [s for s in machine.ancestors(after) if s not in around_both]
    exits = tuple(_hooks(machine.hooks, "exit", left))
    return Move(exits, tuple(_hooks(machine.hooks, "entry", reversed(entered))), after)


def _hooks(hooks: tuple[m.Hook, ...], kind: str, states: Iterable[str]) -> Iterator[m.Effect]:
    for state in states:
        for hook in hooks:
            if hook.kind == kind and hook.state == state:
                yield from hook.effects


def flag(machine: m.Machine, leaf: str) -> str:
    """`persistent`, `volatile` or `transient`, as said of a leaf, or of the innermost state around it; or ''."""
    for state in (machine.state_named[s] for s in machine.ancestors(leaf)):
        if state.persistent:
            return "persistent"
        if state.volatile or state.transient:
            return "volatile" if state.volatile else "transient"
    return ""
