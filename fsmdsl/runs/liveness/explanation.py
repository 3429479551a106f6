"""Why a run breaks a property: which part of it fails, at which step, for which instances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.walk import temporal
from fsmdsl.runs.explain import Binding, Reason, line, reasons
from fsmdsl.runs.liveness.answer import Breach
from fsmdsl.runs.liveness.formula import And, Formula, Literal, Next, Or, Release, Until
from fsmdsl.runs.liveness.grounding import Bound, Grounding
from fsmdsl.runs.liveness.plan import Atom, Plan, Question
from fsmdsl.runs.liveness.standstill import Standstill
from fsmdsl.runs.trace import Trace
from fsmdsl.step import Universe, Value
from fsmdsl.step.describe import words
from fsmdsl.step.evaluate import Frame

NOTHING: Mapping[str, Value] = {}


def why(plan: Plan, q: Question, breach: Breach, trace: Trace) -> list[Reason]:
    """Why a trace, that of a breach, breaks a property."""
    assert not isinstance(q.property.formula, m.Recovers)
    reader = _Reader(plan.universe, trace, dict(breach.claim.bound), breach.stuck)
    return list(reader.why(q.property.formula, 0, NOTHING, ()))


@dataclass(frozen=True, slots=True)
class Word:
    """A run as places, the last of which is followed by the place `back`; and where each atom is true."""

    length: int
    back: int
    true: Sequence[Sequence[bool]]

    def values(self, f: Formula) -> list[bool]:
        """The places at which a formula is true."""
        match f:
            case Literal(atom, positive):
                return [x is positive for x in self.true[atom]]
            case And(parts):
                columns = [self.values(x) for x in parts]
                return [all(c[n] for c in columns) for n in range(self.length)]
            case Or(parts):
                columns = [self.values(x) for x in parts]
                return [any(c[n] for c in columns) for n in range(self.length)]
            case Next(body):
                inner = self.values(body)
                return [*inner[1:], inner[self.back]]
            case Until(left, right):
                return self._settled(self.values(left), self.values(right), False)
            case Release(left, right):
                return self._settled(self.values(left), self.values(right), True)
            case _:
                assert_never(f)

    def _settled(self, left: list[bool], right: list[bool], release: bool) -> list[bool]:
        """From the end to the beginning; twice, since what comes after the end is known after the first time only."""
        values = [release] * (self.length + 1)
        for _ in range(2):
            values[self.length] = values[self.back]
            for n in reversed(range(self.length)):
                values[n] = (
                    right[n] and (left[n] or values[n + 1]) if release else right[n] or (left[n] and values[n + 1])
                )
        return values[:-1]


class _Reader:
    """Reads a property along a trace. Place `n` is the world after so many steps."""

    def __init__(self, universe: Universe, trace: Trace, chosen: Bound, stuck: Standstill) -> None:
        self.universe = universe
        self.stuck = stuck
        self.chosen = chosen
        self.grounding = Grounding(universe)
        worlds = [trace.start, *(e.world for e in trace.entries)]
        repeats = trace.loop is not None and trace.loop < len(trace.entries)
        self.worlds = worlds[:-1] if repeats else worlds
        self.back = trace.loop if trace.loop is not None and repeats else len(worlds) - 1

    def values(self, e: m.Expr, bound: Bound) -> list[bool]:
        """At which places a condition is true."""
        return self.along(self.grounding.formula(e, bound, True))

    def along(self, f: Formula) -> list[bool]:
        """At which places a formula is true."""
        true = [self._true(a) for a in self.grounding.atoms]
        return Word(len(self.worlds), self.back, true).values(f)

    def _true(self, a: Atom) -> list[bool]:
        """The places at which an atom is true. An instance that is stuck remains stuck."""
        if not a.of_graphs:
            return [a.true(self.universe, w) for w in self.worlds]
        values = list(self.stuck[a])[: len(self.worlds)]
        return [*values, *values[-1:] * (len(self.worlds) - len(values))]

    def why(self, e: m.Expr, at: int, bound: Bound, bindings: tuple[Binding, ...]) -> Iterator[Reason]:
        """Why a formula is false at a place."""
        match e:
            case _ if not temporal(e):
                causes = reasons(Frame(self.universe, self.worlds[at], None, bound), e)
                yield from (Reason(bindings, f"{_when(at)}, {line(self.universe, x)}", x.bindings) for x in causes)
            case m.Quantified() if not all(self.along(x)[at] for x in self.grounding.surely(e.over, bound, True)):
                yield Reason(bindings, f"{_when(at)}, `{words(e.over)}` has no value")
            case m.Quantified(kind="all"):
                v = self._failing(e, at, bound)
                binding = Binding(e.variable, v, m.element_of(e.over.type))
                yield from self.why(e.body, at, {**bound, e.variable: v}, (*bindings, binding))
            case m.Logic(operator="and"):
                yield from self.why(next(x for x in e.operands if not self.values(x, bound)[at]), at, bound, bindings)
            case m.Logic(operator="or"):
                for x in e.operands:
                    yield from self.why(x, at, bound, bindings)
            case m.Binary(operator="=>"):
                yield Reason(bindings, f"{_when(at)}, `{words(e.left)}` holds")
                yield from self.why(e.right, at, bound, bindings)
            case m.Temporal():
                yield from self._temporal(e, at, bound, bindings)
            case m.Not(operand=m.Temporal(operator="stuck", operands=(instance,))):
                yield Reason(bindings, f"{_when(at)}, no step that can still come is one of `{words(instance)}`")
            case _:
                yield Reason(bindings, f"{_when(at)}, `{words(e)}` is false")

    def _failing(self, e: m.Quantified, at: int, bound: Bound) -> Value:
        """A value for which the body fails: the one that was chosen, if it does."""
        failing = [
            x for x in self.grounding.values(e, bound) if not self.along(self.grounding.body(e, x, bound, True))[at]
        ]
        return self.chosen[e.variable] if self.chosen.get(e.variable) in failing else failing[0]

    def _temporal(self, e: m.Temporal, at: int, bound: Bound, bindings: tuple[Binding, ...]) -> Iterator[Reason]:
        inner = e.operands[0]
        match e.operator:
            case "always":
                yield from self.why(inner, self._first(self.values(inner, bound), False, at), bound, bindings)
            case "next":
                after = at + 1 if at + 1 < len(self.worlds) else self.back
                yield from self.why(inner, after, bound, bindings)
            case "eventually" if isinstance(inner, m.Temporal) and inner.operator == "always":
                holds = self.values(inner.operands[0], bound)
                place = self._first(holds, False, max(at, self.back))
                yield Reason(bindings, f"`{words(inner.operands[0])}` is false again and again")
                yield from self.why(inner.operands[0], place, bound, bindings)
            case "eventually":
                yield Reason(bindings, f"{_since(at)}, `{words(inner)}` is never true")
            case "until":
                yield from self._until(e, at, bound, bindings)
            case "~>":
                never = self.values(m.Temporal("eventually", e.operands[1:]), bound)
                left = self.values(inner, bound)
                place = self._first([a and not b for a, b in zip(left, never, strict=True)], True, at)
                yield Reason(bindings, f"{_when(place)}, `{words(inner)}` holds")
                yield Reason(bindings, f"{_since(place)}, `{words(e.operands[1])}` is never true")
            case "stuck":
                yield Reason(bindings, f"{_when(at)}, `{words(e)}` is false")
            case _:
                assert_never(e.operator)

    def _until(self, e: m.Temporal, at: int, bound: Bound, bindings: tuple[Binding, ...]) -> Iterator[Reason]:
        left, right = e.operands
        holds = self.values(left, bound)
        if not self.values(m.Temporal("always", (left,)), bound)[at]:
            yield from self.why(left, self._first(holds, False, at), bound, bindings)
            yield Reason(bindings, f"`{words(right)}` is not true before")
        else:
            yield Reason(bindings, f"{_since(at)}, `{words(right)}` is never true")

    def _first(self, values: list[bool], value: bool, at: int) -> int:
        """The next place with a value, round the loop if need be."""
        places = chain(range(at, len(values)), range(min(at, self.back), at))
        return next(n for n in places if values[n] is value)


def _when(at: int) -> str:
    return f"after step {at}" if at else "in the beginning"


def _since(at: int) -> str:
    return f"from step {at} on" if at else "from the beginning on"
