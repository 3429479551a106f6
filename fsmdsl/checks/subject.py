"""What is checked: a model, and what several rules need to know of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from fsmdsl import model as m
from fsmdsl.checks.logic import GAVE_UP, GaveUp, Normal, Problem, Solution, TooLargeError, solve
from fsmdsl.checks.shape import Shape


class Subject:
    """A model, each of its machines as a graph, and decisions about its guards."""

    def __init__(self, model: m.Model) -> None:
        self.model = model
        self._normal: dict[tuple[int, tuple[str, ...], str], m.Expr | None] = {}
        self._decided: dict[tuple[str, tuple[str, ...], tuple[m.Expr, ...]], Solution | GaveUp | None] = {}

    @cached_property
    def shapes(self) -> tuple[Shape, ...]:
        """Every machine, in the order of the modules and of the text."""
        return tuple(Shape(x) for x in self.model.machines.values())

    @cached_property
    def shape_of(self) -> Mapping[str, Shape]:
        """By qualified name."""
        return {s.machine.qualified: s for s in self.shapes}

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
    ) -> Solution | GaveUp | None:
        """Can these hold at once, in an instance in one of the leaves? Conditions are in normal form."""
        known = tuple(c for c in conditions if c is not None)
        if len(known) < len(conditions):
            return GAVE_UP
        key = (machine.qualified if machine is not None else "", tuple(leaves), known)
        if key not in self._decided:
            self._decided[key] = self._decide(key[1] if machine is not None else None, known)
        return self._decided[key]

    def _decide(self, leaves: tuple[str, ...] | None, conditions: tuple[m.Expr, ...]) -> Solution | GaveUp | None:
        problem = self._problem(leaves, conditions, False)
        if problem.wide and solve(self._problem(leaves, conditions, True)) is None:
            return None
        return solve(problem)

    def _problem(self, leaves: tuple[str, ...] | None, conditions: tuple[m.Expr, ...], coarse: bool) -> Problem:
        problem = Problem(self.model, leaves, coarse)
        for c in conditions:
            problem.require(c)
        return problem


def arguments(machine: m.Machine, t: m.Transition) -> Mapping[str, m.Expr]:
    """The event's parameters, by the names that a transition gives them."""
    match t.trigger:
        case m.OnEvent(event, names) if names:
            parameters = machine.event_named[event].parameters
            return {n: m.Local(p.name, p.type) for n, p in zip(names, parameters, strict=True)}
        case _:
            return {}
