"""Of all runs that show the same violation, the one that is easiest to follow.

First come runs with few faults of the environment: messages lost or repeated, and answers other than the first that an
action declares (`-> ok | err`: `err` is one). Then those with few crashes, then those that stay with one instance as
long as they can, then short ones. A breadth-first search knows only the last of these.

The search goes by cost (Dijkstra) through pairs of a world and the instance of the step that led there, by the
definition of the language itself. It takes time and memory in proportion to the steps that it looks at, and gives up at
a effort: what it would show then depends on the machine it ran on, so that the shortest run is shown instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import chain
from time import perf_counter

from fsmdsl.dataclasses import NamedTuple, dataclass
from fsmdsl.runs.causality_tree import receiver_of
from fsmdsl.runs.search_result import FaultKey, fault_key
from fsmdsl.runs.trace import Trace, run
from fsmdsl.step import (
    ChannelStep,
    CrashStep,
    Fault,
    OutcomeStep,
    Step,
    TooManyValuesError,
    Universe,
    World,
    enabled,
    fire,
    unoffered,
    within,
)
from fsmdsl.step.instances import Roster


@dataclass(frozen=True, slots=True)
class Effort:
    """How far to look for a simpler run: distinct worlds, seconds."""

    worlds: int = 20_000
    seconds: float = 2.0
    watch: Callable[[], None] = lambda: None
    """Called now and then; what it raises ends the search."""


class Cost(NamedTuple):
    """What makes a run hard to follow, the worst first."""

    faults: int = 0
    crashes: int = 0
    switches: int = 0
    """Steps at another instance than the step before. One at no instance (a crash, a message lost) is neither."""
    steps: int = 0

    def plus(self, other: Cost) -> Cost:
        """Of both together."""
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True)
class Goal:
    """What a run must end in: a world, given the steps enabled there, or a step that fails in a certain way."""

    world: Callable[[World, Sequence[Step]], bool] | None = None
    fault: FaultKey | None = None


# Costs ---------------------------------------------------------------------------------------------------------------


def cost(trace: Trace) -> Cost:
    """What a run costs."""
    total, last = Cost(), None
    for entry in trace.entries:
        added, last = _cost(trace.roster, entry.step, last)
        total = total.plus(added)
    return total


def _cost(roster: Roster, step: Step, last: int | None) -> tuple[Cost, int | None]:
    """What a step adds after one at an instance, and the instance that counts for the next."""
    here = receiver_of(roster, step)
    switches = int(None not in (last, here) and last != here)
    return Cost(_is_fault(roster, step), isinstance(step, CrashStep), switches, 1), last if here is None else here


def _is_fault(roster: Roster, step: Step) -> bool:
    match step:
        case ChannelStep(kind):
            return kind != "deliver"
        case OutcomeStep(instance, action, outcome):
            return outcome != roster.machines[instance].action_named[action].outcomes[0]
        case CrashStep(inside) if inside is not None:
            return _is_fault(roster, inside)
        case _:
            return False


# The search ----------------------------------------------------------------------------------------------------------


def simplest_runs(universe: Universe, goals: Sequence[tuple[Goal, Trace]], effort: Effort) -> list[Trace | None]:
    """The simplest run to each of several goals, in one search; the shortest itself where no run is simpler. None: the
    effort came first."""
    search = _Search(universe, [goal for goal, _ in goals], [cost(trace) for _, trace in goals], effort)
    complete = search.run()
    runs: list[Trace | None] = []
    for n, (_, shortest) in enumerate(goals):
        if n in search.open and not complete:
            runs.append(None)
        else:
            runs.append(search.runs.get(n, shortest))
    return runs


class _Edge(NamedTuple):
    step: Step
    target: int | None
    """The world that it leads to."""
    goals: tuple[int, ...] = ()
    """The goals that it reaches by failing."""


Node = tuple[int, int | None]
"""A world, and the instance of the step that led there."""


class _Search:
    """Worlds by number, as far as they are known, and the cheapest way to each node."""

    def __init__(self, universe: Universe, goals: Sequence[Goal], limits: Sequence[Cost], effort: Effort) -> None:
        self.universe, self.goals, self.effort = universe, goals, effort
        self.limits = dict(enumerate(limits))
        """What the runs known cost: anything else must cost less."""
        self.open = set(self.limits)
        """Goals that a run may still reach that costs less."""
        self.runs: dict[int, Trace] = {}
        """The cheaper runs found, by goal."""
        self.worlds = list(universe.starts)
        self.number = {world: n for n, world in enumerate(self.worlds)}
        self.edges: dict[int, tuple[list[_Edge], tuple[int, ...]]] = {}
        self.way: dict[Node, tuple[Cost, Node | None, Step | None]] = {
            (n, None): (Cost(), None, None) for n in range(len(self.worlds))
        }
        self.cheapest: dict[int, Cost] = {}
        """What the first node of a world that was looked at costs."""
        self.waiting: list[tuple[Cost, int, Node]] = [(Cost(), n, node) for n, node in enumerate(self.way)]
        self.pushed = len(self.way)

    def run(self) -> bool:
        """Look for all goals; False where the effort ends the search first."""
        begun = perf_counter()
        try:
            while self.waiting and self.open:
                self.effort.watch()
                if len(self.worlds) > self.effort.worlds or perf_counter() - begun > self.effort.seconds:
                    return False
                spent, _, node = heappop(self.waiting)
                self.open = {n for n in self.open if spent < self.limits[n]}
                if self.open and self.way[node][0] == spent and not self._pointless(node, spent):
                    self._visit(node, spent)
        except TooManyValuesError:
            return False
        return True

    def _pointless(self, node: Node, spent: Cost) -> bool:
        """Is there a way to the same world that stays ahead even if it has to switch once more?"""
        if node[0] not in self.cheapest:
            self.cheapest[node[0]] = spent
            return False
        return self.cheapest[node[0]].plus(Cost(switches=1)) <= spent

    def _visit(self, node: Node, spent: Cost) -> None:
        edges, reached = self._leading(node[0])
        for n in reached:
            self._reach(n, spent, node, None)
        limit = max((self.limits[n] for n in self.open), default=Cost())
        for edge in edges:
            added, last = _cost(self.universe, edge.step, node[1])
            total = spent.plus(added)
            for n in edge.goals:
                self._reach(n, total, node, edge.step)
            if edge.target is not None and total < limit:
                self._arrive((edge.target, last), total, node, edge.step)

    def _reach(self, n: int, total: Cost, node: Node, step: Step | None) -> None:
        if n in self.open and total < self.limits[n]:
            self.limits[n] = total
            self.runs[n] = self._run(node, step)

    def _run(self, node: Node, last: Step | None) -> Trace:
        """The run to a node, and one step more."""
        steps = [] if last is None else [last]
        _, before, step = self.way[node]
        while before is not None and step is not None:
            steps.append(step)
            node = before
            _, before, step = self.way[node]
        return run(self.universe, reversed(steps), start=self.worlds[node[0]])

    def _arrive(self, node: Node, total: Cost, source: Node, step: Step) -> None:
        if node not in self.way or total < self.way[node][0]:
            self.way[node] = (total, source, step)
            self.pushed += 1
            heappush(self.waiting, (total, self.pushed, node))

    def _leading(self, at: int) -> tuple[list[_Edge], tuple[int, ...]]:
        """The steps from a world, and the goals that it reaches itself."""
        if at not in self.edges:
            world = self.worlds[at]
            if not within(self.universe, world):
                self.edges[at] = ([], self._goals_at(world, ()))
                return self.edges[at]
            steps = enabled(self.universe, world)
            edges = [self._edge(world, step) for step in steps]
            failing = chain.from_iterable(self._failing(x) for x in unoffered(self.universe, world))
            self.edges[at] = ([e for e in edges if e.target != at], (*self._goals_at(world, steps), *failing))
        return self.edges[at]

    def _edge(self, world: World, step: Step) -> _Edge:
        result = fire(self.universe, world, step)
        if result.fault is not None:
            return _Edge(step, None, self._failing(result.fault))
        if result.world not in self.number:
            self.number[result.world] = len(self.worlds)
            self.worlds.append(result.world)
        return _Edge(step, self.number[result.world])

    def _goals_at(self, world: World, steps: Sequence[Step]) -> tuple[int, ...]:
        return tuple(n for n, goal in enumerate(self.goals) if goal.world is not None and goal.world(world, steps))

    def _failing(self, fault: Fault) -> tuple[int, ...]:
        key = fault_key(fault)
        return tuple(n for n, goal in enumerate(self.goals) if goal.fault == key)
