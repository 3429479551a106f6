"""Conditions over variables with finite domains.

Each condition becomes a function from domains to the truth values that it can have there. NOTE(atoms): a part that
cannot be computed from finite data is a variable itself, found again wherever the same part stands: `size(cells)` in
two guards is one number, `some c in cells: p` one truth value. Such variables are not exact: they have values that no
run may ever show.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain, combinations, product

from fsmdsl import model as m
from fsmdsl.check.logic.values import (
    EITHER,
    FALSE,
    FAULT,
    MAX_PAIRS,
    TRUE,
    Values,
    compared,
    computed,
    extreme,
    joined,
    negated,
    one,
)
from fsmdsl.dataclasses import dataclass
from fsmdsl.model.typing import machine_of
from fsmdsl.syntax.operators import COMPARISONS, ORDERS, TURNED, Comparison, combined

Box = tuple[Values, ...]
"""The possible values of each variable."""

Formula = Callable[[Box], Values]

SELF = "this instance"
_MAX_VALUES = 4096
_MAX_ELEMENTS = 5
_LONGEST = 1 << 40
"""Maximum length of a duration, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Variable:
    """Something with a finite domain: data of the machine, an argument, the state of an instance, or an atom."""

    term: m.Expr
    values: Sequence[object]
    """In the order in which they are tried."""
    exact: bool

    @property
    def machine(self) -> str | None:
        """The machine whose instances are the values, see `Problem.box`."""
        return None if isinstance(self.term, m.InState) else machine_of(self.term.type)


class Problem:
    """Conditions, and the variables in them. `leaves` are the states in which the machine itself may be.

    In a `coarse` problem the order of two numbers that both vary is a variable itself (less, equal or greater): much
    less to look at, for fewer contradictions found.
    """

    def __init__(self, model: m.Model, leaves: Iterable[str] | None = None, coarse: bool = False) -> None:
        self._model = model
        self._coarse = coarse
        self.wide = False
        """Are numbers compared that vary so much that a coarse problem should be tried first?"""
        self._leaves = None if leaves is None else tuple(leaves)
        self._place: dict[m.Expr, int] = {}
        self.variables: list[Variable] = []
        self.required: list[m.Expr] = []
        self.conditions: list[Formula] = []
        self._self: str | None = None
        self.tried = 0
        """Number of boxes that the solver has examined for this problem."""

    def require(self, condition: m.Expr) -> None:
        """Add a condition, in normal form."""
        self.required.append(condition)
        self.conditions.append(self.formula(condition))

    def formula(self, condition: m.Expr) -> Formula:
        """A condition as a function of the variables, without requiring it."""
        formula = self._compiled(condition)
        assert formula is not None, "truth values are always finite"
        return formula

    @property
    def exact(self) -> bool:
        """Can every combination of values occur, as far as the machine's text says?"""
        return all(v.exact for v in self.variables)

    def place_of(self, term: m.Expr) -> int | None:
        """The variable that a term became, if it did."""
        return self._place.get(term)

    def subproblem(self) -> Problem:
        """An empty problem about the same machine, for what is said of the elements of a set."""
        return Problem(self._model, self._leaves, self._coarse)

    # Variables -------------------------------------------------------------------------------------------------------

    def _variable(self, term: m.Expr, exact: bool, domain: Sequence[object] | None = None) -> Formula | None:
        at = self._place.get(term)
        if at is None:
            values = _domain(term.type) if domain is None else domain
            if values is None:
                return None
            at = self._place[term] = len(self.variables)
            self.variables.append(Variable(term, values, exact))
        place = at
        return lambda box: box[place]

    def _state_of(self, target: m.Expr) -> Formula | None:
        """The state of an instance, none if there is no instance."""
        machine = machine_of(target.type)
        own = isinstance(target, m.Self)
        if own and self._leaves is not None:
            return self._variable(m.InState(target, frozenset(), ""), True, self._leaves)
        if machine is None:
            return None
        leaves = tuple(s.name for s in self._model.machines[machine].leaves)
        states = (None, *leaves) if isinstance(target.type, m.OptionalType) else leaves
        return self._variable(m.InState(target, frozenset(), ""), own, states)

    def domains(self) -> tuple[Sequence[object], ...]:
        """What values each variable can have. As many instances are enough as there are variables for them: they are
        told apart by equality alone."""
        counts = Counter(v.machine for v in self.variables)
        return tuple(
            v.values if v.machine is None else (*v.values, *self._instances(v.machine, counts[v.machine]))
            for v in self.variables
        )

    def _instances(self, machine: str, count: int) -> Iterable[str]:
        if machine == self._self:
            yield SELF
        yield from (f"{machine.rpartition('.')[2]} {i}" for i in range(1, count + 1))

    # Formulas --------------------------------------------------------------------------------------------------------

    def _compiled(self, e: m.Expr) -> Formula | None:
        """None where there are no finite values; see NOTE(atoms)."""
        return self._structure(e) or self._variable(e, False)

    def _structure(self, e: m.Expr) -> Formula | None:
        match e:
            case m.Constant(value=value):
                return _constant(value)
            case m.Self(type=m.RefType(machine)):
                self._self = machine
                return _constant(SELF)
            case m.Read(target=None) | m.Wait() | m.Part(of=m.Read(target=None)):
                return self._variable(e, True)
            case m.Local(name=name) | m.Part(of=m.Local(name=name)):
                return self._variable(e, not name.startswith("$"))
            case m.Not(operand=operand):
                inner = self.formula(operand)
                return lambda box: negated(inner(box))
            case m.Logic(operator=operator, operands=operands):
                return _logic(operator == "or", [self.formula(x) for x in operands])
            case m.InState(target=target, states=states):
                state = self._state_of(target)
                return None if state is None else _inside(state, states)
            case m.StateOf(target=target):
                return self._state_of(target)
            case m.Binary():
                return self._binary(e)
            case m.Conditional(type=m.OptionalType() as t) if _domain(t) is None:
                return None
            case m.Conditional(condition=condition, then=then, otherwise=otherwise):
                return _conditional(self.formula(condition), self._compiled(then), self._compiled(otherwise))
            case m.Apply(function="present", arguments=(of,)):
                return _present(self._compiled(of))
            case m.Apply(function="min" | "max", arguments=arguments):
                return self._extreme(e, arguments)
            case m.Apply(function="size", arguments=(of,)) if not isinstance(of, m.ChannelRef):
                elements = self._compiled(of)
                if elements is None:
                    return None
                return lambda box: frozenset(len(s) for s in elements(box) if isinstance(s, frozenset))
            case m.Negative(operand=operand):
                number = self._compiled(operand)
                return None if number is None else lambda box: computed("-", range(1), number(box))
            case _:
                return None

    def _binary(self, e: m.Binary) -> Formula | None:
        if e.operator == "in" and isinstance(e.right, m.Collection):
            return _logic(True, [self.formula(m.Binary("==", e.left, x, m.BOOL)) for x in e.right.items])
        if e.operator in COMPARISONS and _vary(e.left, e.right):
            self.wide = True
            if self._coarse:
                return self._order(e)
        left, right = self._compiled(e.left), self._compiled(e.right)
        if left is None or right is None:
            return None
        match e.operator:
            case "==" | "!=":
                return _comparison(e.operator, left, right)
            case "<" | "<=" | ">" | ">=":
                return _comparison(e.operator, _places(left, e.left.type), _places(right, e.right.type))
            case "in":
                return lambda box: frozenset(x in s for s in right(box) if isinstance(s, frozenset) for x in left(box))
            case "=>":
                raise TypeError("normal form has no `=>`")
            case "union" | "difference" | "intersection" as of_sets:
                if not _few(e.left.type, e.right.type):
                    return None
                return lambda box: frozenset(combined(of_sets, x, y) for x, y in product(left(box), right(box)))
            case of_numbers:
                return lambda box: computed(of_numbers, left(box), right(box))

    def _order(self, e: m.Binary) -> Formula | None:
        """A comparison as a test of one variable: how its sides stand to each other."""
        pair, turned = (m.Collection("list", sides, m.ERROR) for sides in ((e.left, e.right), (e.right, e.left)))
        is_turned = turned in self._place
        order = self._variable(turned if is_turned else pair, False, "<=>")
        ways = ORDERS[TURNED[e.operator] if is_turned else e.operator]
        return None if order is None else _inside(order, ways)

    def _extreme(self, e: m.Apply, arguments: tuple[m.Expr, ...]) -> Formula | None:
        parts = [self._compiled(x) for x in arguments]
        pick = min if e.function == "min" else max
        total: Formula | None = None
        for part in parts:
            if part is None:
                return None
            placed = _places(part, e.type)
            total = placed if total is None else _picked(pick, total, placed)
        if total is None or not isinstance(e.type, m.EnumType):
            return total
        members, positions = e.type.members, total
        return lambda box: frozenset(members[i] for i in positions(box))


# Domains -------------------------------------------------------------------------------------------------------------


def _domain(t: m.Type) -> Sequence[object] | None:
    """The values of a type, numbers as a range; None where they are too many. Instances are added by `domains`."""
    match t:
        case m.BoolType():
            return (False, True)
        case m.RangeType(low, high):
            return range(low, high + 1)
        case m.DurationType():
            return range(_LONGEST)
        case m.EnumType(members=members):
            return members
        case m.OpaqueType(name):
            return (name,)
        case m.OptionalType(of):
            inner = _domain(of)
            return None if inner is None or len(inner) > _MAX_VALUES else (None, *inner)
        case m.RefType():
            return ()
        case m.SetType(of):
            return _subsets(_domain(of)) if not isinstance(of, m.RefType) else None
        case m.NoneType():
            return (None,)
        case m.RecordType() | m.ListType() | m.MapType() | m.NeverType() | m.ErrorType():
            return None


def _vary(a: m.Expr, b: m.Expr) -> bool:
    """Are both numbers, neither constant, and are there many pairs of them?"""
    if isinstance(a, m.Constant) or isinstance(b, m.Constant) or a == b:
        return False
    match a.type, b.type:
        case m.RangeType() as left, m.RangeType() as right:
            return (left.high - left.low + 1) * (right.high - right.low + 1) > MAX_PAIRS
        case _:
            return False


def _subsets(of: Sequence[object] | None) -> Sequence[object] | None:
    if of is None or len(of) > _MAX_ELEMENTS:
        return None
    return tuple(frozenset(x) for x in chain.from_iterable(combinations(of, n) for n in range(len(of) + 1)))


# Functions of domains ------------------------------------------------------------------------------------------------


def _constant(value: object) -> Formula:
    values = one(value)
    return lambda box: values


def _logic(decided: bool, operands: Sequence[Formula]) -> Formula:
    """`or` is decided by the first that is true, `and` by the first that is false, whatever comes behind."""
    on, off = (TRUE, FALSE) if decided else (FALSE, TRUE)

    def truth(box: Box) -> Values:
        possible = off
        for operand in operands:
            values = operand(box)
            if values == on or not values:
                return values if possible == off else on
            if len(values) > 1:
                possible = EITHER
        return possible

    return truth


def _inside(state: Formula, states: frozenset[str]) -> Formula:
    def truth(box: Box) -> Values:
        now = state(box)
        inside = sum(1 for s in now if s in states)
        return FALSE if inside == 0 else TRUE if inside == len(now) else EITHER

    return truth


def _few(*types: m.Type) -> bool:
    """Are there few combinations of sets of these types?"""
    elements = [_domain(t.of) for t in types if isinstance(t, m.SetType)]
    return all(x is not None for x in elements) and 1 << sum(len(x) for x in elements if x is not None) <= MAX_PAIRS


def _comparison(operator: Comparison, left: Formula, right: Formula) -> Formula:
    return lambda box: compared(operator, left(box), right(box))


def _places(of: Formula, t: m.Type) -> Formula:
    """Members of an ordered enum as their places."""
    if not isinstance(t, m.EnumType):
        return of
    place: Mapping[object, int] = {name: i for i, name in enumerate(t.members)}
    return lambda box: frozenset(place[x] for x in of(box))


def _picked(pick: Callable[..., int], a: Formula, b: Formula) -> Formula:
    return lambda box: extreme(pick, a(box), b(box))


def _conditional(condition: Formula, then: Formula | None, otherwise: Formula | None) -> Formula | None:
    if then is None or otherwise is None:
        return None

    def value(box: Box) -> Values:
        test = condition(box)
        if not test:
            return FAULT
        if test == EITHER:
            return joined(then(box), otherwise(box))
        return then(box) if test == TRUE else otherwise(box)

    return value


def _present(of: Formula | None) -> Formula | None:
    if of is None:
        return None

    def value(box: Box) -> Values:
        values = of(box)
        return values - {None} if isinstance(values, frozenset) and None in values else values

    return value
