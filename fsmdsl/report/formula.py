"""A formula taken apart, with what each part is worth along a run: what a stepper shows beside the steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.walk import expressions
from fsmdsl.runs.explain import Reason, reasons
from fsmdsl.runs.rejection import refusals
from fsmdsl.runs.replay import broken
from fsmdsl.search import Trace, Verdict
from fsmdsl.step import FaultError, TooManyValuesError, Universe, Value, World
from fsmdsl.step.cascade import bound as given
from fsmdsl.step.describe import value_text, words
from fsmdsl.step.evaluate import Frame, evaluate, iterate

MAX_PARTS = 40
"""Parts that are shown of one formula."""

NO_VALUE = "no value"

Deciding = frozenset[tuple[str, Value]]
"""Variables, and what they stand for where a formula fails."""


@dataclass(frozen=True, slots=True)
class Part:
    """A formula in a formula, `depth` levels inside. `values` has what it is worth from which step on (0: from the
    beginning); nothing for what speaks of runs and has no value at one place of them."""

    depth: int
    text: str
    values: tuple[tuple[int, str], ...]

    def data(self) -> dict[str, Any]:
        """As values that JSON knows."""
        return {"depth": self.depth, "text": self.text, "values": [list(x) for x in self.values]}


def parts(universe: Universe, v: Verdict) -> list[Part]:
    """The formula that a verdict with a run is about: the invariant or property that is broken, the guards that did not
    hold where no instance handled an event. Takes time in proportion to the parts and the steps of the run."""
    if v.trace is None:
        return []
    parts: list[Part] = []
    for question in _questions(universe, v):
        worlds = question.worlds or [v.trace.start, *(x.world for x in v.trace.entries)]
        taker = _Taker(question.deciding, worlds, question.first)
        parts += taker.take(question.frame, question.formula, question.name)
    return parts[:MAX_PARTS]


@dataclass(frozen=True, slots=True)
class _Question:
    """A formula, where it is read, and what variables stand for where it fails; `worlds` are the places of the run,
    from the step `first` on."""

    frame: Frame
    formula: m.Expr
    deciding: Deciding = frozenset()
    name: str = ""
    worlds: Sequence[World] = ()
    first: int = 0


def _questions(universe: Universe, v: Verdict) -> Iterator[_Question]:
    assert v.trace is not None
    match v.kind:
        case "invariant" if v.outcome == "violated":
            violation = broken(universe, v, v.trace.end)
            if violation is not None:
                frame, x = violation
                whose = "" if frame.instance is None else f"{universe.name(frame.instance)}: "
                yield _Question(frame, x.condition, _deciding(reasons(frame, x.condition)), whose + words(x.condition))
        case "property":
            for p in universe.system.properties:
                if p.name == v.name and not isinstance(p.formula, m.Recovers):
                    yield _Question(Frame(universe, v.trace.end), p.formula, frozenset(v.deciding))
        case "reachable":
            for r in universe.system.reachables:
                if r.name == v.name:
                    yield _Question(Frame(universe, v.trace.end), r.condition)
        case "fault":
            yield from _refused(universe, v.trace)
        case _:
            pass


def _refused(universe: Universe, trace: Trace) -> Iterator[_Question]:
    """The guards that did not hold, in the middle of the last step."""
    fault = trace.fault
    if fault is None or fault.refused is None or fault.instance is None:
        return
    for index in fault.refused.transitions:
        t = universe.machines[fault.instance].transitions[index]
        if t.guard is not None:
            frame = Frame(universe, fault.refused.world, fault.instance, given(t, fault.refused.arguments))
            name = f"the guard of `{t.name}`: {words(t.guard)}"
            why = _deciding(x for refused, x in refusals(universe, fault) if refused is t)
            yield _Question(frame, t.guard, why, name, [fault.refused.world], len(trace.entries))


def _deciding(reasons: Iterable[Reason]) -> Deciding:
    return frozenset(x for reason in reasons for x in reason.values)


class _Taker:
    """Takes formulas apart at the end of a run. What a variable stands for where the formula fails is looked at more
    closely."""

    def __init__(self, deciding: Deciding, worlds: Sequence[World], first: int) -> None:
        self._deciding = deciding
        self._worlds = worlds
        self._first = first

    def take(self, frame: Frame, e: m.Expr, text: str = "", depth: int = 0) -> list[Part]:
        """The formula and what is inside it."""
        return [self._part(frame, e, depth, text or words(e)), *self._inside(frame, e, depth + 1)]

    def _inside(self, frame: Frame, e: m.Expr, depth: int) -> list[Part]:
        match e:
            case m.Logic(operands=operands) | m.Temporal(operands=operands):
                return [x for o in operands for x in self.take(frame, o, "", depth)]
            case m.Binary(operator="=>"):
                return [*self.take(frame, e.left, "", depth), *self.take(frame, e.right, "", depth)]
            case m.Not(operand=m.InState()):
                return []
            case m.Not():
                return self.take(frame, e.operand, "", depth)
            case m.Quantified(kind="all" | "some"):
                return self._elements(frame, e, depth)
            case m.Derived() if isinstance(e.type, m.BoolType):
                return self._let(frame, e, depth)
            case m.Binary():
                return [part for x in (e.left, e.right) if _telling(x) for part in self.take(frame, x, "", depth)]
            case _:
                return []

    def _elements(self, frame: Frame, e: m.Quantified, depth: int) -> list[Part]:
        """What the body is worth for each element there is at the end; taken apart for those that matter."""
        try:
            over = iterate(frame, e.over)
        except (FaultError, TooManyValuesError):
            return []
        of = m.element_of(e.over.type)
        names = {x: f"{e.variable} = {value_text(frame.roster, of, x)}" for x in over}
        matter = {x for x in over if (e.variable, x) in self._deciding}
        parts: list[Part] = []
        for x in over:
            inner = frame.inner()
            inner.locals[e.variable] = x
            label = f"for {names[x]}" if e.body.span == e.span else f"for {names[x]}: {words(e.body)}"
            plain = isinstance(e.body, m.InState | m.Read)
            if (x in matter and not self._satisfied(inner, e)) or (not matter and len(over) == 1):
                parts += self.take(inner, e.body, label, depth)
            elif plain or not _of_runs(e.body):
                parts.append(self._part(inner, e.body, depth, label if plain else f"for {names[x]}"))
        return parts

    def _satisfied(self, inner: Frame, e: m.Quantified) -> bool:
        """Is an element as it should be at the end, so that it needs no explanation?"""
        return e.kind == "all" and not _of_runs(e.body) and _value(inner, e.body) == "true"

    def _let(self, frame: Frame, e: m.Derived, depth: int) -> list[Part]:
        """A derived condition, in its own words."""
        try:
            instance = frame.instance if e.target is None else evaluate(frame, e.target)
            let = frame.roster.let(e)
            bound = {p.name: evaluate(frame, a) for p, a in zip(let.parameters, e.arguments, strict=True)}
        except (FaultError, TooManyValuesError):
            return []
        if instance is not None and not isinstance(instance, int):
            return []
        return self.take(Frame(frame.roster, frame.world, instance, bound), let.value, "", depth)

    def _part(self, frame: Frame, e: m.Expr, depth: int, text: str) -> Part:
        return Part(depth, text, () if _of_runs(e) else tuple(self._values(frame, e)))

    def _values(self, frame: Frame, e: m.Expr) -> Iterator[tuple[int, str]]:
        last: str | None = None
        for n, world in enumerate(self._worlds, self._first):
            value = _value(Frame(frame.roster, world, frame.instance, frame.locals), e)
            if value != last:
                yield n, value
            last = value


def _telling(e: m.Expr) -> bool:
    """Does the value of an operand say more than its words?"""
    return not isinstance(e, m.Constant | m.Local | m.Self | m.InstanceRef | m.Collection)


def _of_runs(e: m.Expr) -> bool:
    return any(isinstance(x, m.Temporal) for x in expressions(e))


def _value(frame: Frame, e: m.Expr) -> str:
    try:
        return value_text(frame.roster, e.type, evaluate(frame, e))
    except (FaultError, TooManyValuesError):
        return NO_VALUE


def shortened(parts: Sequence[Part]) -> list[Part]:
    """The same parts, each text no longer than a person reads at a glance."""
    return [x if len(x.text) <= 200 else replace(x, text=f"{x.text[:199]}…") for x in parts]
