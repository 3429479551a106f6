"""What must be so for every spec, tried on random ones: no stage fails, and the same question has the same answer."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from random import Random
from typing import get_args

import pytest
from random_specs import spec
from tiers import today

from fsmdsl import model as m
from fsmdsl.check import check
from fsmdsl.model.resolve import resolve
from fsmdsl.search import Limits, Means, explore
from fsmdsl.step import (
    CrashStep,
    EventStep,
    FaultError,
    FaultKind,
    Followed,
    OutcomeStep,
    RecordValue,
    Requested,
    Result,
    Step,
    TimerStep,
    TooManyValuesError,
    Universe,
    Value,
    World,
    enabled,
    fire,
    initial,
)
from fsmdsl.step.describe import describe, fault_message
from fsmdsl.syntax.format import format_source
from fsmdsl.syntax.parse import parse
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Source

SEEDS = range(240)
RUNS, STEPS, STATES = 3, 12, 40


@cache
def model_of(seed: int) -> m.Model:
    """The model of a spec, which has nothing wrong."""
    parsed = parse(Source(f"{seed}.fsm", spec(seed)))
    assert parsed.diagnostics == ()
    resolved = resolve([parsed.module])
    assert resolved.diagnostics == ()
    assert resolved.model is not None
    return resolved.model


def system_of(model: m.Model) -> m.System:
    (system,) = model.systems.values()
    return system


@pytest.fixture(params=today(SEEDS))
def seed(request: pytest.FixtureRequest) -> int:
    return int(request.param)


# Stages --------------------------------------------------------------------------------------------------------------


def test_a_spec_is_the_same_for_its_seed(seed: int) -> None:
    assert spec(seed) == spec(seed)
    assert model_of(seed) == model_of.__wrapped__(seed)


def test_checks_find_the_same_twice(seed: int) -> None:
    def told(found: list[Diagnostic]) -> list[tuple[str, str, str]]:
        return [(d.rule.code, str(d.span), d.message) for d in found]

    assert told(check(model_of(seed))) == told(check(model_of(seed)))


def test_formatting_changes_no_meaning_and_nothing_twice(seed: int) -> None:
    once = format_source(parse(Source(f"{seed}.fsm", spec(seed))))
    parsed = parse(Source(f"{seed}.fsm", once))
    assert parsed.diagnostics == ()
    assert resolve([parsed.module]).model == model_of(seed)
    assert format_source(parsed) == once


# Steps ---------------------------------------------------------------------------------------------------------------


def test_steps_end_in_worlds_of_declared_types_or_in_faults(seed: int) -> None:
    model = model_of(seed)
    universe = Universe(model, system_of(model))
    for run in range(RUNS):
        random = Random(run)
        world = initial(universe)
        for _ in range(STEPS):
            check_world(universe, world)
            steps = possible(universe, world)
            tried = [random.choice(steps)] if steps else []
            for step in [*tried, unasked(universe, world, random)]:
                result = fire(universe, world, step)
                check_result(universe, world, step, result)
                assert fire(universe, world, step) == result
            ended = [
                r for s in random.sample(steps, min(3, len(steps))) if (r := fire(universe, world, s)).fault is None
            ]
            if not ended:
                break
            world = ended[0].world


def possible(universe: Universe, world: World) -> list[Step]:
    """The steps that can come next; none where the environment cannot say."""
    try:
        steps = enabled(universe, world)
    except (FaultError, TooManyValuesError):
        return []
    assert steps == enabled(universe, world)
    assert len(set(steps)) == len(steps)
    named = [s for s in steps if isinstance(s, EventStep | OutcomeStep)]
    assert len({describe(universe, s) for s in named}) == len(named)
    return steps


def unasked(universe: Universe, world: World, random: Random) -> Step:
    """An event, an answer or a timer, whether it can come next or not."""
    n = random.randrange(len(universe.machines))
    machine = universe.machines[n]
    timers = [t.index for t in machine.transitions if isinstance(t.trigger, m.OnTimer)]
    answers = [(a.name, o) for a in machine.actions for o in a.outcomes]
    if timers and random.random() < 0.2:
        return TimerStep(n, random.choice(timers))
    if answers and random.random() < 0.3:
        return OutcomeStep(n, *random.choice(answers))
    event = random.choice(machine.events)
    return EventStep(n, event.name, tuple(some_value(universe, p.type, random) for p in event.parameters))


def some_value(universe: Universe, t: m.Type, random: Random) -> Value:
    """A value of a type."""
    match t:
        case m.BoolType():
            return random.random() < 0.5
        case m.RangeType(low, high):
            return random.randint(low, high)
        case m.EnumType(members=members):
            return random.choice(members)
        case m.RefType(machine):
            return random.choice(numbers(universe, machine))
        case m.OptionalType(of):
            return None if random.random() < 0.5 else some_value(universe, of, random)
        case m.RecordType(parts=parts):
            return RecordValue(tuple(some_value(universe, of, random) for _, of in parts))
        case m.SetType(of):
            return frozenset(some_value(universe, of, random) for _ in range(random.randint(0, 2)))
        case m.ListType(of, bound):
            return tuple(some_value(universe, of, random) for _ in range(random.randint(0, bound)))
        case m.OpaqueType(name):
            return name
        case _:
            return 0


def numbers(universe: Universe, machine: str) -> list[int]:
    return [n for n, i in enumerate(universe.system.instances) if i.machine == machine]


# Worlds --------------------------------------------------------------------------------------------------------------


def check_result(universe: Universe, before: World, step: Step, result: Result) -> None:
    """A fault is of a known kind and changes nothing; else the world is what its cascade tells."""
    assert describe(universe, step)
    for h in result.cascade:
        assert describe(universe, h)
    if result.fault is not None:
        assert result.world is before
        assert result.fault.kind in get_args(FaultKind)
        assert fault_message(universe, result.fault)
        return
    check_world(universe, result.world)
    if isinstance(step, CrashStep):  # which may come in the middle of a transition
        return
    states = list(before.states)
    for h in result.cascade:
        if isinstance(h, Followed):
            assert states[h.instance] == h.before or h.before == h.after
            states[h.instance] = h.after
        elif isinstance(h, Requested):
            action = universe.machines[h.instance].action_named[h.action]
            assert all(is_of(universe, p.type, x) for p, x in zip(action.parameters, h.arguments, strict=True))
    assert tuple(states) == result.world.states


def check_world(universe: Universe, world: World) -> None:
    """Every instance in one of its leaves, every value of its type, every message one that its channel may hold."""
    assert hash(world) == hash(World(*world))
    assert len(world.states) == len(world.fields) == len(universe.machines)
    for machine, state, values in zip(universe.machines, world.states, world.fields, strict=True):
        assert state in {s.name for s in machine.states if not s.children}
        for f, value in zip(machine.fields, values, strict=True):
            assert is_of(universe, f.type, value) or (value is None and universe.fault is not None), (f.name, value)
    for (channel, *_), held in zip(universe.queues, world.channels, strict=True):
        assert len(held) <= channel.bound
        for message in held:
            event = universe.model.machines[channel.receiver].event_named[message.event]
            assert channel.qualified in event.senders
            assert all(is_of(universe, p.type, x) for p, x in zip(event.parameters, message.arguments, strict=True))
    assert world.waited <= {p.instance for p in world.pending}
    for p in world.pending:
        assert universe.machines[p.instance].action_named[p.action].outcomes
    assert not world.down or universe.system.recover is not None


def is_of(universe: Universe, t: m.Type, value: Value) -> bool:
    """Is this one of the values of a type?"""
    match t:
        case m.BoolType():
            return value is True or value is False
        case m.RangeType(low, high):
            return type(value) is int and low <= value <= high
        case m.DurationType():
            return type(value) is int and value >= 0
        case m.EnumType(members=members):
            return value in members
        case m.RefType(machine):
            return type(value) is int and value in numbers(universe, machine)
        case m.OptionalType(of):
            return value is None or is_of(universe, of, value)
        case m.RecordType(parts=parts):
            pairs = zip(parts, value.parts, strict=True) if isinstance(value, RecordValue) else ()
            return isinstance(value, RecordValue) and all(is_of(universe, of, x) for (_, of), x in pairs)
        case m.SetType(of):
            return isinstance(value, frozenset) and all(is_of(universe, of, x) for x in value)
        case m.ListType(of, bound):
            return isinstance(value, tuple) and len(value) <= bound and all(is_of(universe, of, x) for x in value)
        case m.OpaqueType(name):
            return value == name
        case _:
            return False


# Exploration ---------------------------------------------------------------------------------------------------------


def test_exploration_visits_what_a_plain_search_finds(seed: int) -> None:
    model = model_of(seed)
    system = system_of(model)
    found = explore(model, system, Limits(states=STATES), means=Means(symmetry=False))
    try:
        states, transitions = plain_search(Universe(model, system))
    except TooManyValuesError:
        assert not found.complete
        return
    assert found.complete == (states <= STATES)
    assert found.states == min(states, STATES)
    if found.complete:
        assert found.transitions == transitions
    assert len({(v.kind, v.name, str(v.span)) for v in found.violations}) <= len(found.violations)


def plain_search(universe: Universe) -> tuple[int, int]:
    """How many worlds there are, and how many steps between them. Ends once there are more than `STATES`."""
    seen = {initial(universe)}
    todo = [initial(universe)]
    transitions = 0
    while todo and len(seen) <= STATES:
        world = todo.pop()
        for result in results(universe, world):
            transitions += 1
            if result.fault is None and result.world not in seen:
                seen.add(result.world)
                todo.append(result.world)
    return len(seen), transitions


def results(universe: Universe, world: World) -> Iterator[Result]:
    try:
        steps = enabled(universe, world)
    except FaultError:
        return
    yield from (fire(universe, world, s) for s in steps)
