"""Scenarios of random walks: what `as_scenario` says of a walk, and the transitions that it followed."""

from __future__ import annotations

from random import Random

from fsmdsl.explore import Trace
from fsmdsl.explore.trace import run
from fsmdsl.parse.words import RESERVED
from fsmdsl.report.as_scenario import Script, as_scenario
from fsmdsl.step import ChannelStep, FaultError, Followed, Step, TooManyValuesError, Universe, enabled, fire


def wandering(universe: Universe, seed: int) -> Trace:
    """Ten steps, or those up to a fault. Messages are delivered, lost and repeated as often as anything else."""
    random = Random(seed)
    world, steps = universe.start, list[Step]()
    try:
        for _ in range(10):
            found = enabled(universe, world)
            if not found:
                break
            waiting = [x for x in found if isinstance(x, ChannelStep)]
            steps.append(random.choice(waiting if waiting and random.random() < 0.5 else found))
            result = fire(universe, world, steps[-1])
            world = result.world
            if result.fault is not None:
                break
    except (FaultError, TooManyValuesError):
        pass
    return run(universe, steps)


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
