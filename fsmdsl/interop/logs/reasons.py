"""Why a line is not possible in the worlds before it, and what is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fsmdsl.interop.logs.binding import Claim
from fsmdsl.interop.logs.unify import Names
from fsmdsl.interop.logs.worlds import Possibility, Tracker
from fsmdsl.runs.simulation.refusals import why_not
from fsmdsl.runs.simulation.sendings import TooManyError, sendings
from fsmdsl.step import EventStep, Step
from fsmdsl.step.describe import describe, shown_arguments

MAX_REASONS = 6
"""Maximum number of reasons, and of candidate instances of a name, that are examined."""


def enabled_steps(tracker: Tracker, x: Possibility) -> tuple[str, ...]:
    """What can come next in a world."""
    world = x.node.world
    return tuple(describe(tracker.universe, s, world) for s in tracker.successors.steps(x.node))


def reasons(tracker: Tracker, possible: Sequence[Possibility], claim: Claim) -> tuple[str, ...]:
    """Why a line is not possible after the likeliest run: the one with the fewest hidden steps."""
    best = possible[0]
    return tuple(dict.fromkeys(_reasons(tracker, best, claim)))[:MAX_REASONS]


def _reasons(tracker: Tracker, x: Possibility, claim: Claim) -> Iterator[str]:
    if claim.name is None:
        assert claim.event is not None
        yield from why_not(tracker.universe, x.node.world, claim.event)
        return
    choices = list(tracker.directory.choices(x.names, claim.name, claim.meaning.choice))
    if not choices:
        yield _no_choice(tracker, x, claim)
    for instance, names in choices[:MAX_REASONS]:
        yield from _of_instance(tracker, x, claim, instance, names)


def _no_choice(tracker: Tracker, x: Possibility, claim: Claim) -> str:
    assert claim.name is not None
    roster = tracker.universe
    instance = tracker.directory.bound(x.names, claim.name)
    if instance is not None:
        return f"the line is about one of `{claim.meaning.rule.of}`, but `{claim.name}` is {roster.name(instance)}"
    of = claim.meaning.rule.of
    if of is None:
        return (
            f"the system has no instance `{claim.name}`; with `of`, the mapping binds names to the instances of a set"
        )
    bound = ", ".join(f"`{name}` is {roster.name(n)}" for name, n in x.names if n in claim.meaning.choice)
    count = len(claim.meaning.choice)
    return (
        f"all {count} instances of `{of}` are bound to other names ({bound}), so none is left for `{claim.name}`; "
        "a larger system may explain the line"
    )


def _of_instance(tracker: Tracker, x: Possibility, claim: Claim, instance: int, names: Names) -> Iterator[str]:
    world, roster = x.node.world, tracker.universe
    name = roster.name(instance)
    if claim.event is None:
        if claim.row is not None:
            yield f"no step that ends well follows row `{claim.row}` of {name} here; it is in {world.states[instance]}"
        elif not _is_in(claim, world.states[instance]):
            yield f"{name} is in {world.states[instance]}, but the line says {claim.state}"
        else:
            yield from _fields(tracker, claim, instance, x)
        return
    edges = tracker.successors.own(x.node, (instance, claim.event))
    if not edges:
        yield from why_not(roster, world, f"{name}.{claim.event}" if "timeout" not in claim.event else claim.event)
        return
    if claim.arguments and not any(_has_arguments(tracker, claim, instance, edge.step, names) for edge in edges):
        against = tuple(_against_arguments(tracker, x, claim, instance, names))
        if against:
            yield from against
            return
    for edge in edges[:MAX_REASONS]:
        step, after = describe(roster, edge.step, world), edge.target
        if not _has_arguments(tracker, claim, instance, edge.step, names):
            yield f"{step} is possible, but the line has other arguments"
        elif not _is_in(claim, after.world.states[instance]):
            yield f"after {step}, {name} is in {after.world.states[instance]}, but the line says {claim.state}"
        elif claim.fields:
            yield from _fields(tracker, claim, instance, Possibility(after, names), f"after {step}, ")
        else:
            yield f"{step} is possible, but does not follow row `{claim.row}`"


def _has_arguments(tracker: Tracker, claim: Claim, instance: int, step: Step, names: Names) -> bool:
    arguments = step.arguments if isinstance(step, EventStep) else ()
    return any(True for _ in tracker.arguments(claim, instance, arguments, names))


def _against_arguments(tracker: Tracker, x: Possibility, claim: Claim, instance: int, names: Names) -> Iterator[str]:
    """What stands against an event with the arguments of the line, where the environment may send it with others."""
    roster, world = tracker.universe, x.node.world
    event = roster.machines[instance].event_named.get(claim.event or "")
    if event is None or not event.from_environment:
        return
    try:
        ways = list(sendings(roster, world, instance, event.name))
    except TooManyError:
        return
    for way in ways:
        if any(True for _ in tracker.arguments(claim, instance, way.arguments, names)):
            arguments = shown_arguments(roster, event.parameters, way.arguments)
            yield from why_not(roster, world, f"{roster.name(instance)}.{event.name}{arguments}")


def _is_in(claim: Claim, state: str) -> bool:
    return not claim.meaning.leaves or state in claim.meaning.leaves


def _fields(tracker: Tracker, claim: Claim, instance: int, x: Possibility, when: str = "") -> Iterator[str]:
    machine, roster = tracker.universe.machines[instance], tracker.universe
    values = {f.name: (f.type, v) for f, v in zip(machine.fields, x.node.world.fields[instance], strict=True)}
    for name, logged in claim.fields:
        t, value = values[name]
        if not any(True for _ in tracker.directory.unify(t, logged, value, x.names)):
            text = tracker.directory.label(t, value, x.names)
            yield f"{when}{roster.name(instance)}.{name} is {text}, but the line says {logged}"
