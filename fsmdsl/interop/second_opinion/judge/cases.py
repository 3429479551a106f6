"""The judge: its verdict on each property of a system, and on each counterexample that it is given."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.interop.second_opinion.judge.fair_runs import Edge, NoOpinionError, Runs, satisfiable
from fsmdsl.interop.second_opinion.judge.formula import Formula, claims, negation
from fsmdsl.interop.second_opinion.judge.grounding import Grounding
from fsmdsl.interop.second_opinion.judge.promises import Promises, Steps
from fsmdsl.interop.second_opinion.judge.state_graph import (
    MAX_STATES,
    Arrow,
    StateGraph,
    TooManyStatesError,
    state_graph,
)
from fsmdsl.interop.second_opinion.opinion import Budgeted, MissingError, Opinion
from fsmdsl.runs.trace import Trace
from fsmdsl.step import TooManyValuesError, Universe, enabled, fire

NAME = "the state graph"


@dataclass(frozen=True, slots=True)
class Judge:
    """`stutters`: may a run stand still where a step is possible? `most`: a system with more states is not judged."""

    stutters: bool = False
    most: int = MAX_STATES

    @classmethod
    def installed(cls, tool: str | None = None, *, stutters: bool = False) -> Judge:
        """It is a part of fsmdsl. Raises `MissingError` if another program is to be used."""
        if tool is not None:
            raise MissingError("`graph` is part of fsm and cannot be combined with `--tool`")
        return cls(stutters)

    def opinion(self, model: m.Model, system: m.System, states: int, budget: Budgeted) -> Opinion:
        """The verdicts on a system. `states` is the number of states that the search found."""
        begun = time.monotonic()

        def tick() -> None:
            if time.monotonic() - begun > budget.seconds:
                raise TimeoutError

        try:
            graph = state_graph(Universe(model, system), self.most, states, tick)
        except (TooManyStatesError, TooManyValuesError) as error:
            return Opinion(NAME, unfinished=str(error))
        except TimeoutError:
            return Opinion(NAME, unfinished=f"the graph of states was not complete after {budget.seconds:g} s")
        cases: dict[str, Case] = {}
        runs: dict[str, bool] = {}
        without: dict[str, str] = {}
        for p in system.properties:
            try:
                cases[p.name] = case = Case.of(graph, p, stutters=self.stutters)
                runs[p.name] = case.holds(tick)
            except NoOpinionError as error:
                without[p.name] = str(error)
            except TimeoutError:
                without[p.name] = f"it was not decided in {budget.seconds:g} s"
        findings = frozenset(graph.findings)
        refuses = partial(refusal, cases, tick)
        return Opinion(NAME, len(graph.worlds), findings, runs, without, None, time.monotonic() - begun, refuses)


@dataclass(frozen=True, eq=False)
class Case:
    """A property, as a formula over the states of a graph, and the steps of its runs. `letters` are the atoms that are
    true in each state."""

    graph: StateGraph
    formula: Formula
    letters: Sequence[int]
    promises: Promises
    steps: Steps

    @classmethod
    def of(cls, graph: StateGraph, p: m.Property, *, stutters: bool) -> Case:
        """Raises `NoOpinionError`."""
        if isinstance(p.formula, m.Recovers):
            raise NoOpinionError("`recovers` compares states before and after a crash, and is not a formula")
        grounding = Grounding(graph)
        formula = grounding.property(p.formula)
        promises = Promises(graph, p, stutters=stutters)
        return cls(graph, formula, grounding.letters, promises, promises.steps())

    @property
    def runs(self) -> Runs:
        """All runs of the system."""
        s, firsts = self.steps, range(len(self.graph.universe.starts))
        return Runs(firsts, self.letters, s.stem, s.loop, s.possible, s.weak, s.strong, self.graph.open)

    def holds(self, tick: Callable[[], None]) -> bool:
        """Is the formula true of every fair run? `tick` may raise an error to give up."""
        runs = self.runs
        return not any(satisfiable(runs, negation(x), tick) for x in claims(self.formula))


# Counterexamples -----------------------------------------------------------------------------------------------------


class _NoRunError(Exception):
    """Why a trace is no run."""


def refusal(cases: Mapping[str, Case], tick: Callable[[], None], name: str, trace: Trace) -> str | None:
    """Why a trace is no counterexample to a property; None if it is one, or if there is no time to tell."""
    case = cases[name]
    try:
        path = _path(case.graph, trace)
        if trace.loop is None:
            broken = _is_broken(case, path, tick)
            return None if broken else "a run that begins so need not violate it"
        runs = _along(case, path, trace.loop)
        wrong = negation(case.formula)
        if satisfiable(runs, wrong, tick):
            return None
        fair = not satisfiable(replace(runs, weak=0, strong=0), wrong, tick)
        return "the run does not violate it" if fair else "the run is not fair"
    except _NoRunError as error:
        return str(error)
    except TimeoutError:
        return None


@dataclass(frozen=True, slots=True)
class _Path:
    """The states of a trace, and the steps between them."""

    states: list[int]
    arrows: list[Arrow]


def _path(graph: StateGraph, trace: Trace) -> _Path:
    """A trace, step by step, by the definition."""
    states, arrows = [graph.number.get(trace.start, -1)], list[Arrow]()
    if not 0 <= states[0] < len(graph.universe.starts):
        raise _NoRunError("the run does not begin in an initial state")
    for n, (world, entry) in enumerate(trace.befores(), 1):
        result = fire(graph.universe, world, entry.step)
        leads = result.fault is None and result.world == entry.world
        if not leads or states[-1] in graph.open or entry.step not in enabled(graph.universe, world):
            raise _NoRunError(f"step {n} of the run cannot be taken")
        states.append(graph.number[result.world])
        arrows.append(graph.arrow(world, entry.step, result.cascade, states[-1]))
    return _Path(states, arrows)


def _along(case: Case, path: _Path, back: int) -> Runs:
    """The run that follows a path and repeats the steps from `back` on: a graph of its places. Where no step is
    repeated, the run stays."""
    count, ends, promises = len(path.arrows), back == len(path.arrows), case.promises
    if not ends and path.states[-1] != path.states[back]:
        raise _NoRunError("the loop of the run does not lead back to where it begins")
    places = path.states if ends else path.states[:-1]
    stem: list[set[Edge]] = [set() for _ in places]
    loop: list[set[Edge]] = [set() for _ in places]
    for n, state in enumerate(places):
        if promises.may_stay(state, n < count or any(map(promises.may_repeat, case.graph.arrows[state]))):
            loop[n].add((n, 0))
        if promises.stutters:
            stem[n].add((n, 0))
        if n < count:
            step = (back if n == count - 1 and not ends else n + 1, promises.fulfils(path.arrows[n]))
            stem[n].add(step)
            loop[n] |= {step} if promises.may_repeat(path.arrows[n]) else set()
    letters, possible = ([column[s] for s in places] for column in (case.letters, case.steps.possible))
    return Runs([0], letters, stem, loop, possible, case.steps.weak, case.steps.strong)


def _is_broken(case: Case, path: _Path, tick: Callable[[], None]) -> bool:
    """Does every run that begins with a path violate the property? Beyond the bound anything could come; elsewhere
    the steps of the graph do."""
    count, length, end = len(case.graph.worlds), len(path.arrows), path.states[-1]
    letters = [*case.letters, *(case.letters[s] for s in path.states[:-1])]
    chain = [{(end if n == length else count + n, 0)} for n in range(1, length + 1)]
    edges: list[Collection[Edge]] = [*case.steps.stem, *chain]
    runs = Runs([count if length else end], letters, edges, edges, [0] * len(letters))
    if end in case.graph.open:
        return satisfiable(replace(runs, open={end}), negation(case.formula), tick)
    return not satisfiable(runs, case.formula, tick)
