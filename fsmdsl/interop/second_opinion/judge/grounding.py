"""Properties as formulas over the states of a graph.

A condition becomes an atom: the set of states in which it is true. One without a value is false there. A quantifier
ranges over the values that its collection has in some state of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core.lets import throughout
from fsmdsl.interop.second_opinion.judge.fair_runs import NoOpinionError
from fsmdsl.interop.second_opinion.judge.formula import (
    FALSE,
    TRUE,
    At,
    Formula,
    always,
    eventually,
    every,
    following,
    negation,
    some,
    until,
    with_atoms,
)
from fsmdsl.interop.second_opinion.judge.state_graph import StateGraph
from fsmdsl.model.walk import expressions, temporal
from fsmdsl.step import FaultError, Followed, Value, World, holds, value
from fsmdsl.step.describe import words
from fsmdsl.step.evaluate import elements

Bound = Mapping[str, Value]

_CHANGING = m.InState | m.StateOf | m.Wait | m.ChannelRef
"""What the state of a run decides, beside fields."""


class Grounding:
    """Formulas of the properties of one system. `letters` are the atoms that are true in each state, as bits."""

    def __init__(self, graph: StateGraph) -> None:
        self.graph, self.universe = graph, graph.universe
        self.letters = [0] * len(graph.worlds)
        self._atoms: dict[object, Formula] = {}
        self._possibly: dict[int, int] = {}
        """Atoms that are true in some states for certain, and the atoms that are true there or may be."""

    def property(self, e: m.Expr) -> Formula:
        """A formula that is false only of runs of which the expression is false for certain, whatever is beyond the
        bound. Raises `NoOpinionError`."""
        return with_atoms(self.formula(e, {}), self._possibly)

    def formula(self, e: m.Expr, bound: Bound) -> Formula:
        """A formula that is true of the same runs as an expression. Raises `NoOpinionError`."""

        def of(x: m.Expr) -> Formula:
            return self.formula(x, bound)

        match e:
            case _ if not temporal(e):
                return self._atom("is true", e, bound, lambda w: holds(self.universe, w, e, bound))
            case m.Not(operand=x):
                return negation(of(x))
            case m.Logic(operator=operator, operands=operands):
                return every(map(of, operands)) if operator == "and" else some(map(of, operands))
            case m.Binary(operator="=>", left=x, right=y):
                return some([negation(of(x)), of(y)])
            case m.Binary(operator="==" | "!=", left=x, right=y):
                same = _cases(of(x), of(y), negation(of(y)))
                return same if e.operator == "==" else negation(same)
            case m.Conditional(condition=x, then=y, otherwise=z):
                return _cases(of(x), of(y), of(z))
            case m.Quantified(kind="all" | "some"):
                return self._quantified(e, bound)
            case m.Temporal(operator="stuck", operands=(x,)):
                return self._stuck(x, bound)
            case m.Temporal():
                return _temporal(e, [of(x) for x in e.operands])
            case _:
                raise NoOpinionError(f"`{words(e)}` searches for a value in a formula about whole runs")

    def _quantified(self, e: m.Quantified, bound: Bound) -> Formula:
        """A quantifier whose collection has no value is false."""

        def members(world: World) -> tuple[Value, ...]:
            return tuple(elements(e.over.type, value(self.universe, world, e.over, locals=bound)))

        has_value = self._atom("has a value", e.over, bound, lambda w: members(w) is not None)
        parts = []
        for x in self._values(e.over, members):
            member = self._atom(("contains", x), e.over, bound, lambda w, x=x: x in members(w))  # type: ignore[misc]
            body = self.formula(e.body, {**bound, e.variable: x})
            parts.append(some([negation(member), body]) if e.kind == "all" else every([member, body]))
        return every([has_value, every(parts) if e.kind == "all" else some(parts)])

    def _values(self, over: m.Expr, members: Callable[[World], tuple[Value, ...]]) -> list[Value]:
        values: dict[Value, None] = {}
        for world in [self.universe.start] if self._is_constant(over) else self.graph.worlds:
            try:
                values.update(dict.fromkeys(members(world)))
            except FaultError:
                continue
        return list(values)

    def _atom(self, kind: object, e: m.Expr, bound: Bound, true: Callable[[World], bool]) -> Formula:
        """A condition on one state. One that no state changes is a constant; so is one that is the same in all states,
        unless states beyond the bound are unknown."""
        names = {x.name for x in expressions(e) if isinstance(x, m.Local)}
        key = (kind, e, tuple((name, x) for name, x in sorted(bound.items()) if name in names))
        if key not in self._atoms:
            is_constant = self._is_constant(e)
            worlds = [self.universe.start] if is_constant else self.graph.worlds
            values = [_or_false(true, world) for world in worlds]
            self._atoms[key] = self._set(values, is_constant or not self.graph.open)
        return self._atoms[key]

    def _set(self, values: list[bool], closed: bool) -> Formula:
        """The atom that is true in some states."""
        if closed and len(set(values)) <= 1:
            return TRUE if all(values) else FALSE
        place = max((x.atom for x in self._atoms.values() if isinstance(x, At)), default=-1) + 1
        for n, x in enumerate(values):
            self.letters[n] |= x << place
        return At(place, True)

    def _is_constant(self, e: m.Expr) -> bool:
        return not any(
            isinstance(x, m.InState | m.StateOf | m.Wait | m.ChannelRef)
            or (isinstance(x, m.Read) and x.kind == "field")
            for x in throughout(self.universe.model, e, self.universe.system)
        )

    def _stuck(self, who: m.Expr, bound: Bound) -> Formula:
        """An instance is in neither a final nor a resting state, its machine has a transition from there (crashes do
        not count), and no step that can still come follows one of its transitions."""
        if not self._is_constant(who):
            raise NoOpinionError(f"`{words(who)}` is not one instance for the whole run")
        try:
            instance = value(self.universe, self.universe.start, who, locals=bound)
        except FaultError:
            raise NoOpinionError(f"`{words(who)}` has no value") from None
        assert isinstance(instance, int)
        if ("stuck", instance) not in self._atoms:
            certainly = self._set(self._stuck_in(instance, self.graph.open), not self.graph.open)
            self._atoms["stuck", instance] = certainly
            if isinstance(certainly, At):
                possibly = self._set(self._stuck_in(instance, ()), False)
                assert isinstance(possibly, At)
                self._atoms["possibly stuck", instance] = possibly
                self._possibly[certainly.atom] = possibly.atom
        return self._atoms["stuck", instance]

    def _stuck_in(self, instance: int, unknown: Iterable[int]) -> list[bool]:
        """In which states: none from which a state leads on that is unknown."""
        graph, machine = self.graph, self.universe.machines[instance]
        moves = {t.index for t in machine.transitions if not isinstance(t.trigger, m.OnCrash)}
        waits = {leaf for t in machine.transitions if t.index in moves for leaf in machine.leaves_of(t.source)}
        waits -= {s.name for s in machine.leaves if s.permits_rest}
        own = {n for x, n in graph.events.items() if isinstance(x, Followed) and x.instance == instance}
        own -= {n for x, n in graph.events.items() if isinstance(x, Followed) and x.transition not in moves}
        before: list[list[int]] = [[] for _ in graph.worlds]
        moving = set(unknown)
        for source, arrows in enumerate(graph.arrows):
            for arrow in arrows:
                before[arrow.target].append(source)
                if arrow.events & own:
                    moving.add(source)
        waiting = list(moving)
        while waiting:
            fresh = set(before[waiting.pop()]) - moving
            moving |= fresh
            waiting += fresh
        return [w.states[instance] in waits and n not in moving for n, w in enumerate(graph.worlds)]


def _cases(condition: Formula, then: Formula, otherwise: Formula) -> Formula:
    return some([every([condition, then]), every([negation(condition), otherwise])])


def _temporal(e: m.Temporal, operands: list[Formula]) -> Formula:
    match e.operator:
        case "always":
            return always(operands[0])
        case "eventually":
            return eventually(operands[0])
        case "next":
            return following(operands[0])
        case "until":
            return until(operands[0], operands[1])
        case "~>":
            return always(some([negation(operands[0]), eventually(operands[1])]))
        case "stuck":
            raise TypeError("`stuck` has no formula as its operand")
        case _:
            assert_never(e.operator)


def _or_false(true: Callable[[World], bool], world: World) -> bool:
    try:
        return true(world)
    except FaultError:
        return False
