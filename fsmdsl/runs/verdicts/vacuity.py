"""What passed without being tested: premises that are never true, and quantifiers that never find anything. And which
part of a `reachable` is never true.

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
    """The invariant or property; or the `reachable`, of which this is a part."""
    number: int
    """Within the invariant, for all instances of a machine the same."""
    outer: int | None
    """The premise without which this one cannot be true."""
    instance: int | None
    condition: m.Expr
    """Closed: it has no variables but its own. Where it has no value, it is not true."""
    message: str
    """What to say if it is never true."""
    span: Span

    @property
    def key(self) -> QuestionKey:
        """The same for all instances of a machine."""
        return replace(self.of, premise=self.number)

    @property
    def as_reachable(self) -> m.Reachable:
        """The question whether it is ever true."""
        return m.Reachable(self.message, self.condition, "", self.span)


def premises(universe: Universe) -> list[Premise]:
    """The premises of all invariants, of the system and of each instance, and of properties; parts of `reachable`."""
    system = universe.system
    premises: list[Premise] = []
    for x in system.invariants:
        premises += _premises(universe, QuestionKey("invariant", x.name), None, x.condition)
    for n, machine in enumerate(universe.machines):
        for x in machine.invariants:
            premises += _premises(universe, QuestionKey("invariant", x.name, machine.qualified), n, x.condition)
    for y in system.properties:
        if not isinstance(y.formula, m.Recovers):
            premises += _premises(universe, QuestionKey("property", y.name), None, y.formula)
    for z in system.reachables:
        premises += _parts(universe, QuestionKey("reachable", z.name), z.condition)
    return premises


def untested(
    premises: Iterable[Premise], tested_keys: Collection[QuestionKey]
) -> dict[QuestionKey, tuple[Untested, ...]]:
    """What was not tested of invariants and properties: by `of`, each premise that was true in no world and no
    instance. `tested_keys` has the keys of those that were; all worlds must have been explored."""
    all_premises = list(premises)
    place = {p.key: p.span for p in all_premises}
    by_question: defaultdict[QuestionKey, dict[Span, Untested]] = defaultdict(dict)
    for p in all_premises:
        if p.key not in tested_keys:
            outer = None if p.outer is None else place[replace(p.of, premise=p.outer)]
            by_question[p.of].setdefault(p.span, Untested(p.message, p.span, outer))
    return {of: tuple(parts.values()) for of, parts in by_question.items()}


# Finding them --------------------------------------------------------------------------------------------------------


def _parts(universe: Universe, of: QuestionKey, e: m.Expr) -> Iterator[Premise]:
    """What must be true for the whole to be true: the operands of `and`, and what `all` asks of each, of some."""
    conditions = [c for x in _conjuncts(e) for c in _part(universe, x)]
    for n, c in enumerate(conditions if len(conditions) > 1 or _is_for_all(universe, e) else ()):
        yield Premise(of, n, None, None, c.condition, c.message, c.span)


def _conjuncts(e: m.Expr) -> Iterator[m.Expr]:
    if isinstance(e, m.Logic) and e.operator == "and":
        for x in e.operands:
            yield from _conjuncts(x)
    else:
        yield e


def _part(universe: Universe, e: m.Expr) -> Iterator[_Condition]:
    if isinstance(e, m.Quantified) and _is_for_all(universe, e):
        for x in _conjuncts(e.body):
            condition = _closed((_For(e.variable, e.over),), x)
            yield _Condition((), condition, f"`{words(x)}` is never true of any `{e.variable}`", x.span, None)
    else:
        yield _Condition((), e, f"`{words(e)}` is never true", e.span, None)


def _is_for_all(universe: Universe, e: m.Expr) -> bool:
    return isinstance(e, m.Quantified) and e.kind == "all" and _never_empty(universe, e.over)


@dataclass(frozen=True, slots=True)
class _For:
    """Inside a quantifier."""

    variable: str
    over: m.Expr


@dataclass(frozen=True, slots=True)
class _Assumption:
    """To the right of `=>`."""

    premise: m.Expr


_Around = tuple[_For | _Assumption, ...]


@dataclass(frozen=True, slots=True)
class _Condition:
    around: _Around
    condition: m.Expr
    message: str
    span: Span
    outer: int | None


def _premises(universe: Universe, of: QuestionKey, instance: int | None, e: m.Expr) -> Iterator[Premise]:
    conditions: list[_Condition] = []
    _look(universe, e, (), None, conditions)
    for n, x in enumerate(conditions):
        yield Premise(of, n, x.outer, instance, _closed(x.around, x.condition), x.message, x.span)


def _look(universe: Universe, e: m.Expr, around: _Around, outer: int | None, conditions: list[_Condition]) -> None:
    """Only where a part must hold for the whole to hold: inside an `or` or `if` another part may be what is tested."""
    match e:
        case m.Logic(operator="and") | m.Temporal(operator="always"):
            for x in e.operands:
                _look(universe, x, around, outer, conditions)
        case m.Quantified(kind="all"):
            inner = (*around, _For(e.variable, e.over))
            _look(universe, e.body, inner, _some(universe, e, inner, outer, conditions), conditions)
        case m.Not(operand=m.Quantified(kind="some") as some):
            _some(universe, some, (*around, _For(some.variable, some.over)), outer, conditions)
        case m.Binary(operator="=>") if not temporal(e.left):
            message = _never(e.left, around)
            conditions.append(_Condition(around, e.left, message, e.left.span, outer))
            _look(universe, e.right, (*around, _Assumption(e.left)), len(conditions) - 1, conditions)
        case m.Temporal(operator="~>", operands=(left, _)) if not temporal(left):
            conditions.append(_Condition(around, left, _never(left, around), left.span, outer))
        case _:
            return


def _some(
    universe: Universe, e: m.Quantified, inner: _Around, outer: int | None, conditions: list[_Condition]
) -> int | None:
    """Note that a quantifier must find something, unless it always does; the premise for what is inside it."""
    if _never_empty(universe, e.over):
        return outer
    conditions.append(_Condition(inner, HOLDS, f"`{words(e.over)}` is always empty", e.over.span, outer))
    return len(conditions) - 1


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


def _never(premise: m.Expr, around: Sequence[_For | _Assumption]) -> str:
    assumption = next((x.premise for x in reversed(around) if isinstance(x, _Assumption)), None)
    if assumption is not None:
        return f"`{words(premise)}` is never true where `{words(assumption)}` is"
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
            case _Assumption(premise):
                condition = m.Logic("and", (premise, condition), m.BOOL, condition.span)
            case _:
                assert_never(x)
    return condition
