"""Domains cut down to what single comparisons leave of them, before anything is tried.

Most guards are such comparisons joined by `and`; two that exclude each other leave nothing of some domain.
"""

from __future__ import annotations

from collections.abc import Sequence

from fsmdsl import model as m
from fsmdsl.check.logic.problem import Box, Problem
from fsmdsl.check.logic.values import Values
from fsmdsl.core.guards import conjuncts
from fsmdsl.syntax.operators import COMPARISONS, TURNED


def narrowed(problem: Problem, domains: Sequence[Sequence[object]]) -> Box:
    """The domains, without the values for which one of the required conditions is surely false."""
    box: list[Values] = [d if isinstance(d, range) else frozenset(d) for d in domains]
    for condition in problem.required:
        for part in conjuncts(condition):
            _narrow(problem, box, part)
    return tuple(box)


def _narrow(problem: Problem, box: list[Values], part: m.Expr) -> None:
    match part:
        case m.Binary(operator=operator, left=term, right=m.Constant(value=value)):  # `in` has no constant there
            _compare(problem, box, operator, term, value)
        case m.Binary(operator=operator, left=m.Constant(value=value), right=term) if operator in COMPARISONS:
            _compare(problem, box, TURNED[operator], term, value)
        case m.InState() | m.Not(operand=m.InState()):
            test = part.operand if isinstance(part, m.Not) else part
            assert isinstance(test, m.InState)
            at = problem.place_of(m.InState(test.target, frozenset(), ""))
            if at is not None:
                box[at] = frozenset(s for s in box[at] if (s in test.states) is not isinstance(part, m.Not))
        case m.Not(operand=term):
            _compare(problem, box, "==", term, False)
        case _:
            _compare(problem, box, "==", part, True)


def _compare(problem: Problem, box: list[Values], operator: str, term: m.Expr, value: object) -> None:
    at = problem.place_of(term)
    if at is None:
        return
    values = box[at]
    if isinstance(values, range):
        if isinstance(value, int) and values:
            box[at] = _cut(values, operator, value)
    elif operator in ("==", "!="):
        box[at] = frozenset(x for x in values if (x == value) is (operator == "=="))


def _cut(values: range, operator: str, value: int) -> range:
    low, high = values[0], values[-1]
    match operator:
        case "<":
            high = min(high, value - 1)
        case "<=":
            high = min(high, value)
        case ">":
            low = max(low, value + 1)
        case ">=":
            low = max(low, value)
        case "==":
            low, high = max(low, value), min(high, value)
        case _:
            low, high = low + (low == value), high - (high == value)
    return range(low, high + 1)
