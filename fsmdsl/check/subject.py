"""What is checked: a model, and what several rules need to know of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.check.logic import BUDGET, GAVE_UP, Normal, Problem, Solution, TooLargeError, solve
from fsmdsl.check.machine_graph import Shape

_QUICK_BUDGET = 30
"""Maximum number of boxes that the solver examines for one question. Few questions need more."""

_EXTRA_BUDGET = 6_000
"""Maximum number of boxes that the solver examines beyond `_QUICK_BUDGET`, in total for one model. With this limit, the
hardest guards take about a second."""


class Subject:
    """A model, each of its machines as a graph, and decisions about its guards."""

    def __init__(self, model: m.Model) -> None:
        self.model = model
        self._normal: dict[tuple[int, tuple[str, ...], str], m.Expr | None] = {}
        self._more = 0
        """Boxes looked at beyond `_QUICK_BUDGET` for each question."""

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Every machine, in the order of the modules and of the text."""
        begins: dict[str, dict[str, None]] = {x: {} for x in self.model.machines}
        for x in (x for system in self.model.systems.values() for x in system.instances):
            begins[x.machine].update(dict.fromkeys(x.leaves))
        return tuple(Shape(x, begins[x.qualified]) for x in self.model.machines.values())

    # Guards ----------------------------------------------------------------------------------------------------------

    def guard(self, machine: m.Machine, t: m.Transition) -> m.Expr | None:
        """The guard in normal form, with the event's own names for its arguments; true where there is none; None where
        it is too large to look at."""
        if t.guard is None:
            return m.Constant(True, m.BOOL)
        names = t.trigger.arguments if isinstance(t.trigger, m.OnEvent) else ()
        key = (id(t.guard), names, machine.qualified)
        if key not in self._normal:
            self._normal[key] = self.normal(t.guard, arguments(machine, t))
        return self._normal[key]

    def normal(
        self,
        e: m.Expr,
        names: Mapping[str, m.Expr] | None = None,
        fields: Mapping[str, m.Expr] | None = None,
        system: m.System | None = None,
    ) -> m.Expr | None:
        """An expression in normal form; None where it is too large to look at. See `Normal.of`."""
        try:
            return Normal(self.model, system).of(e, names, fields)
        except TooLargeError:
            return None

    def together(
        self, machine: m.Machine | None, leaves: Iterable[str], conditions: Sequence[m.Expr | None]
    ) -> Solution | None:
        """Can these hold at once, in an instance in one of the leaves? Conditions are in normal form."""
        normal_forms = [c for c in conditions if c is not None]
        if len(normal_forms) < len(conditions):
            return GAVE_UP
        problem = self._problem(machine, leaves, normal_forms, False)
        # The coarse problem has a smaller search space. If it has no solution, neither has the exact one.
        if problem.wide and self._solve(self._problem(machine, leaves, normal_forms, True)) is None:
            return None
        return self._solve(problem)

    def _problem(
        self, machine: m.Machine | None, leaves: Iterable[str], conditions: Sequence[m.Expr], coarse: bool
    ) -> Problem:
        problem = Problem(self.model, None if machine is None else leaves, coarse)
        for c in conditions:
            problem.require(c)
        return problem

    def _solve(self, problem: Problem) -> Solution | None:
        """Looks at less once much has been looked at, so that many hard guards do not take for ever."""
        solution = solve(problem, BUDGET if self._more < _EXTRA_BUDGET else _QUICK_BUDGET)
        self._more += max(problem.tried - _QUICK_BUDGET, 0)
        return solution


def arguments(machine: m.Machine, t: m.Transition) -> Mapping[str, m.Expr]:
    """The event's parameters, by the names that a transition gives them."""
    match t.trigger:
        case m.OnEvent(event, names) if names:
            parameters = machine.event_named[event].parameters
            return {n: m.Local(p.name, p.type) for n, p in zip(names, parameters, strict=True)}
        case _:
            return {}
