"""Runs in which a timer fires before a shorter one that started no later: what is said of them, and when."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import pytest
from generating import Generated
from stepping import Run, compiled, only_system
from tiers import enough, today

from fsmdsl import model as m
from fsmdsl.runs.timer_order import first_overtaking
from fsmdsl.runs.trace import run
from fsmdsl.runs.verdicts import judge
from fsmdsl.runs.verdicts.verdict import Verdict
from fsmdsl.search import explore
from fsmdsl.step import EventStep, Step, TimerStep, enabled, fire
from fsmdsl.text.budget import LimitError

LEASE = """machine Lease {
    initial state Held
    state Over
    expire: Held -> Over after 15s
}
machine Holder {
    initial state Leader
    state Gone
    stop: Leader -> Gone after 10s
}
system One {
    lease: Lease
    holder: Holder
    invariant safe: lease in Over => holder in Gone
    reachable both: lease in Over and holder in Leader
}
"""

NOTE = (
    "durations are not compared: in step 1, `lease.expire` (15s) fires before `holder.stop` (10s), which started no "
    "later; a guard of `expire` can exclude this"
)


def test_a_violation_with_an_impossible_order_says_so() -> None:
    model = compiled(LEASE)
    verdicts = {v.name: v for v in explore(model, only_system(model)).verdicts}
    assert verdicts["safe"].explanation[-1] == NOTE
    assert verdicts["both"].explanation == ()


def test_a_limit_that_comes_while_timers_are_compared_costs_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def limited(*_: object) -> Verdict:
        raise LimitError("stopped after 1 second")

    monkeypatch.setattr(judge, "with_timer_order", limited)
    model = compiled(LEASE)
    verdicts = {v.name: v for v in explore(model, only_system(model)).verdicts}
    assert verdicts["safe"].outcome == "violated"
    assert NOTE not in verdicts["safe"].explanation


PAIR = """machine Slow {
    initial state On
    state Off
    event go, again from environment
    slow: On -> Off after 1h
    Off -> On on go
    again: On -> On on again
    ignore go in On
    ignore again in Off
}
machine Fast {
    param patience: duration
    ready: bool = true
    beats: 0..3
    initial state Out
    state In {
        initial state Left
        state Right
    }
    event enter, move, block from environment
    enter: Out -> In on enter
    Left -> Right on move
    Right -> Left on move
    Left, Right on block do ready = not ready
    quick: In -> Out after 5s when ready
    tick: Out after 1min do beats = (beats + 1) % 4
    open: In -> Out after patience
    ec: In -> Out on crash
}
system Two {
    slow: Slow
    fast: Fast
    environment {
        slow.go
        slow.again
        fast.enter
        fast.move
        fast.block
        crash
    }
}
"""


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        (["timeout slow of slow"], (1, "slow", "tick")),
        (["timeout fast of tick", "timeout slow of slow"], None),
        (["fast.enter", "timeout slow of slow"], None),
        (["fast.enter", "slow.again", "timeout slow of slow"], (3, "slow", "quick")),
        (["slow.again", "fast.enter", "timeout slow of slow"], None),
        (["fast.enter", "slow.again", "fast.move", "fast.move", "timeout slow of slow"], (5, "slow", "quick")),
        (["fast.enter", "fast.block", "slow.again", "timeout slow of slow"], None),
        (["fast.enter", "slow.again", "fast.block", "fast.block", "timeout slow of slow"], None),
        (["fast.enter", "fast.block", "fast.block", "slow.again", "timeout slow of slow"], (5, "slow", "quick")),
        (["crash", "timeout slow of slow"], None),
        (["crash", "slow.again", "timeout slow of slow"], (3, "slow", "tick")),
        (["timeout fast of tick"], None),
    ],
)
def test_a_shorter_timer_that_started_no_later_is_overtaken(
    steps: list[str], expected: tuple[int, str, str] | None
) -> None:
    walk = Run(PAIR)
    taken: list[Step] = []
    for name in steps:
        taken.append(walk.called(name))
        walk.take(name)
    x = first_overtaking(walk.universe, run(walk.universe, taken))
    machines = walk.universe.machines
    names = None if x is None else tuple(machines[n].transitions[t].name for n, t in (x.fired, x.running))
    assert (None if x is None or names is None else (x.step, *names)) == expected


# Clocks --------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Generated:
    folder: Path = tmp_path_factory.mktemp("clocks")
    return Generated(folder, f"module pair\n{PAIR.replace('        crash', '')}")


def walked(package: Generated, seed: int, patience: float) -> list[Step]:
    """The steps that classes take while a clock runs, with events at random times."""
    random, clock = Random(seed), package.VirtualClock()
    system = package.System(clock)
    slow, fast = package.Slow(system), package.Fast(system, patience=patience)
    machines = {slow: package.model.machines["pair.Slow"], fast: package.model.machines["pair.Fast"]}
    steps: list[Step] = []

    def record(followed: tuple[Any, ...]) -> None:
        for x in followed:
            instance = list(machines).index(x.machine)
            timers = [t for t in machines[x.machine].transitions if isinstance(t.trigger, m.OnTimer)]
            fired = [t.index for t in timers if t.name == x.label and t.source in (x.source.display, "In")]
            steps.append(TimerStep(instance, fired[0]) if fired else EventStep(instance, x.event))

    system.listen(record)
    events = [slow.go, slow.again, fast.enter, fast.move, fast.block]
    for _ in range(40):
        clock.advance(random.choice([1, 3, 10, 70, 1000, 3000]))
        with suppress(package["machinery"].StepRefused):
            random.choice(events)()
    return steps


def test_no_clock_allows_what_is_called_impossible(package: Generated) -> None:
    """Of runs of generated classes with a clock, nothing is said. Without a clock, it is often said."""
    timeouts = 0
    for seed in today(range(80)):
        for patience in (2, 4000):
            text = PAIR.replace("fast: Fast", f"fast: Fast {{ patience = {patience}s }}")
            walk = Run(text)
            steps = walked(package, seed, float(patience))
            trace = run(walk.universe, steps)
            assert trace.fault is None
            assert len(trace.entries) == len(steps)
            assert first_overtaking(walk.universe, trace) is None
            timeouts += sum(isinstance(step, TimerStep) for step in steps)
    assert timeouts >= enough(400)


def test_runs_without_a_clock_are_often_impossible() -> None:
    walk, random = Run(PAIR), Random(0)
    impossible = 0
    for _ in range(50):
        world, steps = walk.universe.start, list[Step]()
        for _ in range(20):
            steps.append(random.choice(enabled(walk.universe, world)))
            world = fire(walk.universe, world, steps[-1]).world
        impossible += first_overtaking(walk.universe, run(walk.universe, steps)) is not None
    assert impossible >= 25
