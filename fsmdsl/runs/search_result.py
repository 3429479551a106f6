"""What every search of a system's states has in common: what it is asked, and what it has found."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.circular_wait import circular_waits
from fsmdsl.runs.disagreement import disagreement
from fsmdsl.runs.explain import explain, fails
from fsmdsl.runs.frontier import Frontier
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.trace import Entry, Trace, taken, world_lines
from fsmdsl.runs.verdicts.vacuity import premises
from fsmdsl.runs.verdicts.verdict import Limits, QuestionKey, Tally
from fsmdsl.step import (
    Fault,
    FaultError,
    GuardsSeen,
    Result,
    Step,
    Universe,
    World,
    enabled,
    ended,
    fire,
    stuck,
    unoffered,
    within,
)
from fsmdsl.step.evaluate import Frame, truth
from fsmdsl.step.world import Cause, FaultKind, Followed
from fsmdsl.text.budget import Budget
from fsmdsl.text.source import Span


@dataclass(frozen=True, slots=True)
class Question:
    """An invariant, of the system or of one instance, a `reachable`, or a premise of an invariant or property."""

    kind: Literal["invariant", "reachable", "premise"]
    name: str
    key: QuestionKey
    instance: int | None
    declaration: m.Invariant | m.Reachable

    @property
    def label(self) -> str:
        """As in the verdict: see `Verdict.label`."""
        whose = f"{self.key.machine.rpartition('.')[2]}: " if self.key.machine else ""
        return f"{self.kind} {whose}{m.shown_name(self.declaration)}"


@dataclass(frozen=True, slots=True)
class Finding:
    """Where something was found: in a world, or in a step from it that fails."""

    world: int
    step: Step | None = None
    fault: Fault | None = None
    explanation: tuple[str, ...] = ()


Edge = tuple[Step, int | None]
"""A step, and the number of the state it leads to; None where it fails, or a limit kept that state out."""


class Searched(ABC):
    """States found breadth first, so that what was found first is nearest: what every search keeps, and how it is asked
    afterwards."""

    def __init__(
        self,
        universe: Universe,
        limits: Limits,
        plan: Plan | None,
        budget: Budget | None,
        *,
        counted: bool = False,
    ) -> None:
        self.universe = universe
        self.limits = limits
        self.budget = budget or Budget(limits.seconds)
        self.questions = questions(universe)
        self.plan = plan
        """What temporal properties ask of states and steps."""
        self.stopped: str | None = None
        """Why not every state was found."""
        self.note: str | None = None
        """What could have been done better, and why it was not."""
        self.reduced: tuple[str, ...] = ()
        """Symmetric sets: states that differ only in which of their instances is which are one."""
        self.at_violation = False
        """Did the search stop because something is violated?"""
        self.unshown: str | None = None
        """Why some steps that fail are not among the faults: a limit came while they were looked at."""
        self.abandoned = False
        """Did a limit come in the middle of something? Then there is no graph, and nothing to follow."""
        self.undecided: str | None = None
        """Why properties of runs cannot be decided here, if they cannot."""
        self.transitions = 0
        self.settled: dict[QuestionKey, Finding] = {}
        """By the key of a question: an invariant that is broken, a `reachable` or premise that is true."""
        self.faults: dict[FaultKey, Finding] = {}
        self.deadlock: Finding | None = None
        self.circular = circular_waits(universe)
        self.waiting: Finding | None = None
        """The first end state that is no deadlock and in which instances wait for each other."""
        self.waiting_states = 0
        """How many such states were found."""
        self.beyond = 0
        """How many of the states whose steps were looked for are beyond the bounds of the system, and so have none."""
        self.followed: set[tuple[str, int]] = set()
        """Transitions, by machine and index."""
        self.guards_seen: GuardsSeen = set()
        self.tally = Tally() if counted else None

    @property
    def fails(self) -> bool:
        """Does some step fail, or have the initial values a fault?"""
        return bool(self.faults) or self.unshown is not None or self.universe.fault is not None

    @property
    @abstractmethod
    def frontier(self) -> Frontier:
        """How far the search is."""

    @property
    def states(self) -> int:
        """How many states were found."""
        return self.frontier.count

    @property
    def depth(self) -> int:
        """How far the states found last are from the first."""
        return self.frontier.depth

    @property
    def levels(self) -> list[int]:
        """How many states were found at each depth."""
        return self.frontier.levels

    @property
    def begins(self) -> range:
        """The numbers of the states that a run begins in."""
        return range(self.levels[0])

    @abstractmethod
    def world(self, number: int) -> World:
        """The world of a state."""

    @abstractmethod
    def number(self, world: World) -> int | None:
        """The number of the state of a world, if it was found."""

    @abstractmethod
    def shows(self, world: World, number: int) -> bool:
        """Is a world that of a state, or one that differs from it only in who is who?"""

    @abstractmethod
    def trace(self, finding: Finding) -> Trace:
        """A shortest run to a finding."""

    @abstractmethod
    def graph(self) -> Graph:
        """Every state and step, with what the plan asks about them."""

    def leading(self, world: World, number: int) -> Entry:
        """The first step that leads from a world to a state, or to one that differs in who is who."""
        for step in enabled(self.universe, world):
            entry = taken(self.universe, world, step)
            if entry.fault is None and self.shows(entry.world, number):
                return entry
        target = "; ".join(" ".join(line.split()) for line in world_lines(self.universe, self.world(number)))
        raise disagreement(self.universe, world, f"a step to: {target}", "found", "not found")

    def outgoing(self, number: int) -> Iterator[Edge]:
        """The steps that are followed from a state, fired anew: those enabled there, none beyond the bounds of the
        system. Raises `TooManyValuesError`, as `enabled` does."""
        world = self.world(number)
        for step in enabled(self.universe, world) if within(self.universe, world) else []:
            result = fire(self.universe, world, step)
            yield step, None if result.fault is not None else self.number(result.world)


def questions(universe: Universe) -> list[Question]:
    """What is asked of every world."""
    system = universe.system
    questions = [Question("invariant", x.name, QuestionKey("invariant", x.name), None, x) for x in system.invariants]
    for n, machine in enumerate(universe.machines):
        for x in machine.invariants:
            key = QuestionKey("invariant", x.name, machine.qualified)
            questions.append(Question("invariant", f"{machine.name}: {x.name}", key, n, x))
    questions += [Question("reachable", x.name, QuestionKey("reachable", x.name), None, x) for x in system.reachables]
    return questions + [Question("premise", p.message, p.key, p.instance, p.as_reachable) for p in premises(universe)]


def settles(universe: Universe, world: World, q: Question) -> bool:
    """Does a world break an invariant, or show what a `reachable` or a premise asks for?"""
    frame = Frame(universe, world, q.instance)
    if q.kind == "invariant":
        return fails(frame, q.declaration.condition)
    try:
        return truth(frame, q.declaration.condition)
    except FaultError:
        return False


def explained(frame: Frame, q: Question) -> tuple[str, ...]:
    """Why the invariant of a question is broken in a world."""
    whose = "" if q.instance is None else f"in {frame.roster.name(q.instance)}: "
    return tuple(whose + line for line in explain(frame, q.declaration.condition))


def broken_why(universe: Universe, world: World, same: Sequence[Question]) -> tuple[str, ...]:
    """Why a world breaks an invariant that several instances have: told of the first that breaks it."""
    for q in same:
        frame = Frame(universe, world, q.instance)
        if fails(frame, q.declaration.condition):
            return explained(frame, q)
    raise AssertionError(f"`{same[0].name}` holds in a state that the definition has confirmed to break it")


@dataclass(frozen=True, slots=True)
class FaultKey:
    """The kind and place of a fault, and for an event that is not handled what and in which state; which instance it
    was makes no difference."""

    kind: FaultKind
    span: Span
    cause: Cause | None = None


def fault_key(fault: Fault) -> FaultKey:
    """What two faults have in common that are found once."""
    return FaultKey(fault.kind, fault.span, fault.cause if fault.kind == "unhandled" else None)


def violated(
    search: Searched, broken: Mapping[QuestionKey, int], dead: int | None, failing: int | None
) -> tuple[str, ...]:
    """What is violated so far, and how far from the first state: the states that break invariants, the one that nothing
    leaves, the first from which a step fails, by number."""
    depth, labels = search.frontier.level_of, {q.key: q.label for q in search.questions}
    findings = [(labels[key], at) for key, at in broken.items()]
    findings += [] if dead is None else [("deadlock", dead)]
    findings += [] if failing is None else [("a step that fails", failing)]
    return tuple(f"{what} after {depth(at)} step{'s' * (depth(at) != 1)}" for what, at in findings)


def faults_from(universe: Universe, world: World, number: int) -> Iterator[Finding]:
    """What can fail in a world, the state of this number: what the environment offers, and its steps."""
    yield from (Finding(number, None, fault) for fault in unoffered(universe, world))
    for step in enabled(universe, world):
        fault = fire(universe, world, step).fault
        if fault is not None:
            yield Finding(number, step, fault)


def beyond_limit(search: Searched, at: int) -> None:
    """Take the steps from a state one by one, as far as they lead to states that there are, and note what they show."""
    for _, result in expanded(search, search.trace(Finding(at)).end, at):
        if result.fault is None and search.number(result.world) is None:
            break


def expanded(search: Searched, world: World, at: int) -> Iterator[tuple[Step, Result]]:
    """The steps from a world, the state of this number, taken one by one; notes what each shows, and what the
    environment gives no value. None is taken beyond the bounds of the system."""
    universe = search.universe
    if search.tally is not None:
        search.tally.inhabited.update(states_inhabited(universe, world))
    if not within(universe, world):
        search.beyond += 1
        return
    steps = enabled(universe, world, search.guards_seen)
    for fault in unoffered(universe, world):
        search.faults.setdefault(fault_key(fault), Finding(at, None, fault))
    if ended(universe, world, steps):
        if stuck(universe, world, steps):
            search.deadlock = search.deadlock or Finding(at)
        elif search.circular.waiting(universe, world):
            search.waiting = search.waiting or Finding(at)
            search.waiting_states += 1
    for step in steps:
        result = fire(universe, world, step, search.guards_seen)
        search.transitions += 1
        followed = transitions_followed(universe, result)
        search.followed |= followed
        if search.tally is not None:
            search.tally.followed.update(followed)
        if result.fault is not None:
            search.faults.setdefault(fault_key(result.fault), Finding(at, step, result.fault))
        yield step, result


def transitions_followed(universe: Universe, result: Result) -> set[tuple[str, int]]:
    """The transitions that a step has followed, by machine and index."""
    followed = (h for h in result.cascade if type(h) is Followed)
    return {(universe.system.instances[h.instance].machine, h.transition) for h in followed}


def states_inhabited(universe: Universe, world: World) -> set[tuple[str, str]]:
    """The states that some instance is in, by machine."""
    leaves = set(zip(universe.machines, world.states, strict=True))
    return {(machine.qualified, s) for machine, leaf in leaves for s in machine.ancestors(leaf)}
