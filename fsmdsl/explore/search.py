"""Every reachable world of a system, breadth first, so that the first violation found is a shortest one.

Plain and slow, by the definition of the language itself. Instances are not exchanged for one another where a group is
`symmetric`, and nothing is hashed away: two worlds are the same when they are equal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Literal

from fsmdsl import model as m
from fsmdsl.explore.explain import explain
from fsmdsl.explore.trace import Entry, Trace
from fsmdsl.explore.verdict import Limits, Progress
from fsmdsl.step import Fault, FaultError, Step, TooManyValuesError, Universe, World, enabled, fire, initial, stuck
from fsmdsl.step.evaluate import Frame, truth
from fsmdsl.step.world import Followed, Result

REPORT_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Question:
    """An invariant, of the system or of one instance, or a `reachable`."""

    kind: Literal["invariant", "reachable"]
    name: str
    key: tuple[str, str]
    """The same for all instances of a machine: which of them breaks an invariant makes no difference."""
    instance: int | None
    asked: m.Invariant | m.Reachable


@dataclass(frozen=True, slots=True)
class Finding:
    """Where something was found: in a world, or in a step from it that fails."""

    world: int
    step: Step | None = None
    fault: Fault | None = None
    explanation: tuple[str, ...] = ()


class Search:
    """The worlds found so far, each with the step that led to it first."""

    def __init__(self, universe: Universe, limits: Limits, progress: Callable[[Progress], None] | None) -> None:
        self.universe = universe
        self.limits = limits
        self.progress = progress
        self.begun = perf_counter()
        self.worlds: list[World] = []
        self.number: dict[World, int] = {}
        self.parent: list[int] = []
        self.step: list[Step | None] = []
        self.transitions = 0
        self.depth = 0
        self.stopped: str | None = None
        self.followed: set[tuple[str, int]] = set()
        self.questions = questions(universe)
        self.open = self.questions
        """Questions that no world has settled yet."""
        self.settled: dict[tuple[str, str], Finding] = {}
        self.faults: dict[tuple[str, ...], Finding] = {}
        self.deadlock: Finding | None = None

    # Going through

    def run(self) -> None:
        """Explore until there is nothing new, or a limit is reached."""
        try:
            self._add(initial(self.universe), -1, None)
            self._levels()
        except TooManyValuesError as error:
            self.stopped = f"stopped: the environment would have to choose among {error}"

    def _levels(self) -> None:
        begin = 0
        while begin < len(self.worlds) and self.stopped is None:
            end = len(self.worlds)
            for at in range(begin, end):
                self._watch(at)
                if self.stopped is not None:
                    return
                self._expand(at)
            self.depth += len(self.worlds) > end
            begin = end

    def _watch(self, at: int) -> None:
        seconds = self.limits.seconds
        if seconds is not None and perf_counter() - self.begun > seconds:
            self.stopped = f"stopped after {seconds:g} seconds"
        if self.progress is not None and at % REPORT_EVERY == 0:
            self.progress(Progress(len(self.worlds), self.transitions, self.depth, len(self.worlds) - at))

    def _expand(self, at: int) -> None:
        world = self.worlds[at]
        try:
            steps = enabled(self.universe, world)
        except FaultError as error:
            self._fault(at, None, error.fault)
            return
        if self.deadlock is None and stuck(self.universe, world, steps):
            self.deadlock = Finding(at)
        for step in steps:
            result = fire(self.universe, world, step)
            self.transitions += 1
            if result.fault is not None:
                self._fault(at, step, result.fault)
            else:
                self._arrive(at, step, result)
            if self.stopped is not None:
                return

    def _arrive(self, at: int, step: Step, result: Result) -> None:
        instances = self.universe.system.instances
        self.followed.update(
            (instances[h.instance].machine, h.transition) for h in result.cascade if type(h) is Followed
        )
        if result.world in self.number:
            return
        if self.limits.states is not None and len(self.worlds) >= self.limits.states:
            self.stopped = f"stopped at {self.limits.states} states"
            return
        self._add(result.world, at, step)

    def _add(self, world: World, parent: int, step: Step | None) -> None:
        self.number[world] = len(self.worlds)
        self.worlds.append(world)
        self.parent.append(parent)
        self.step.append(step)
        self._ask(len(self.worlds) - 1, world)

    # Judging

    def _ask(self, at: int, world: World) -> None:
        """Settle what this world settles: an invariant that it breaks, a `reachable` that it shows."""
        left: list[Question] = []
        for q in self.open:
            if q.key in self.settled:
                continue
            finding = self._answer(q, at, world)
            if finding is None:
                left.append(q)
            else:
                self.settled[q.key] = finding
        self.open = left

    def _answer(self, q: Question, at: int, world: World) -> Finding | None:
        frame = Frame(self.universe, world, q.instance)
        try:
            found = truth(frame, q.asked.condition)
        except FaultError:
            found = False
        if found is (q.kind == "invariant"):
            return None
        if q.kind == "reachable":
            return Finding(at)
        told = explain(frame, q.asked.condition)
        whose = "" if q.instance is None else f"in {self.universe.name(q.instance)}: "
        return Finding(at, explanation=tuple(whose + line for line in told))

    def _fault(self, at: int, step: Step | None, fault: Fault) -> None:
        """The first of each kind and place; which instance it was makes no difference."""
        text = fault.message
        if fault.instance is not None:
            text = text.replace(self.universe.name(fault.instance), "*")
        key = (fault.kind, str(fault.span), text)
        self.faults.setdefault(key, Finding(at, step, fault))

    # Showing

    def trace(self, finding: Finding) -> Trace:
        """The run to a finding, fired anew."""
        path = [finding.world]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        trace = Trace(self.universe, self.worlds[path.pop()])
        steps = [self.step[n] for n in reversed(path)]
        for step in [*steps, finding.step]:
            if step is not None:
                result = fire(self.universe, trace.end, step)
                trace = trace.extended(Entry(step, result.cascade, result.world, result.fault))
        return trace


def questions(universe: Universe) -> list[Question]:
    """What is asked of every world."""
    system = universe.system
    found = [Question("invariant", x.name, ("invariant", x.name), None, x) for x in system.invariants]
    for n, machine in enumerate(universe.machines):
        for x in machine.invariants:
            found.append(Question("invariant", f"{machine.name}: {x.name}", (machine.qualified, x.name), n, x))
    return found + [Question("reachable", x.name, ("reachable", x.name), None, x) for x in system.reachables]
