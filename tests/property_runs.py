"""Systems explored for their temporal properties; random formulas."""

from __future__ import annotations

import random
from typing import Any

import textbook_liveness as textbook
from stepping import compiled, only_system

from fsmdsl import model as m
from fsmdsl.runs import explain
from fsmdsl.runs.liveness import formula as f
from fsmdsl.runs.liveness.answer import Answer, answers, counterexample
from fsmdsl.runs.liveness.explanation import why
from fsmdsl.runs.liveness.grounding import questions
from fsmdsl.runs.liveness.plan import Plan
from fsmdsl.runs.liveness.record import Recorder
from fsmdsl.runs.trace import Trace
from fsmdsl.step import Universe, World, enabled, fire, initial


def translated(x: textbook.Formula) -> f.Formula:
    match x:
        case ("true",):
            return f.TRUE
        case ("atom", n):
            return f.Literal(n, True)
        case ("not", g):
            return f.negation(translated(g))
        case ("and", g, h):
            return f.conjunction([translated(g), translated(h)])
        case ("or", g, h):
            return f.disjunction([translated(g), translated(h)])
        case ("next", g):
            return f.next_(translated(g))
        case ("until", g, h):
            return f.until(translated(g), translated(h))
    raise AssertionError(x)


def random_formula(r: random.Random, depth: int, atoms: int = 3) -> textbook.Formula:
    if depth == 0 or r.random() < 0.2:
        return ("atom", r.randrange(atoms))
    kind = r.choice(["not", "and", "or", "next", "until", "always", "eventually", "implies", "leads to"])
    first = random_formula(r, depth - 1, atoms)
    match kind:
        case "not" | "next":
            return (kind, first)
        case "always":
            return textbook.always(first)
        case "eventually":
            return textbook.eventually(first)
    second = random_formula(r, depth - 1, atoms)
    match kind:
        case "implies":
            return textbook.implies(first, second)
        case "leads to":
            return textbook.always(textbook.implies(first, textbook.eventually(second)))
    return (kind, first, second)


class Explored:
    """A system gone through step by step, and the answers to its properties."""

    def __init__(self, model: m.Model, system: m.System, limit: int = 10_000) -> None:
        self.universe = Universe(model, system)
        self.plan: Plan = questions(self.universe)
        recorder = Recorder(self.plan)
        self.worlds: list[World] = []
        self.number: dict[World, int] = {}
        self._add(recorder, initial(self.universe))
        at = 0
        while at < len(self.worlds) and at < limit:
            world = self.worlds[at]
            for step in enabled(self.universe, world):
                result = fire(self.universe, world, step)
                if result.fault is None:
                    self._add(recorder, result.world)
                    recorder.edge(self.number[result.world], world, step, result.cascade)
            recorder.expanded()
            at += 1
        self.graph = recorder.graph(firsts=1)
        self.answers = {a.question.property.name: a for a in answers(self.plan, self.graph)}

    def _add(self, recorder: Recorder, world: World) -> None:
        if world not in self.number:
            self.number[world] = len(self.worlds)
            self.worlds.append(world)
            recorder.state(world)

    def outcomes(self) -> dict[str, str]:
        return {name: a.outcome for name, a in self.answers.items()}

    def trace(self, name: str, breach: int = 0) -> Trace:
        a = self.answers[name]
        lasso = a.breaches[breach].lasso
        return counterexample(self.plan, self.graph, a.question, lasso, lambda world, n: self.worlds[n] == world)

    def why(self, name: str) -> list[str]:
        a = self.answers[name]
        return explain.lines(self.plan.universe, why(self.plan, a.question, a.breaches[0], self.trace(name)))


def explored(text: str, **given: Any) -> Explored:
    model = compiled(text)
    return Explored(model, only_system(model), **given)


def answer(text: str) -> Answer:
    (found,) = explored(text).answers.values()
    return found


LAMP = """
machine Lamp {
    initial state Off  state On  state Broken
    event press, hit, repair from environment
    Off -> On on press  On -> Off on press  Off, On -> Broken on hit  Broken -> Off on repair
}
system S { lamps: Lamp[%d]  environment { some l in lamps: l.press %s } property p: %s }
"""


def lamp(formula: str, count: int = 1, more: str = "") -> Explored:
    return explored(LAMP % (count, more, formula))
