"""Properties of runs as formulas of linear temporal logic over conditions of one state."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from fsmdsl import model as m
from fsmdsl.core.triggers import trigger_name
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.typing import element
from fsmdsl.model.walk import temporal
from fsmdsl.step.instances import Roster

WITHOUT = {
    "delivery": "`deliver` promises that what waits in a channel is delivered, which is not exported",
    "each": "`for each` promises something for each value of an argument, which is not exported",
    "finite": "runs with finitely many crashes may end where only a crash is possible, which SPIN's do not",
    "fairness": "it promises more than SPIN's formulas can take",
    "bound": "the system says `explore while`, and to SPIN a run ends where no step is explored",
    "recovery": "`recovers` is not exported",
    "changing": "it refers to a collection that may change",
    "stuck": "`stuck` is about all runs at once",
    "next": "SPIN has no `next` as it is usually built",
    "shape": "its temporal words are inside something that is not a formula",
}
"""Why a property is not exported."""


class UnsaidError(Exception):
    """A property that is not exported; a key of `WITHOUT`."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition without temporal words, and the variables that it is a function of, with their types."""

    number: int
    expression: m.Expr
    variables: tuple[tuple[str, m.Type], ...]


@dataclass(frozen=True, slots=True)
class Claim:
    """What must be true of all runs. Of a property for each of several instances there are several."""

    number: int
    property: str
    formula: str


@dataclass(frozen=True, slots=True)
class Promise:
    """What an instance does not put off for ever: following some transitions, ignoring some events."""

    instance: int
    transitions: frozenset[int]
    ignored: frozenset[str]


@dataclass(slots=True)
class Claims:
    """The claims of a system, the conditions and promises that they speak of, and why other properties have none."""

    claims: list[Claim] = field(default_factory=list)
    promises: list[Promise] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    without: dict[str, str] = field(default_factory=dict)


Bound = Mapping[str, tuple[m.Type, int]]
"""Variables that stand for an instance: their type and its number."""

Atom = Callable[[int, list[int]], str]
"""How the target writes a condition, by its number and the values of its variables."""


Promised = Callable[[Literal["can", "does"], int], str]
"""How the target writes that a promise can be kept by the next step, or was kept by the last."""

MAX_PROMISES = 2
"""Maximum number of promises in one formula, strong ones counted twice: each makes SPIN many times slower."""


def claims(roster: Roster, atom: Atom, promise: Promised) -> Claims:
    """All properties of a system, with the operators as SPIN writes them."""
    collected = Claims()
    for p in roster.system.properties:
        try:
            if roster.system.bounds:
                raise UnsaidError("bound")
            if isinstance(p.formula, m.Recovers):
                raise UnsaidError("recovery")
            formulas = [_formula(collected, roster, x, bound, atom) for x, bound in _each(roster, p.formula, {})]
            premises = _premises(collected, roster, p, promise)
        except UnsaidError as error:
            collected.without[p.name] = WITHOUT[str(error)]
            continue
        if premises:
            formulas = [f"(({' && '.join(premises)}) -> {x})" for x in formulas]
        collected.claims += [Claim(len(collected.claims) + n, p.name, x) for n, x in enumerate(formulas)]
    return collected


# Fairness ------------------------------------------------------------------------------------------------------------


def _premises(collected: Claims, roster: Roster, p: m.Property, promise: Promised) -> list[str]:
    """A formula for each promise; one that is made weakly and strongly is strong."""
    strengths: dict[Promise, str] = {}
    if any(fairness.deliveries for fairness in p.under):
        raise UnsaidError("delivery")
    if any(fairness.each for fairness in p.under):
        raise UnsaidError("each")
    if p.finite:
        raise UnsaidError("finite")
    for fairness in p.under:
        for name in fairness.names:
            for x in _promises(roster, name):
                if strengths.get(x) != "strong":
                    strengths[x] = fairness.strength
    if sum(2 if x == "strong" else 1 for x in strengths.values()) > MAX_PROMISES:
        raise UnsaidError("fairness")
    return [_premise(collected, x, strength, promise) for x, strength in strengths.items()]


def _premise(collected: Claims, x: Promise, strength: str, promise: Promised) -> str:
    if x not in collected.promises:
        collected.promises.append(x)
    number = collected.promises.index(x)
    can, does = promise("can", number), promise("does", number)
    return f"([] (<> {can}) -> [] (<> {does}))" if strength == "strong" else f"([] (<> (! {can} || {does})))"


def _promises(roster: Roster, name: str) -> Iterator[Promise]:
    """One for each instance that knows a name, alone or behind that of its machine."""
    for instance, machine in enumerate(roster.machines):
        names = {name}
        for front in (f"{machine.name}.", f"{machine.qualified}."):
            if name.startswith(front):
                names.add(name.removeprefix(front))
        followed = frozenset(t.index for t in machine.transitions if {*t.labels, trigger_name(t.trigger)} & names)
        ignored = frozenset(x.event for x in machine.ignores if x.event in names)
        if followed or ignored:
            yield Promise(instance, followed, ignored)


# Formulas ------------------------------------------------------------------------------------------------------------


def _each(roster: Roster, e: m.Expr, bound: Bound) -> Iterator[tuple[m.Expr, Bound]]:
    """`all g in groups:` in front asks of each instance by itself."""
    if isinstance(e, m.Quantified) and e.kind == "all" and temporal(e.body):
        for inner in _bindings(roster, e, bound):
            yield from _each(roster, e.body, inner)
    else:
        yield e, bound


def _bindings(roster: Roster, e: m.Quantified, bound: Bound) -> Iterator[Bound]:
    match e.over:
        case m.Instances(name=name):
            members = roster.instances_called(name)
        case m.AllOf(machine=machine):
            members = roster.instances_of(machine)
        case _:
            raise UnsaidError("changing")
    for n in sorted(members):
        yield {**bound, e.variable: (element(e.over.type), n)}


def _formula(collected: Claims, roster: Roster, e: m.Expr, bound: Bound, atom: Atom) -> str:
    def inner(x: m.Expr) -> str:
        return _formula(collected, roster, x, bound, atom)

    if not temporal(e):
        variables = tuple((name, t) for name, (t, _) in bound.items())
        condition = Condition(len(collected.conditions), e, variables)
        collected.conditions.append(condition)
        return atom(condition.number, [n for _, n in bound.values()])
    match e:
        case m.Temporal(operator="always", operands=(x,)):
            return f"([] {inner(x)})"
        case m.Temporal(operator="eventually", operands=(x,)):
            return f"(<> {inner(x)})"
        case m.Temporal(operator="next" | "stuck" as word):
            raise UnsaidError(word)
        case m.Temporal(operator="until", operands=(x, y)):
            return f"({inner(x)} U {inner(y)})"
        case m.Temporal(operator="~>", operands=(x, y)):
            return f"([] ({inner(x)} -> (<> {inner(y)})))"
        case m.Not(operand=x):
            return f"(! {inner(x)})"
        case m.Logic(operator=operator, operands=operands):
            return f"({(' && ' if operator == 'and' else ' || ').join(map(inner, operands))})"
        case m.Binary(operator="=>", left=x, right=y):
            return f"({inner(x)} -> {inner(y)})"
        case m.Quantified(kind="all" | "some" as kind):
            parts = [_formula(collected, roster, e.body, b, atom) for b in _bindings(roster, e, bound)]
            return f"({(' && ' if kind == 'all' else ' || ').join(parts)})" if parts else str(kind == "all").lower()
        case _:
            raise UnsaidError("shape")
