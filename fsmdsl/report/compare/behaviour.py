"""What one version of a system can do and the other cannot: both are run side by side, by the definition of the
language, along every run that both allow, the shortest first.

What is looked at in a step is what comes from outside (event, instance, arguments) and what the world is then: the
state of each instance, the fields that both versions have, messages, answers awaited. A step is allowed where it can
come and does not fail.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import product
from typing import Any, Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.report.compare.observations import Observed, Version
from fsmdsl.report.compare.source_text import Names
from fsmdsl.runs.trace import Trace, run
from fsmdsl.search import Limits, budget_of
from fsmdsl.step import (
    EventStep,
    Followed,
    Result,
    Step,
    TimerStep,
    TooManyValuesError,
    Universe,
    World,
    enabled,
    fire,
    within,
)
from fsmdsl.step.describe import fault_message
from fsmdsl.text.budget import INTERRUPTED, Budget, LimitError

Steps = Mapping[Any, tuple[Step, Result]]
"""What is allowed next, by what it is called in both versions."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Where a comparison stops."""

    pairs: int = 50_000
    seconds: float = 10.0
    memory: int | None = None
    """Bytes of the process; None: three quarters of what is free."""

    def budget(self) -> Budget:
        """For one comparison or exploration, from now on."""
        return budget_of(Limits(seconds=self.seconds)) if self.memory is None else Budget(self.seconds, self.memory)


@dataclass(frozen=True, slots=True)
class Run:
    """A shortest run that one version allows and the other does not; only its last step tells them apart."""

    allowed_by: Version
    trace: Trace
    why: str
    """What the other version does instead."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """Of a system, or of one machine alone."""

    name: str
    outcome: Literal["same", "different", "unknown"]
    basis: str
    """`exhaustively: 416 states`, `within the bound: …`, `up to 50000 states`, or why they cannot be compared."""
    runs: tuple[Run, ...] = ()
    alone: bool = False
    """One instance of a machine, to which every event may come."""
    comparable: bool = True


def behaviour(
    old: Universe, new: Universe, states: Mapping[str, Names], bounds: Bounds, budget: Budget | None = None
) -> Behaviour:
    """Compare a system of two models. `states` are the new names of states, by machine (qualified). `budget`: that of
    the caller, which has entered it; else that of the bounds, which is then looked at between two states.

    Takes time in proportion to the pairs of states that a common run leads to.
    """
    name, budget = new.system.qualified, budget or bounds.budget()
    before, after = ([x.name for x in u.system.instances] for u in (old, new))
    if before != after:
        return _not_comparable(name, f"the instances were {_list(before)}, and are {_list(after)}")
    for universe in (old, new):
        if universe.fault is not None:
            message = fault_message(universe, universe.fault)
            return _not_comparable(name, f"it cannot begin as declared: {message}")
    both = _Product(old, new, states, bounds)
    try:
        with budget.patience():
            both.search(budget)
    except TooManyValuesError as error:
        return _not_comparable(name, f"the environment would have to choose among {error}")
    except LimitError:
        both.stopped = both.within(bounds)
    interruptible(budget)
    runs = tuple(both.runs[version] for version in ("old", "new") if version in both.runs)
    return Behaviour(name, "different" if runs else "unknown" if both.stopped else "same", both.basis(), runs)


def interruptible(budget: Budget) -> None:
    """Ctrl-C ends a comparison, and not only a part of it."""
    if budget.reached == INTERRUPTED:
        raise KeyboardInterrupt


def _not_comparable(name: str, why: str) -> Behaviour:
    return Behaviour(name, "unknown", f"not comparable: {why}", comparable=False)


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"


class _Product:
    """The pairs of worlds found so far, each with the steps that led to it first."""

    def __init__(self, old: Universe, new: Universe, states: Mapping[str, Names], bounds: Bounds) -> None:
        self.old, self.new, self.bounds = old, new, bounds
        self.observed = Observed(old, new, states)
        self.pairs: list[tuple[World, World]] = []
        self.visited: set[tuple[World, World]] = set()
        self.parent: list[tuple[int, Step | None, Step | None]] = []
        self.runs: dict[Version, Run] = {}
        self.stopped = ""
        self.beyond = False
        """Were pairs found beyond the bounds of one of the systems? From these no step is compared."""
        self.blurred = False
        """Timers were taken as one that differ in what is not looked at."""

    def search(self, budget: Budget) -> None:
        """Breadth first, until each version allows what the other does not, or there is nothing new."""
        self._begin()
        at = 0
        while at < len(self.pairs) and len(self.runs) < 2:
            if len(self.pairs) > self.bounds.pairs:
                self.stopped = f"up to {self.bounds.pairs:,} states"
                return
            if budget.over():
                self.stopped = self.within(self.bounds)
                return
            self._expand(at)
            at += 1

    def _begin(self) -> None:
        """Worlds that look the same, of those that each version begins in; and those that only one begins in."""
        olds, news = defaultdict[Any, list[World]](list), defaultdict[Any, list[World]](list)
        for x in self.old.starts:
            olds[self.observed.view(x, "old")].append(x)
        for x in self.new.starts:
            news[self.observed.view(x, "new")].append(x)
        for view in (x for x in olds if x in news):
            for a, b in product(olds[view], news[view]):
                self._arrive(a, b, (-1, None, None))
        for view in (x for x in {**olds, **news} if x not in olds or x not in news):
            version: Version = "old" if view in olds else "new"
            universe, begun = (self.old, olds) if version == "old" else (self.new, news)
            why = "it does not begin so there"
            if len(olds) == len(news) == 1:
                why = "; ".join(x.describe(version) for x in self.observed.differences(self.old.start, self.new.start))
            self.runs.setdefault(version, Run(version, Trace(universe, begun[view][0]), why))

    def within(self, bounds: Bounds) -> str:
        """How far it came in its time."""
        return f"up to {len(self.pairs):,} states, in {bounds.seconds:g} seconds"

    def basis(self) -> str:
        """The evidence for the answer."""
        how_far = "" if self.runs else "within the bound: " if self.beyond else "exhaustively: "
        text = self.stopped or f"{how_far}{len(self.pairs):,} states"
        return f"{text}; timers with the same visible effect count as one" if self.blurred else text

    def _expand(self, at: int) -> None:
        a, b = self.pairs[at]
        if not (within(self.old, a) and within(self.new, b)):
            self.beyond = True
            return
        olds, news = self._allowed(self.old, a, "old"), self._allowed(self.new, b, "new")
        for label, (step, result) in olds.items():
            if label in news:
                twin, other = news[label]
                self._arrive(result.world, other.world, (at, step, twin))
            else:
                self._note("old", (at, step, None), _why(self.new, b, step))
        for label, (step, _) in news.items():
            if label not in olds:
                self._note("new", (at, None, step), _why(self.old, a, step))

    def _allowed(self, universe: Universe, world: World, version: Version) -> Steps:
        out: dict[Any, tuple[Step, Result]] = {}
        for step in enabled(universe, world):
            result = fire(universe, world, step)
            if result.fault is None:
                label = self.observed.label(step, result.world, version)
                first = out.setdefault(label, (step, result))
                self.blurred = self.blurred or first[1].world != result.world
        return out

    def _arrive(self, a: World, b: World, by: tuple[int, Step | None, Step | None]) -> None:
        if (a, b) in self.visited:
            return
        differs = self.observed.differences(a, b)
        if differs:
            self._note("old", by, "; ".join(x.describe("old") for x in differs))
            self._note("new", by, "; ".join(x.describe("new") for x in differs))
            return
        self.visited.add((a, b))
        self.pairs.append((a, b))
        self.parent.append(by)

    def _note(self, version: Version, by: tuple[int, Step | None, Step | None], why: str) -> None:
        """The run of a version to here; the first is a shortest."""
        if version in self.runs:
            return
        steps: list[Step] = []
        start = self.pairs[0]
        while by[0] >= 0:
            step = by[1] if version == "old" else by[2]
            assert step is not None
            steps.append(step)
            start = self.pairs[by[0]]
            by = self.parent[by[0]]
        universe, begun = (self.old, start[0]) if version == "old" else (self.new, start[1])
        self.runs[version] = Run(version, run(universe, reversed(steps), start=begun), why)


def _why(other: Universe, world: World, step: Step) -> str:
    """What becomes of a step in the version that does not allow it."""
    if isinstance(step, TimerStep):
        return "no timer does this there"
    if not isinstance(step, EventStep):
        return "it cannot come there"
    event = other.machines[step.instance].event_named.get(step.event)
    if event is None:
        return f"there is no event `{step.event}` there"
    if len(event.parameters) != len(step.arguments):
        return f"`{step.event}` takes other arguments there"
    result = fire(other, world, step)
    if result.fault is not None:
        return f"it fails there: {fault_message(other, result.fault)} ({result.fault.kind})"
    if not any(isinstance(h, Followed) for h in result.cascade):
        return "it is ignored there"
    return "the environment does not send it there"


# Machines alone ------------------------------------------------------------------------------------------------------


def alone(model: m.Model, machine: m.Machine) -> Universe | None:
    """A machine as a system of its own, of one instance, to which every event may come. None where it cannot begin so:
    because it needs a parameter, or another machine from the beginning."""
    if any(p.default is None for p in machine.params) or any(isinstance(f.type, m.RefType) for f in machine.fields):
        return None
    opened = replace(machine, events=tuple(replace(e, senders=()) for e in machine.events))
    name = machine.name[0].lower() + machine.name[1:]
    group = m.InstanceGroup(name, machine.qualified, 1, True, False, machine.span)
    instance = m.Instance(name, name, 0, machine.qualified, machine.initial.name, (), machine.span)
    crashes = (
        (m.CrashOffer("anywhere", None),) if any(isinstance(t.trigger, m.OnCrash) for t in machine.transitions) else ()
    )
    none: tuple[()] = ()
    system = m.System(
        machine.name, machine.module, (group,), (instance,), None, crashes, None, none, none,
        none, none, none, machine.doc, machine.span,
    )  # fmt: skip
    modules = tuple(
        replace(x, machines=tuple(opened if y.qualified == machine.qualified else y for y in x.machines))
        for x in model.modules
    )
    universe = Universe(m.Model(modules), system)
    return universe if universe.fault is None else None
