"""Every reachable world of a system, breadth first, so that the first violation found is a shortest one.

Plain and slow, by the definition of the language itself. Instances are not exchanged for one another where a group is
`symmetric`, and nothing is hashed away: two worlds are the same when they are equal.
"""

from __future__ import annotations

from collections.abc import Callable

from fsmdsl.runs.frontier import Frontier
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.liveness.record import Recorder
from fsmdsl.runs.search_result import (
    Finding,
    Question,
    Searched,
    expanded,
    explained,
    settles,
    violated,
)
from fsmdsl.runs.trace import Trace, run
from fsmdsl.runs.verdicts.verdict import AT_VIOLATION, Limits, Progress
from fsmdsl.step import (
    Result,
    Step,
    TooManyValuesError,
    Universe,
    World,
)
from fsmdsl.step.evaluate import Frame
from fsmdsl.text.budget import Budget, LimitError, available

REPORT_EVERY = 1000


class Search(Searched):
    """The worlds found so far, each with the step that led to it first."""

    def __init__(
        self,
        universe: Universe,
        limits: Limits,
        progress: Callable[[Progress], None] | None = None,
        plan: Plan | None = None,
        budget: Budget | None = None,
        *,
        counted: bool = False,
    ) -> None:
        super().__init__(universe, limits, plan, budget, counted=counted)
        self._recorder = None if plan is None else Recorder(plan)
        self.progress = progress
        self._free = available()
        self._memory = limits.memory or self._free * 3 // 4
        self.worlds: list[World] = []
        self.numbers: dict[World, int] = {}
        self.parent: list[int] = []
        self.step: list[Step | None] = []
        self._frontier = Frontier(count=0)
        self.open = self.questions
        """Questions that no world has settled yet."""

    @property
    def frontier(self) -> Frontier:
        """See `Searched`."""
        return self._frontier

    # Going through

    def run(self) -> None:
        """Explore until there is nothing new, or a limit is reached."""
        try:
            with self.budget.patience():
                self._begin()
                self._levels()
        except LimitError:
            self.stopped = self._reason()
            self._roll_back()
        except TooManyValuesError as error:
            self.stopped = f"stopped: the environment would have to choose among {error}"

    def _begin(self) -> None:
        """The first worlds, as far as the limit on states goes."""
        for world in self.universe.starts:
            if self.worlds and self._full():
                break
            self._add(world, -1, None)
        self.frontier.level_end = len(self.worlds)

    def _full(self) -> bool:
        """Are there as many states as may be? Then the search stops."""
        full = self.limits.states is not None and len(self.worlds) >= self.limits.states
        if full:
            self.stopped = f"stopped at {self.limits.states} states"
        return full

    def _roll_back(self) -> None:
        """After a limit in the middle of a state: what is not known in every respect is forgotten."""
        count = min(len(self.worlds), len(self.parent), len(self.step))
        if self._recorder is not None:
            count = self._recorder.cut(count)
        for column in (self.worlds, self.parent, self.step):
            del column[count:]
        self.numbers = {world: n for n, world in enumerate(self.worlds)}
        self.frontier.back(self.frontier.first, count)

    def _reason(self) -> str | None:
        """Why the budget ends the search."""
        why = self.budget.reached
        return f"{why}, {self.states} states" if self.budget.memory_reached else why

    def _levels(self) -> None:
        frontier = self.frontier
        while self.stopped is None and frontier.advance():
            if frontier.between_levels and self.limits.enough(frontier.count) and self._violated():
                self.stopped, self.at_violation = AT_VIOLATION, True
                return
            self._watch(frontier.first)
            if self.stopped is None:
                self._expand(frontier.first)
            frontier.first += self.stopped is None

    def _violated(self) -> bool:
        """Is something violated in one of the states that are expanded, or in a step from it?"""
        broken = any(f.world < self.frontier.first for key, f in self.settled.items() if key.forbids)
        return self.universe.fault is not None or bool(self.faults) or self.deadlock is not None or broken

    def _watch(self, at: int) -> None:
        if self.budget.over():
            self.stopped = self._reason()
        if at % REPORT_EVERY:
            return
        if self._free - available() > self._memory:
            self.budget.crowded = True
            self.stopped = f"stopped at {self._memory / 2**30:.1f} GiB of memory, {len(self.worlds)} states"
        if self.progress is not None:
            self.progress(
                Progress(
                    len(self.worlds),
                    self.transitions,
                    self.depth,
                    len(self.worlds) - at,
                    violated=self._violation_texts(),
                )
            )

    def _violation_texts(self) -> tuple[str, ...]:
        """What is violated so far."""
        broken = {key: f.world for key, f in self.settled.items() if key.forbids}
        dead = None if self.deadlock is None else self.deadlock.world
        failing = next((f.world for f in self.faults.values()), None)
        return violated(self, broken, dead, failing)

    def _expand(self, at: int) -> None:
        for step, result in expanded(self, self.worlds[at], at):
            if result.fault is None:
                self._arrive(at, step, result)
            if self.stopped is not None:
                return
        if self._recorder is not None:
            self._recorder.expanded()

    def _arrive(self, at: int, step: Step, result: Result) -> None:
        if result.world not in self.numbers:
            if self._full():
                return
            self._add(result.world, at, step)
        if self._recorder is not None:
            self._recorder.edge(self.numbers[result.world], self.worlds[at], step, result.cascade)

    def _add(self, world: World, parent: int, step: Step | None) -> None:
        self.numbers[world] = len(self.worlds)
        self.worlds.append(world)
        self.frontier.count = len(self.worlds)
        self.parent.append(parent)
        self.step.append(step)
        if self._recorder is not None:
            self._recorder.state(world)
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
        if not settles(self.universe, world, q):
            return None
        return Finding(
            at, explanation=explained(Frame(self.universe, world, q.instance), q) if q.kind == "invariant" else ()
        )

    # Showing

    def world(self, number: int) -> World:
        """See `Searched`."""
        return self.worlds[number]

    def number(self, world: World) -> int | None:
        """See `Searched`."""
        return self.numbers.get(world)

    def shows(self, world: World, number: int) -> bool:
        """See `Searched`."""
        return self.worlds[number] == world

    def graph(self) -> Graph:
        """See `Searched`."""
        assert self._recorder is not None
        return self._recorder.graph(self.frontier.firsts)

    def trace(self, finding: Finding) -> Trace:
        """The run to a finding, fired anew."""
        path = [finding.world]
        while self.parent[path[-1]] >= 0:
            path.append(self.parent[path[-1]])
        steps = [self.step[n] for n in reversed(path)]
        taken = (x for x in (*steps, finding.step) if x is not None)
        return run(self.universe, taken, start=self.worlds[path[-1]])
