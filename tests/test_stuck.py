"""`stuck(x)`: who can never move again, though others go on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from campaign import systems
from random_systems import text_of
from stepping import compiled, only_system
from tiers import today

from fsmdsl import model as m
from fsmdsl.search import Limits, Means, Verdict, explore
from fsmdsl.step import Universe, World, enabled, fire, initial
from fsmdsl.step.world import Crashed, Followed

PHILOSOPHERS = """module masked
machine Fork {
    holder: Phil?
    initial state Here
    event take(p: Phil), put from Phil
    take: Here on take(p) when holder == none do holder = p
    put:  Here on put do holder = none
}
machine Phil {
    param one: Fork
    param two: Fork
    initial state Thinks
    state Hungry
    state Eats
    event first, second, done from environment
    Thinks -> Hungry on first when one.holder == none do one.take(self)
    Hungry -> Eats on second when two.holder == none do two.take(self)
    Eats -> Thinks on done do { one.put; two.put }
}
machine Job {
    initial state Runs
    event again from environment
    Runs on again
}
system Two {
    forks: Fork[2]
    phils: Phil[2] { one = forks[ONE], two = forks[TWO] }
    job: Job
    PROPERTIES
}
"""


def verdicts(text: str, limits: Limits | None = None, stutter: bool = False) -> dict[str, Verdict]:
    model = compiled(text)
    found = explore(model, only_system(model), limits or Limits(), means=Means(compiled=False), stutter=stutter)
    return {v.name: v for v in found.verdicts}


def philosophers(one: str, two: str, *properties: str) -> str:
    listed = "\n".join(f"property {x}" for x in properties)
    return PHILOSOPHERS.replace("ONE", one).replace("TWO", two).replace("PROPERTIES", listed)


def test_a_deadlock_of_some_is_found_while_others_go_on() -> None:
    found = verdicts(philosophers("index", "1 - index", "free: all x in Phil: always not stuck(x)"))
    assert found["no deadlock"].outcome == "holds"
    free = found["free"]
    assert free.outcome == "violated"
    assert free.trace is not None
    assert [e.world.states[2:4] for e in free.trace.entries] == [("Hungry", "Thinks"), ("Hungry", "Hungry")]
    assert free.explanation == ("for x = p0: after step 2, no step that can still come is one of `x`",)


def test_who_takes_forks_in_one_order_is_never_stuck() -> None:
    found = verdicts(
        philosophers(
            "0",
            "1",
            "free: all x in Phil: always not stuck(x)",
            "never: eventually stuck(phils[0])",
            "eats: all x in Phil: x in Hungry ~> x in Eats or stuck(x) under fair second, done",
        )
    )
    outcomes = {name: v.outcome for name, v in found.items() if v.kind == "property"}
    assert outcomes == {"free": "holds", "never": "violated", "eats": "holds"}


def test_a_run_that_stands_still_is_not_stuck() -> None:
    text = philosophers("index", "1 - index", "free: always not stuck(phils[1])", "both: stuck(phils[0]) ~> stuck(job)")
    found = verdicts(text, stutter=True)
    free, both = found["free"], found["both"]
    assert free.explanation == ("after step 2, no step that can still come is one of `phils[1]`",)
    assert both.explanation == (
        "after step 2, `stuck(phils[0])` holds",
        "from step 2 on, `stuck(job)` is never true",
    )
    assert verdicts(philosophers("0", "1", "free: always not stuck(phils[1])"), stutter=True)["free"].outcome == "holds"


def test_what_is_not_explored_may_still_come() -> None:
    text = philosophers("index", "1 - index", "free: all x in Phil: always not stuck(x)")
    assert verdicts(text, Limits(3))["free"].outcome == "unknown"


def test_it_is_asked_of_one_instance_that_is_known() -> None:
    text = philosophers("index", "1 - index", "odd: always not stuck(forks[0].holder)")
    found = verdicts(text)["odd"]
    assert (found.outcome, found.basis) == (
        "not checked",
        "`stuck` needs one fixed instance, but `forks[0].holder` can change",
    )


# Random systems ------------------------------------------------------------------------------------------------------

STATES = 120


def stuck_at(universe: Universe) -> dict[int, int] | None:
    """For each instance that can be stuck, after how many steps at the least, straight from the definition; None where
    there are more states than `STATES`."""
    first = initial(universe)
    depth, after, moved = {first: 0}, dict[World, list[World]](), dict[World, set[int]]()
    waiting = [first]
    for world in waiting:
        after[world], moved[world] = [], set()
        for step in enabled(universe, world):
            result = fire(universe, world, step)
            if result.fault is not None:
                continue
            after[world].append(result.world)
            crashes = [n for n, h in enumerate(result.cascade) if isinstance(h, Crashed)]
            counted = result.cascade[crashes[-1] + 1 :] if crashes else result.cascade
            followed = [h for h in counted if isinstance(h, Followed)]
            triggers = [(h.instance, universe.machines[h.instance].transitions[h.transition].trigger) for h in followed]
            moved[world] |= {n for n, t in triggers if not isinstance(t, m.OnCrash)}
            if result.world not in depth:
                depth[result.world] = depth[world] + 1
                waiting.append(result.world)
        if len(depth) > STATES:
            return None
    return {n: d for n in range(len(universe.machines)) if (d := _least(universe, n, depth, after, moved)) is not None}


def _least(
    universe: Universe,
    n: int,
    depth: dict[World, int],
    after: dict[World, list[World]],
    moved: dict[World, set[int]],
) -> int | None:
    free = {w for w in depth if n in moved[w]}
    while more := {w for w in depth if w not in free and any(x in free for x in after[w])}:
        free |= more
    machine = universe.machines[n]
    own = [t for t in machine.transitions if not isinstance(t.trigger, m.OnCrash)]
    lasting = {s.name for s in machine.leaves if s.final}
    left = {leaf for t in own for leaf in machine.leaves_of(t.source)} - lasting
    return min((d for w, d in depth.items() if w not in free and w.states[n] in left), default=None)


@pytest.mark.parametrize("seed", today(range(500, 540)))
def test_random_systems_are_stuck_where_the_definition_says(seed: int) -> None:
    for model, system in systems(text_of(seed)):
        wanted = stuck_at(Universe(model, system))
        if wanted is None or Universe(model, system).fault is not None:
            continue
        asked = [
            m.Property(
                f"p{n}",
                m.Temporal(
                    "always",
                    (m.Not(m.Temporal("stuck", (m.InstanceRef(i.group, i.index, m.RefType(i.machine)),))),),
                ),
                (),
                False,
                "",
            )
            for n, i in enumerate(system.instances)
        ]
        alone = replace(system, properties=tuple(asked))
        found = explore(model, alone, Limits(), means=Means(compiled=False))
        told = {int(v.name[1:]): v for v in found.verdicts if v.kind == "property"}
        assert {n for n, v in told.items() if v.outcome == "violated"} == set(wanted)
        lengths = {n: len(v.trace.entries) for n, v in told.items() if v.trace is not None}
        assert lengths == wanted
