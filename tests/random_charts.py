"""Random machines whose whole meaning a statechart can have: nested states, guards over the arguments of events,
timers, rows without events, actions on entry and exit; what they do, by the definition of a step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from stepping import compiled

from fsmdsl import model as m
from fsmdsl.runs.simulation.closed_system import closed
from fsmdsl.step import EventStep, Universe, enabled, fire, initial
from fsmdsl.step.world import Requested, Step, TimerStep

GUARDS = ["", "", " when a", " when not a", " when b", " when a and not b", " when a or b", " when true"]
EVENTS = ("go", "halt", "tick")


def text_of(seed: int) -> str:
    """The spec of a machine `M`."""
    random = Random(seed)
    count = random.randint(2, 8)
    parents: list[int | None] = [random.choice([None, None, *range(n)]) for n in range(count)]
    parents[0] = None
    names = [f"S{n}" for n in range(count)]
    leaves = [n for n in range(count) if n not in parents]

    def states(parent: int | None) -> str:
        inside = [n for n in range(count) if parents[n] == parent]
        first = 0 if parent is None else random.choice(inside) if inside else None
        return " ".join(f"{'initial ' * (n == first)}state S{n} {{ {states(n)} }}" for n in inside)

    rows = []
    for k in range(random.randint(3, 14)):
        source = random.choice([*names, *names, *names, "*"])
        target = random.choice([*(f" -> {x}" for x in names), *(f" -> {x}" for x in names), ""])
        kind = random.random()
        if kind < 0.8:
            trigger = f" on {random.choice(EVENTS)}(a, b){random.choice(GUARDS)}"
        elif kind < 0.95 or source == "*" or not target:
            trigger = f" after {k + 1}s"
        else:
            source, trigger = f"S{random.choice(leaves)}", ""
        rows.append(f"r{k}: {source}{target}{trigger} do t{k}")
    hooks = [f"on {kind}({x}) do {kind}_{x}" for x in names for kind in ("entry", "exit") if random.random() < 0.7]
    chain = random.sample([f"r{k}" for k in range(len(rows))], len(rows))
    actions = [f"t{k}" for k in range(len(rows))] + [f"{kind}_{x}" for x in names for kind in ("entry", "exit")]
    lines = [
        f"machine M {{\n{states(None)}\n",
        *(f"event {x}(a: bool, b: bool) from environment" for x in EVENTS),
        f"action {', '.join(actions)}",
        *rows,
        *hooks,
        f"priority {' > '.join(chain)}" if random.random() < 0.8 else "",
        "}",
    ]
    return "\n".join(lines)


def machine_of(seed: int) -> tuple[m.Model, m.Machine]:
    """The machine of a seed."""
    model = compiled(text_of(seed))
    return model, model.machines["test.M"]


@dataclass(frozen=True, slots=True)
class Told:
    """One step of a walk: what comes, and what the definition does with it."""

    event: str
    """An event, or `after STATE MILLISECONDS`."""
    arguments: dict[str, bool]
    state: str
    actions: tuple[str, ...]


def walk(model: m.Model, machine: m.Machine, seed: int, length: int) -> Iterator[Told]:
    """A random walk, without steps that fail but for an event that nothing handles: a statechart drops that."""
    universe = Universe(model, closed(model, machine))
    world, random = initial(universe), Random(seed)
    for _ in range(length):
        timers = [x for x in enabled(universe, world) if isinstance(x, TimerStep)]
        given = {"a": random.random() < 0.5, "b": random.random() < 0.5}
        step: Step = EventStep(0, random.choice(EVENTS), (given["a"], given["b"]))
        if timers and random.random() < 0.3:
            step = random.choice(timers)
        result = fire(universe, world, step)
        if result.fault is not None and result.fault.kind != "unhandled":
            continue
        world = result.world
        actions = tuple(x.action for x in result.cascade if isinstance(x, Requested)) if result.fault is None else ()
        yield Told(_called(machine, step), given, world.states[0], actions)


def _called(machine: m.Machine, step: Step) -> str:
    if isinstance(step, EventStep):
        return step.event
    assert isinstance(step, TimerStep)
    t = machine.transitions[step.transition]
    assert isinstance(t.trigger, m.OnTimer)
    assert isinstance(t.trigger.duration, m.Constant)
    return f"after {t.source} {t.trigger.duration.value}"
