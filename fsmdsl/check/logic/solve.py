"""Looking for values under which all conditions of a problem hold: domains are halved until the answer is clear."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fsmdsl import model as m
from fsmdsl.check.logic.narrow import narrowed
from fsmdsl.check.logic.problem import Box, Formula, Problem, Variable
from fsmdsl.check.logic.values import EITHER, FALSE, TRUE, Values, compared, ends
from fsmdsl.dataclasses import dataclass

BUDGET: Final = 4000
"""Maximum number of boxes that the solver examines before it gives up."""


@dataclass(frozen=True, slots=True)
class Solution:
    """Values under which the conditions hold, of the variables that matter for it."""

    values: tuple[tuple[m.Expr, object], ...]
    exact: bool
    """Can these values occur, as far as the machine's text says? Else they may contradict what is not looked into."""


GAVE_UP: Final = Solution((), False)
"""There was too much to look at: no values are known, and there may be some."""


def solve(problem: Problem, budget: int = BUDGET) -> Solution | None:
    """Values under which all conditions hold, or None if there are none."""
    return _Search(problem, budget).run()


class _Search:
    def __init__(self, problem: Problem, budget: int) -> None:
        self.problem = problem
        self.budget = budget
        self.links = tuple(_links(problem))
        self.domains = problem.domains()
        self.consistent: dict[tuple[tuple[m.Expr, bool], ...], bool] = {}

    def run(self) -> Solution | None:
        start = narrowed(self.problem, self.domains)
        if not all(start):
            return None
        conditions = [*self.problem.conditions, *self.links]
        stack = [start]
        while self.problem.tried < self.budget:
            if not stack:
                return None
            self.problem.tried += 1
            box = stack.pop()
            truth_values = [condition(box) for condition in conditions]
            if not all(True in f for f in truth_values):
                continue
            if all(f == TRUE for f in truth_values):
                point = self._point(box)
                if not all(c(point) == TRUE for c in conditions):
                    stack.extend(self._halves(box))
                elif self._elements_exist(box):
                    return self._solution(box, point)
            else:
                stack.extend(self._halves(box))
        return GAVE_UP

    def _point(self, box: Box) -> Box:
        """The first value of each variable."""
        return tuple(
            v[:1] if isinstance(v, range) else frozenset([next(x for x in d if x in v)])
            for v, d in zip(box, self.domains, strict=True)
        )

    def _halves(self, box: Box) -> Iterator[Box]:
        """The box cut in two along its widest side, the part to be looked at first last."""
        widest = max(range(len(box)), key=lambda i: len(box[i]), default=None)
        if widest is None or len(box[widest]) < 2:
            return
        side = box[widest]
        middle = len(side) // 2
        halves: tuple[Values, Values]
        if isinstance(side, range):
            halves = side[middle:], side[:middle]
        else:
            values = [x for x in self.domains[widest] if x in side]
            halves = frozenset(values[middle:]), frozenset(values[:middle])
        for half in halves:
            yield (*box[:widest], half, *box[widest + 1 :])

    def _solution(self, box: Box, point: Box) -> Solution:
        chosen = list(zip(self.problem.variables, box, point, self.domains, strict=True))
        values = tuple((v.term, next(iter(at))) for v, side, at, domain in chosen if _matters(v, side, domain))
        return Solution(values, self.problem.exact)

    # Elements of sets ------------------------------------------------------------------------------------------------

    def _elements_exist(self, box: Box) -> bool:
        """Can there be elements as the truth values of `some x in s: p` want them? For each `s`, a `p` that holds of
        some element must agree with all that hold of none."""
        facts = [
            (v.term, True in side)
            for v, side in zip(self.problem.variables, box, strict=True)
            if isinstance(v.term, m.Quantified) and v.term.kind == "some" and len(side) == 1
        ]
        return all(self._has_elements(facts, e) for e, holds in facts if holds)

    def _has_elements(self, facts: Sequence[tuple[m.Quantified, bool]], existential: m.Quantified) -> bool:
        others = tuple(
            (e, False)
            for e, holds in facts
            if not holds and e.over == existential.over and e.variable == existential.variable
        )
        key = ((existential, True), *others)
        if key not in self.consistent:
            inner = self.problem.subproblem()
            inner.require(existential.body)
            for e, _ in others:
                inner.require(m.Not(e.body))
            # A subproblem must not use up the budget of the question that it belongs to.
            self.consistent[key] = solve(inner, self.budget // 10) is not None
            self.problem.tried += inner.tried
        return self.consistent[key]


def _matters(v: Variable, side: Values, domain: Sequence[object]) -> bool:
    """Was the variable narrowed down? A single value is nothing to speak of."""
    return len(domain) > 1 and (len(side) < len(domain))


def _links(problem: Problem) -> Iterator[Formula]:
    """What is true of any values: an instance that is not there is in no state; an empty set has no elements."""
    for i, v in enumerate(problem.variables):
        match v.term:
            case m.InState(target=target):
                owner = problem.place_of(target)
                if owner is not None:
                    yield _none_together(i, owner)
            case m.Quantified(kind="some", over=over):
                yield from (_not_both(i, n) for n, x in enumerate(problem.variables) if _is_size(x.term, over))
            case _:
                pass


def _none_together(a: int, b: int) -> Formula:
    return lambda box: compared("==", frozenset(x is None for x in box[a]), frozenset(x is None for x in box[b]))


def _not_both(some: int, size: int) -> Formula:
    """Never an element, and a size of 0."""

    def truth(box: Box) -> Values:
        fewest, most = ends(box[size])
        if box[some] == FALSE or fewest > 0:
            return TRUE
        return FALSE if box[some] == TRUE and most == 0 else EITHER

    return truth


def _is_size(e: m.Expr, of: m.Expr) -> bool:
    return isinstance(e, m.Apply) and e.function == "size" and e.arguments == (of,)
