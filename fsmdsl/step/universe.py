"""A system made ready for stepping: how its instances begin, and which transitions come into question where.

Everything here follows from the model alone; what is looked up often is computed once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.source import Span
from fsmdsl.step.evaluate import Frame, default, domains, evaluate, outside
from fsmdsl.step.roster import Roster
from fsmdsl.step.world import Fault, FaultError, Unfit, Value, World

CRASH = "on crash"
EVENTLESS = ""
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
        self.fault: Fault | None = None
        """Why an initial value is impossible, if one is. The universe can be used all the same."""
        known = {x.qualified: _Index(x) for x in self.machines}
        self._index = tuple(known[x.qualified] for x in self.machines)
        self.start = self._begin()

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

    def _begin(self) -> World:
        """No effects, no entry hooks, no eventless transitions: states and values as declared."""
        fields = [[default(f.type) for f in x.fields] for x in self.machines]
        states = tuple(i.state for i in self.system.instances)
        channels: tuple[()] = tuple(() for _ in self.queues)  # type: ignore[assignment]
        for n, machine in enumerate(self.machines):
            self.params[n].update((p.name, default(p.type)) for p in machine.params)
        for n, machine in enumerate(self.machines):
            world = World(states, tuple(map(tuple, fields)), frozenset(), channels, (), False)
            self._give_params(Frame(self, world, n), machine)
        for n, machine in enumerate(self.machines):
            for slot, f in enumerate(machine.fields):
                world = World(states, tuple(map(tuple, fields)), frozenset(), channels, (), False)
                given = self._given(n, f.name) or f.default
                fields[n][slot] = self._first_value(Frame(self, world, n), f.name, f.type, given)
        return World(states, tuple(map(tuple, fields)), frozenset(), channels, (), False)

    def _give_params(self, frame: Frame, machine: m.Machine) -> None:
        assert frame.instance is not None
        for p in machine.params:
            given = self._given(frame.instance, p.name) or p.default
            if given is not None:
                self.params[frame.instance][p.name] = self._first_value(frame, p.name, p.type, given)

    def _given(self, instance: int, name: str) -> m.Expr | None:
        return next((e for n, e in self.system.instances[instance].values if n == name), None)

    def _first_value(self, frame: Frame, name: str, t: m.Type, given: m.Expr) -> Value:
        """The value that the text gives, if the place can hold it; else the type's own, and a fault."""
        assert frame.instance is not None
        try:
            value = evaluate(frame, given)
        except FaultError as error:
            self.fault = self.fault or error.fault
            return default(t)
        why = outside(t, value)
        if why is not None:
            cause = Unfit("initial", name, "", why)
            self.fault = self.fault or Fault(cause, frame.instance, self._where(frame.instance, given))
            return default(t)
        return value

    def _where(self, instance: int, given: m.Expr) -> Span:
        return given.span if given.span.text else self.system.instances[instance].span

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
    """The place of a transition in a chain: the best of its event, its label and its guard's `let`s, or that of `*`."""
    names = {trigger_name(t.trigger), t.label, *(_conjuncts(t.guard) if t.guard is not None else ())}
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
