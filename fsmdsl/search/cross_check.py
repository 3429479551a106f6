"""Every search is a differential test of its own program.

A search decides its verdicts with a program that was lowered from the spec. Here the definition of the language answers
the same questions: `confirm` about each finding, `cross_check` about a small sample of all states, and `check_graph`
about the graph that properties of runs are decided on. Where the two disagree, no verdict of that search can be
trusted, so `DisagreementError` ends the command with a report instead.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from time import perf_counter
from typing import TypeVar

from fsmdsl.dataclasses import dataclass
from fsmdsl.runs.disagreement import disagreement
from fsmdsl.runs.liveness.graph import Graph
from fsmdsl.runs.liveness.record import Marks, atoms
from fsmdsl.runs.search_result import (
    Finding,
    Searched,
    fault_key,
    faults_from,
    settles,
    states_inhabited,
    transitions_followed,
)
from fsmdsl.runs.trace import world_lines
from fsmdsl.runs.verdicts.verdict import QuestionKey
from fsmdsl.search.compiled import Compiled
from fsmdsl.search.engine import Engine, Expansion
from fsmdsl.search.lower import Condition, Lowered
from fsmdsl.search.plain import Plain
from fsmdsl.step import (
    Fault,
    GuardsSeen,
    Result,
    Step,
    TooManyValuesError,
    World,
    enabled,
    ended,
    fire,
    stuck,
    unoffered,
    within,
)
from fsmdsl.step.describe import describe, fault_message

Key = TypeVar("Key")

SHARE = 0.01
"""Maximum share of the time of a search that goes into its sample, beyond the first state."""

MAX_STATES = 1000
"""Maximum number of states in a sample."""


class ProgramSearch(Searched):
    """A search that a program decides: what this module has to know of it."""

    lowered: Lowered
    engine: Engine
    conditions: Mapping[QuestionKey, Condition]
    """The questions that the program answers, in order."""
    begun: float

    @abstractmethod
    def words(self, world: World) -> tuple[int, ...]:
        """The words of the state that stands for a world that fits."""


@dataclass(frozen=True, slots=True)
class Defined:
    """What the definition says about one state."""

    number: int
    world: World
    steps: tuple[tuple[Step, Result], ...]
    guards: GuardsSeen
    unoffered: tuple[Fault, ...]
    """What has no value in the environment."""
    bounded: bool
    """Is the state beyond the bounds of the system? Then it has no steps."""

    @property
    def successors(self) -> list[tuple[Step, Result]]:
        """The steps that end well, each with its result."""
        return [(step, result) for step, result in self.steps if result.fault is None]

    @property
    def faults(self) -> list[Fault]:
        """What goes wrong in this state."""
        return [*self.unoffered, *(result.fault for _, result in self.steps if result.fault is not None)]


def defined(search: ProgramSearch, number: int) -> Defined:
    """Expand a state with the definition. Raises `TooManyValuesError`."""
    universe, world = search.universe, search.world(number)
    guards: GuardsSeen = set()
    if not within(universe, world):
        return Defined(number, world, (), guards, (), bounded=True)
    steps = enabled(universe, world, guards)
    results = tuple((step, fire(universe, world, step, guards)) for step in steps)
    return Defined(number, world, results, guards, tuple(unoffered(universe, world)), bounded=False)


# Findings ------------------------------------------------------------------------------------------------------------


def confirm(search: ProgramSearch, failing: Sequence[int]) -> None:
    """Ask the definition about everything that the search has found, and note the faults that it finds in the states
    with these numbers, in which a step of the program failed. Raises `DisagreementError`."""
    universe = search.universe
    for number in failing:
        world = search.trace(Finding(number)).end
        findings = list(faults_from(universe, world, number))
        if not findings:
            raise disagreement(universe, world, "a step that fails", "found", "not found")
        for finding in findings:
            assert finding.fault is not None
            search.faults.setdefault(fault_key(finding.fault), finding)
    for key, finding in search.settled.items():
        world, questions = search.trace(finding).end, [q for q in search.questions if q.key == key]
        if not any(settles(universe, world, q) for q in questions):
            what = f"{key.kind} `{key.name}`"
            raise disagreement(universe, world, what, key.kind != "invariant", key.kind == "invariant")
    if search.deadlock is not None:
        world = search.trace(search.deadlock).end
        if not stuck(universe, world, enabled(universe, world)):
            raise disagreement(universe, world, "a deadlock", "found", "not found")
    if search.waiting is not None:
        world = search.trace(search.waiting).end
        if not search.circular.waiting(universe, world):
            raise disagreement(universe, world, "instances that wait for each other", "found", "not found")


# Sample --------------------------------------------------------------------------------------------------------------


def cross_check(search: ProgramSearch) -> list[Defined]:
    """Expand some states that the search has expanded once more, with its program and with the definition, and compare.
    Returns what the definition says. Raises `DisagreementError`."""
    begun, sample = perf_counter(), list[Defined]()
    for number in numbers(search):
        try:
            sample.append(defined(search, number))
        except TooManyValuesError:
            continue
        _compare(search, sample[-1])
        if perf_counter() - begun > SHARE * (begun - search.begun):
            break
        search.budget.check()
    return sample


def numbers(search: ProgramSearch) -> Iterator[int]:
    """The states that are sampled. Each run draws others, so that many runs of one spec cover all of its states."""
    expanded, drawn, random = search.frontier.first, set[int](), Random()
    if search.budget.shared:
        return  # each process has only a part of the states
    while len(drawn) < min(expanded, MAX_STATES):
        number = random.randrange(expanded)
        if number not in drawn:
            drawn.add(number)
            yield number


def _compare(search: ProgramSearch, by_definition: Defined) -> None:
    lowered, universe, number, world = search.lowered, search.universe, by_definition.number, by_definition.world
    assert isinstance(search.engine, Plain | Compiled)
    expansion, board = search.engine.expansion(number), lowered.board

    def noted(place: int) -> bool:
        return bool(expansion.board[place])

    fails = any(noted(place) for place in range(board.faults, board.faults + board.codes))
    settled = {q.key for q in search.questions if settles(universe, world, q)}
    answered = {key for n, key in enumerate(search.conditions) if noted(board.first + n)}
    followed = Counter(key for _, result in by_definition.steps for key in transitions_followed(universe, result))
    guards = {(*key, value) for key, place in board.guards.items() for value in (False, True) if noted(place + value)}
    rows = {key for key, place in board.followed.items() if noted(place)}
    if search.reduced:
        # Loops over exchangeable members run in every order, as they do in worlds with members exchanged. These worlds
        # are reachable, too, so the program may note more than the definition does in this one.
        rows, guards = rows & set(followed), guards & by_definition.guards
    unreported = [x for x in by_definition.faults if fault_key(x) not in search.faults]
    checks: list[tuple[str, object, object]] = [
        _targets(search, by_definition, expansion.successors),
        ("number of steps", expansion.board[board.fired], len(by_definition.steps)),
        ("whether something fails", fails, bool(by_definition.faults)),
        ("whether the state is beyond the bounds", noted(board.beyond), by_definition.bounded),
        ("questions that the state settles", answered, settled),
        ("transitions followed", rows, set(followed)),
        ("guards", guards, by_definition.guards),
        ("whether it is a deadlock", noted(board.dead), _deadlock(search, by_definition)),
        ("whether instances wait for each other", noted(board.waiting), _circle(search, by_definition)),
    ]
    if search.stopped is None and unreported:
        checks.append((f"the fault: {fault_message(universe, unreported[0])}", "not found", "found"))
    if lowered.layout.totals is not None:
        totals, inhabited = lowered.layout.totals, Counter(states_inhabited(universe, world))
        counts = _counts(expansion, totals.followed)
        checks += [
            ("how often transitions are followed", counts & followed if search.reduced else counts, followed),
            ("states inhabited", _counts(expansion, totals.inhabited), inhabited),
        ]
    for what, program, definition in checks:
        if program != definition:
            raise disagreement(universe, world, what, program, definition)


def _targets(search: ProgramSearch, x: Defined, words: Sequence[tuple[int, ...]]) -> tuple[str, object, object]:
    """The states that the steps lead to. Where they differ, the state that the first such step leads to."""
    universe = search.universe
    expected = [search.words(result.world) for _, result in x.successors]
    for (step, _), program, definition in zip(x.successors, words, expected, strict=False):
        if program != definition:
            what = f"the state that {describe(universe, step, x.world)} leads to"
            return what, _state(search, program), _state(search, definition)
    return "how many steps end well", len(words), len(expected)


def _state(search: ProgramSearch, words: tuple[int, ...]) -> str:
    layout = search.lowered.layout
    return "; ".join(world_lines(search.universe, layout.decode(layout.unpack(words))))


def _counts(expansion: Expansion, places: Mapping[Key, int]) -> Counter[Key]:
    """What the program counts in one state; without what it has not found."""
    return Counter({key: expansion.board[place] for key, place in places.items() if expansion.board[place]})


def _deadlock(search: ProgramSearch, x: Defined) -> bool:
    return not x.bounded and stuck(search.universe, x.world, [step for step, _ in x.steps])


def _circle(search: ProgramSearch, x: Defined) -> bool:
    ends = not x.bounded and ended(search.universe, x.world, [step for step, _ in x.steps])
    return ends and not _deadlock(search, x) and bool(search.circular.waiting(search.universe, x.world))


# The graph -----------------------------------------------------------------------------------------------------------


def check_graph(search: ProgramSearch, graph: Graph, sample: Sequence[Defined]) -> None:
    """Compare the graph that properties are decided on with the states of a sample. Raises `DisagreementError`."""
    assert search.plan is not None
    marks = Marks(search.plan)
    for x in sample:
        edges = range(graph.offsets[x.number], graph.offsets[x.number + 1])
        targets = [-1 if (n := search.number(result.world)) is None else n for _, result in x.successors]
        checks: list[tuple[str, object, object]] = [
            ("edges of the graph", [graph.targets[e] for e in edges], targets),
            ("atoms", [column[x.number] for column in graph.atoms], atoms(search.plan, x.world)),
        ]
        if search.lowered.marked:
            fulfilled = [marks.of(x.world, step, result.cascade) for step, result in x.successors]
            checks.append(("obligations that the steps fulfil", [graph.marks[e] for e in edges], fulfilled))
        for what, program, definition in checks:
            if program != definition:
                raise disagreement(search.universe, x.world, what, program, definition)
