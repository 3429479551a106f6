"""Random walks through a system, with the generated code at every step beside `step`."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from mirror import EXCEPTIONS, Mirror, Packages, UnansweredError

from fsmdsl import model as m
from fsmdsl.step import (
    CrashStep,
    EventStep,
    Fault,
    FaultError,
    Followed,
    OutcomeStep,
    Pending,
    RecordValue,
    Requested,
    Result,
    Step,
    TooManyValuesError,
    Universe,
    Value,
    World,
    enabled,
    fire,
    holds,
)
from fsmdsl.step.cascade import StepInProgress
from fsmdsl.step.data import Table
from fsmdsl.step.describe import describe
from fsmdsl.step.offers import standing_still
from fsmdsl.step.values import keys

Calls = list[tuple[int, str, tuple[Value, ...]]]


class Explored:
    """The worlds of one system, each looked at once: walks go through the same ones again and again."""

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self._steps: dict[World, tuple[list[Step], list[Step]]] = {}
        self._results: dict[tuple[World, Step], Result] = {}

    def steps(self, world: World) -> tuple[list[Step], list[Step]]:
        """What can come next, crashes apart. Those inside a step are left out: generated steps are saved whole."""
        if world not in self._steps:
            found = enabled(self.universe, world)
            crashes: list[Step] = [s for s in found if isinstance(s, CrashStep) and s.inside is None]
            self._steps[world] = ([s for s in found if not isinstance(s, CrashStep)], crashes)
        return self._steps[world]

    def broken(self, world: World) -> list[str]:
        """See `Mirror.broken`."""
        universe = self.universe
        listed = [(n, x.invariants, n) for n, x in enumerate(universe.machines)]
        found = (_first_broken(universe, world, *x) for x in [*listed, (len(listed), universe.system.invariants, None)])
        return [x for x in found if x is not None]

    def fire(self, world: World, step: Step) -> Result:
        key = (world, step)
        if key not in self._results:
            self._results[key] = fire(self.universe, world, step)
        return self._results[key]


def _first_broken(
    universe: Universe, world: World, place: int, invariants: tuple[m.Invariant, ...], instance: int | None
) -> str | None:
    for x in invariants:
        try:
            if not holds(universe, world, x.condition, instance=instance):
                return f"{place} {x.name}"
        except FaultError as error:
            return f"{place} {EXCEPTIONS[error.fault.kind]}"
    return None


class Choice:
    """What a walk does next: mostly what can come next; at times an event that nobody would send."""

    def __init__(self, explored: Explored, seed: int) -> None:
        self.explored, self.universe = explored, explored.universe
        self.random = Random(seed)

    def starts_anew(self, world: World) -> bool:
        """Where nothing leads on, a walk tries some events, and then begins again."""
        leading, _ = self.explored.steps(world)
        return not leading and self.random.random() < 0.2

    def next(self, world: World) -> Step | None:
        """A step, enabled or not."""
        leading, crashes = self.explored.steps(world)
        if self.random.random() < 0.15 or not (leading or crashes):
            return self.anything()
        if crashes and (not leading or self.random.random() < 0.1):
            return crashes[0] if len(crashes) == 1 else self.random.choice(crashes)
        return self.random.choice(leading)

    def anything(self) -> Step | None:
        """Any event, to anyone, of those for whose parameters there are values."""
        events = [
            (n, e)
            for n, x in enumerate(self.universe.machines)
            for e in x.events
            if all(has_value(self.universe, p.type) for p in e.parameters)
        ]
        if not events:
            return None
        number, event = self.random.choice(events)
        arguments = tuple(value_of(self.random, self.universe, p.type) for p in event.parameters)
        return EventStep(number, event.name, arguments)


def wander(explored: Explored, seed: int, steps: int) -> Iterator[tuple[World, Step]]:
    """A walk by itself: each world with the step that is taken there."""
    choice = Choice(explored, seed)
    world = explored.universe.start
    for _ in range(steps):
        if choice.starts_anew(world):
            world = explored.universe.start
        step = choice.next(world)
        if step is None:
            return
        yield world, step
        world = explored.fire(world, step).world


class Walk:
    """One walk. `answering`: hand-written code answers at once; otherwise it breaks off, and the answer comes later."""

    def __init__(self, explored: Explored, packages: Packages, seed: int) -> None:
        self.explored, self.universe = explored, explored.universe
        self.packages = packages
        self.choice = Choice(explored, seed)
        self.random = self.choice.random
        self.answering = seed % 2 == 0
        self.begin()

    def begin(self) -> None:
        self.mirror = Mirror(self.packages, self.universe)
        self.world = self.universe.start
        self.told: list[str] = []
        self.calls: Calls = []
        self.followed: list[tuple[int, str]] = []
        self.compare()

    def run(self, steps: int) -> None:
        for _ in range(steps):
            if self.choice.starts_anew(self.world):
                self.begin()
            step = self.choice.next(self.world)
            if step is None:
                return
            if not self.unaware(step):
                self.take(step)
        assert self.mirror.broken() == self.explored.broken(self.world), self.story()
        restored = self.mirror.restored()
        assert restored.world() == self.mirror.world(), self.story()
        assert restored.timers() == self.mirror.timers(), self.story()

    def unaware(self, step: Step) -> bool:
        """Would the class take what the definition refuses, as all wait for an answer of which it knows nothing?"""
        if not isinstance(step, EventStep) or standing_still_in(self.universe, self.world) is None:
            return False
        return self.mirror.context.standalone(self.universe.machines[step.instance])

    def take(self, step: Step) -> None:
        self.told.append(describe(self.universe, step))
        before = self.world
        self.mirror.locate(before, step)
        if isinstance(step, EventStep):
            assert self.mirror.can(step) in (None, self.explored.fire(before, step).fault is None), self.story()
        fault, done = self.foresee(step), len(self.mirror.calls)
        try:
            self.mirror.take(step)
            raised: Exception | None = None
        except UnansweredError:
            raised = None
        except Exception as error:
            raised = error
        self.agree(fault, raised)
        if fault is None and isinstance(step, CrashStep):  # whoever crashes hands over nothing more
            self.calls[done:] = [x for x in self.calls[done:] if step.of and x[0] not in step.of]
        self.compare()

    def agree(self, fault: Fault | None, raised: Exception | None) -> None:
        """Is what was raised what the fault is called?"""
        if fault is None or raised is None:
            assert (fault, raised) == (None, None), self.story()
        else:
            same = type(raised).__name__ == EXCEPTIONS[fault.kind] or _refused(raised, fault)
            assert same, f"{self.story()}\n{fault}\n{raised!r}"

    def foresee(self, step: Step) -> Fault | None:
        """What must happen, by `step`: for an answer given at once, up to the end of the round."""
        self.mirror.answers.clear()
        asked = standing_still_in(self.universe, self.world) if isinstance(step, CrashStep) else None
        while True:
            result = self.explored.fire(self.world, step)
            if result.fault is not None:
                return result.fault
            self.calls += [(x.instance, x.action, x.arguments) for x in result.cascade if isinstance(x, Requested)]
            followed = (x for x in result.cascade if isinstance(x, Followed))
            transitions = ((x.instance, self.universe.machines[x.instance].transitions[x.transition]) for x in followed)
            self.followed += [(n, t.name) for n, t in transitions]
            self.world = result.world
            first = standing_still_in(self.universe, self.world)
            if first is None or first == asked or not self.answering:
                return None
            outcomes = self.universe.machines[first.instance].action_named[first.action].outcomes
            step = OutcomeStep(first.instance, first.action, self.random.choice(outcomes))
            self.mirror.answers.append(step.outcome)
            self.told.append(describe(self.universe, step))

    def compare(self) -> None:
        """The same world, timers and actions; some actions may wait behind one without an answer."""
        assert self.mirror.world() == self.mirror.expected(self.world), self.story()
        assert self.mirror.timers() == self.mirror.expected_timers(self.world), self.story()
        assert self.mirror.followed == self.followed, self.story()
        done = self.calls
        if standing_still_in(self.universe, self.world) is not None:
            done = self.calls[: len(self.mirror.calls)]
        assert self.mirror.calls == done, f"{self.story()}\n{self.mirror.calls}\n{self.calls}"

    def story(self) -> str:
        return "\n".join([f"{self.universe.system.qualified}:", *self.told])


def _refused(error: Exception, fault: Fault) -> bool:
    """What no machine is asked about: a message that is not there, a recovery of what is not down."""
    return fault.kind == "unhandled" and type(error).__name__ in ("StepRefused", "StaleAnswer")


def standing_still_in(universe: Universe, world: World) -> Pending | None:
    """The pending action that everything waits for."""
    return standing_still(StepInProgress(universe, world)) if world.pending else None


def has_value(universe: Universe, t: m.Type) -> bool:
    """A reference needs an instance, and machines of a library may have none. Sets, lists and options may be empty."""
    match t:
        case m.RefType(machine):
            return any(isinstance(x, int) for x in universe.instances_of(machine))
        case m.RecordType(parts=parts):
            return all(has_value(universe, of) for _, of in parts)
        case _:
            return True


def value_of(random: Random, universe: Universe, t: m.Type) -> Value:
    """Any value of a type."""
    match t:
        case m.BoolType():
            return random.random() < 0.5
        case m.RangeType(low, high):
            return random.randint(low, min(high, low + 20))
        case m.EnumType(members=members):
            return random.choice(members)
        case m.RefType(machine):
            found = sorted(x for x in universe.instances_of(machine) if isinstance(x, int))
            if not found:
                raise TooManyValuesError(machine)
            return random.choice(found)
        case m.OptionalType(of):
            return None if random.random() < 0.3 or not has_value(universe, of) else value_of(random, universe, of)
        case m.RecordType(parts=parts):
            return RecordValue(tuple(value_of(random, universe, of) for _, of in parts))
        case m.SetType(of):
            return frozenset(
                value_of(random, universe, of) for _ in range(random.randint(0, 3) * has_value(universe, of))
            )
        case m.ListType(of=of, bound=bound):
            return tuple(
                value_of(random, universe, of) for _ in range(random.randint(0, bound) * has_value(universe, of))
            )
        case m.MapType(of=of):
            return Table(tuple((k, value_of(random, universe, of)) for k in keys(t, universe)))
        case m.OpaqueType(name):
            return name
        case _:
            return 0
