"""What passed without being tested: premises that are never true, and quantifiers that never find anything.

`a => b` holds wherever `a` is false, `all c in g.cells: p` wherever `g.cells` is empty. Whether that is everywhere is a
question to all reachable worlds, of the kind that `reachable` asks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.walk import temporal
from fsmdsl.runs.verdicts.verdict import QuestionKey, Untested
from fsmdsl.step import Universe
from fsmdsl.step.describe import words
from fsmdsl.text.source import Span

HOLDS = m.Constant(True, m.BOOL)


@dataclass(frozen=True, slots=True)
class Premise:
    """What must be true once for a part of an invariant to be tested: for some value of the variables around it."""

    of: QuestionKey
    """The invariant or property."""
    number: int
    """Within the invariant, for all instances of a machine the same."""
    outer: int | None
    """The premise without which this one cannot be true."""
    instance: int | None
    condition: m.Expr
    """Closed: it has no variables but its own. Where it has no value, it is not true."""
    told: str
    """What to say if it is never true."""
    span: Span

    @property
    def key(self) -> QuestionKey:
        """The same for all instances of a machine."""
        return replace(self.of, premise=self.number)

    @property
    def asked(self) -> m.Reachable:
        """The question whether it is ever true."""
        return m.Reachable(self.told, self.condition, "", self.span)


def premises(universe: Universe) -> list[Premise]:
    """The premises of all invariants, of the system and of each instance, and of properties."""
    system = universe.system
    found: list[Premise] = []
    for x in system.invariants:
        found += _premises(universe, QuestionKey("invariant", x.name), None, x.condition)
    for n, machine in enumerate(universe.machines):
        for x in machine.invariants:
            found += _premises(universe, QuestionKey("invariant", x.name, machine.qualified), n, x.condition)
    for y in system.properties:
        if not isinstance(y.formula, m.Recovers):
            found += _premises(universe, QuestionKey("property", y.name), None, y.formula)
    return found


def untested(asked: Iterable[Premise], held: Collection[QuestionKey]) -> dict[QuestionKey, tuple[Untested, ...]]:
    """What was not tested of invariants and properties: by `of`, each premise that was true in no world and no
    instance. `held` has the keys of those that were; all worlds must have been asked."""
    listed = list(asked)
    place = {p.key: p.span for p in listed}
    found: defaultdict[QuestionKey, dict[Span, Untested]] = defaultdict(dict)
    for p in listed:
        if p.key not in held:
            outer = None if p.outer is None else place[replace(p.of, premise=p.outer)]
            found[p.of].setdefault(p.span, Untested(p.told, p.span, outer))
    return {of: tuple(parts.values()) for of, parts in found.items()}


# Finding them --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _For:
    """Inside a quantifier."""

    variable: str
    over: m.Expr


@dataclass(frozen=True, slots=True)
class _Given:
    """To the right of `=>`."""

    premise: m.Expr


_Around = tuple[_For | _Given, ...]


@dataclass(frozen=True, slots=True)
class _Found:
    around: _Around
    condition: m.Expr
    told: str
    span: Span
    outer: int | None


def _premises(universe: Universe, of: QuestionKey, instance: int | None, e: m.Expr) -> Iterator[Premise]:
    found: list[_Found] = []
    _look(universe, e, (), None, found)
    for n, x in enumerate(found):
        yield Premise(of, n, x.outer, instance, _closed(x.around, x.condition), x.told, x.span)


def _look(universe: Universe, e: m.Expr, around: _Around, outer: int | None, found: list[_Found]) -> None:
    """Only where a part must hold for the whole to hold: inside an `or` or `if` another part may be what is tested."""
    match e:
        case m.Logic(operator="and") | m.Temporal(operator="always"):
            for x in e.operands:
                _look(universe, x, around, outer, found)
        case m.Quantified(kind="all"):
            inner = (*around, _For(e.variable, e.over))
            _look(universe, e.body, inner, _some(universe, e, inner, outer, found), found)
        case m.Not(operand=m.Quantified(kind="some") as some):
            _some(universe, some, (*around, _For(some.variable, some.over)), outer, found)
        case m.Binary(operator="=>") if not temporal(e.left):
            told = _never(e.left, around)
            found.append(_Found(around, e.left, told, e.left.span, outer))
            _look(universe, e.right, (*around, _Given(e.left)), len(found) - 1, found)
        case m.Temporal(operator="~>", operands=(left, _)) if not temporal(left):
            found.append(_Found(around, left, _never(left, around), left.span, outer))
        case _:
            return


def _some(universe: Universe, e: m.Quantified, inner: _Around, outer: int | None, found: list[_Found]) -> int | None:
    """Note that a quantifier must find something, unless it always does; the premise for what is inside it."""
    if _never_empty(universe, e.over):
        return outer
    found.append(_Found(inner, HOLDS, f"`{words(e.over)}` is always empty", e.over.span, outer))
    return len(found) - 1


def _never_empty(universe: Universe, over: m.Expr) -> bool:
    match over:
        case m.Instances(name=name):
            return bool(universe.instances_called(name))
        case m.AllOf(machine=machine):
            return bool(universe.instances_of(machine))
        case m.Collection(items=items):
            return bool(items)
        case _:
            return False


def _never(premise: m.Expr, around: Sequence[_For | _Given]) -> str:
    given = next((x.premise for x in reversed(around) if isinstance(x, _Given)), None)
    if given is not None:
        return f"`{words(premise)}` is never true where `{words(given)}` is"
    if isinstance(premise, m.InState) and isinstance(premise.target, m.Self):
        machine = premise.target.type
        of = machine.machine.rpartition(".")[2] if isinstance(machine, m.RefType) else "instance"
        return f"no `{of}` is ever in `{premise.text}`"
    return f"`{words(premise)}` is never true"


def _closed(around: _Around, condition: m.Expr) -> m.Expr:
    """The condition for some value of the variables around it, and with what must be true before it is looked at."""
    for x in reversed(around):
        match x:
            case _For(variable, over):
                condition = m.Quantified("some", variable, over, condition, m.BOOL, condition.span)
            case _Given(premise):
                condition = m.Logic("and", (premise, condition), m.BOOL, condition.span)
            case _:
                assert_never(x)
    return condition
