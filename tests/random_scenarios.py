"""Scenarios of random walks: what `as_scenario` says of a walk, and the transitions that it followed."""

from __future__ import annotations

from random import Random

from fsmdsl.report.as_scenario import Script, as_scenario
from fsmdsl.runs.trace import run
from fsmdsl.search import Trace
from fsmdsl.step import FaultError, Followed, Step, TooManyValuesError, Universe, enabled, fire
from fsmdsl.syntax.words import RESERVED


def wandering(universe: Universe, seed: int, most: int = 10) -> Trace:
    """A run of so many steps, or up to a fault, that takes every kind of step as often as it can: messages are
    delivered, lost and repeated as often as events are sent."""
    random = Random(seed)
    start = random.choice(universe.starts) if len(universe.starts) > 1 else universe.start
    world, steps = start, list[Step]()
    try:
        for _ in range(most):
            kinds: dict[str, list[Step]] = {}
            for s in enabled(universe, world):
                kinds.setdefault(type(s).__name__, []).append(s)
            if not kinds:
                break
            steps.append(random.choice(random.choice(list(kinds.values()))))
            result = fire(universe, world, steps[-1])
            world = result.world
            if result.fault is not None:
                break
    except (FaultError, TooManyValuesError):
        pass
    return run(universe, steps, start=start)


def scenario_of(trace: Trace, name: str, *, own: bool = False) -> Script:
    """A walk as a scenario, and at its end a `via` where names can say what was followed."""
    script = as_scenario(trace, name, own=own)
    labels = [
        trace.roster.machines[x.instance].transitions[x.transition].name
        for entry in trace.entries
        if entry.fault is None
        for x in entry.cascade
        if isinstance(x, Followed)
    ]
    if script.cut is not None or not labels or any(x in RESERVED or not x.isidentifier() for x in labels):
        return script
    return Script(f"{script.text.removesuffix('}' + chr(10))}    via {', '.join(labels)}\n}}\n", None)
