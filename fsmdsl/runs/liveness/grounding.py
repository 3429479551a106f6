"""From the properties of a system to formulas without variables.

Quantifiers over what is the same in every state (instances, ranges, parameters) are written out; over any other set
or list, `all c in g.cells: p` is written out as `c in g.cells => p` for all values that c could have. A quantifier over
a collection without a value is false.

Parts that are not temporal become atoms. An atom whose evaluation fails in a state is false there, so that of a formula
and its negation exactly one is true of a run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core.lets import may_lack_value, throughout
from fsmdsl.dataclasses import replace
from fsmdsl.model.walk import expressions, temporal
from fsmdsl.runs.liveness import formula as f
from fsmdsl.runs.liveness.fairness import FairnessConstraints
from fsmdsl.runs.liveness.formula import Formula, Literal
from fsmdsl.runs.liveness.graph import BITS
from fsmdsl.runs.liveness.plan import Atom, Claim, Plan, Premise, Question, Stuck, UncheckedError
from fsmdsl.runs.liveness.standstill import moves, waits
from fsmdsl.step import FaultError, TooManyValuesError, Universe, Value, value
from fsmdsl.step.describe import fault_message, value_text, words
from fsmdsl.step.evaluate import cardinality, domain, elements

MAX_CLAIMS = 4096
"""A property with more parts than this is not checked."""

MAX_VALUES = 64
"""A set that changes is quantified over where so many values could be in it."""

Bound = Mapping[str, Value]


def questions(universe: Universe, *, stutters: bool = False) -> Plan:
    """What there is to decide about the runs of a system: all its properties but `recovers`, which only asks which
    steps are crashes. See `Plan.stutters`."""
    fairness = FairnessConstraints(universe)
    grounding = Grounding(universe, fairness)
    questions: list[Question] = []
    for p in universe.system.properties:
        if not isinstance(p.formula, m.Recovers):
            questions.append(_question(grounding, fairness, p, p.formula, questions))
    if any(isinstance(p.formula, m.Recovers) for p in universe.system.properties):
        fairness.note_crashes()
    stuck = tuple(grounding.stuck.values())
    within = universe.system.bound
    bound = None if within is None else grounding.atoms.setdefault(Atom(within), len(grounding.atoms))
    return Plan(universe, tuple(grounding.atoms), tuple(fairness.obligations), tuple(questions), stuck, stutters, bound)


def _question(
    grounding: Grounding, fairness: FairnessConstraints, p: m.Property, e: m.Expr, before: Sequence[Question] = ()
) -> Question:
    """A property as a question; one that cannot be decided leaves nothing behind that others would have to share."""
    atoms, stuck, obligations = dict(grounding.atoms), dict(grounding.stuck), list(fairness.obligations)
    unanswered: tuple[str, ...] = ()
    try:
        weak, strong, finite, unanswered = fairness.of(p)
        claims = []
        for claim in grounding.claims(e, {}, ()):
            claims.append(claim)
            if len(claims) > MAX_CLAIMS:
                raise UncheckedError(f"it has more than {MAX_CLAIMS} parts, one for each combination of its variables")
    except (UncheckedError, TooManyValuesError) as error:
        grounding.atoms, grounding.stuck, fairness.obligations = atoms, stuck, obligations
        why = _together(grounding.universe, p, e, before) if obligations else None
        return Question(p, (), 0, 0, 0, unanswered, why or str(error))
    distinct = {c.formula: c for c in reversed(claims)}
    unique = tuple(c for c in claims if distinct[c.formula] is c)
    return Question(p, unique, weak, strong, finite, unanswered)


def _together(universe: Universe, p: m.Property, e: m.Expr, before: Sequence[Question]) -> str | None:
    """Why a property cannot be decided that could be without those before it; None if it cannot be by itself."""
    alone = FairnessConstraints(universe)
    if _question(Grounding(universe, alone), alone, p, e).unchecked is not None:
        return None
    decided = [q for q in before if q.unchecked is None]
    fair = [q for q in decided if q.weak or q.strong or q.finite]
    others = ", ".join(f"`{q.property.name}`" for q in fair or decided)
    why = f"its fairness has more than {BITS} obligations, the limit for one system"
    return f"together with that of {others}, {why}"


class Grounding:
    """The atoms found so far, and how they are found."""

    def __init__(self, universe: Universe, fairness: FairnessConstraints | None = None) -> None:
        self.universe = universe
        self.fairness = fairness or FairnessConstraints(universe)
        self.atoms: dict[Atom, int] = {}
        self.stuck: dict[int, Stuck] = {}
        """By the number of the atom."""

    # Claims

    def claims(self, e: m.Expr, bound: Bound, bindings: tuple[str, ...]) -> Iterator[Claim]:
        """The parts of a property that have to hold each for itself, and for which instances they are."""
        values = tuple(bound.items())
        match e:
            case _ if not temporal(e):
                yield Claim(bindings, values, self.formula(e, bound, True), ())
            case m.Logic(operator="and"):
                for x in e.operands:
                    yield from self.claims(x, bound, bindings)
            case m.Quantified(kind="all") if constant(self.universe, e.over):
                for v in self.values(e, bound):
                    binding = f"{e.variable} = {value_text(self.universe, m.element_of(e.over.type), v)}"
                    yield from self.claims(e.body, {**bound, e.variable: v}, (*bindings, binding))
            case m.Temporal(operator="always"):
                for c in self.claims(e.operands[0], bound, bindings):
                    premises = (Premise(x.of, f.eventually(x.formula)) for x in c.premises)
                    yield Claim(c.bindings, c.bound, f.always(c.formula), tuple(premises))
            case m.Binary(operator="=>"):
                premise = Premise(e.left, self.formula(e.left, bound, True))
                for c in self.claims(e.right, bound, bindings):
                    either = f.disjunction([self.formula(e.left, bound, False), c.formula])
                    yield Claim(c.bindings, c.bound, either, (premise, *c.premises))
            case m.Temporal(operator="~>"):
                premise = Premise(e.operands[0], f.eventually(self.formula(e.operands[0], bound, True)))
                yield Claim(bindings, values, self.formula(e, bound, True), (premise,))
            case _:
                yield Claim(bindings, values, self.formula(e, bound, True), ())

    def values(self, e: m.Quantified, bound: Bound) -> tuple[Value, ...]:
        """What a quantifier's variable could stand for: what is in the collection, in one state or another."""
        if constant(self.universe, e.over):
            try:
                return tuple(elements(e.over.type, value(self.universe, self.universe.start, e.over, locals=bound)))
            except FaultError as error:
                raise UncheckedError(fault_message(self.universe, error.fault)) from error
        written_out = isinstance(e.over, m.Apply) and e.over.function == "range"
        if not written_out and cardinality(m.element_of(e.over.type), self.universe) > MAX_VALUES:
            raise UncheckedError(f"`{words(e.over)}` changes, and more than {MAX_VALUES} values could be in it")
        return domain(m.element_of(e.over.type), self.universe)

    def body(self, e: m.Quantified, x: Value, bound: Bound, positive: bool) -> Formula:
        """A quantifier's body for one value, where that is in the collection."""
        every = (e.kind == "all") is positive
        body = self.formula(e.body, {**bound, e.variable: x}, positive)
        if constant(self.universe, e.over):
            return body
        name = f"{e.variable}'"  # no variable of the author's, so none that the collection could mean
        member = m.Binary("in", m.Local(name, m.element_of(e.over.type)), e.over, m.BOOL, e.over.span)
        return _joined([self._literal(member, {**bound, name: x}, not every), body], not every)

    def surely(self, over: m.Expr, bound: Bound, positive: bool) -> list[Formula]:
        """That a collection has a value (or not), where it may have none: then a quantifier is false, as a condition
        is."""
        if constant(self.universe, over) or not may_lack_value(self.universe.model, over, self.universe.system):
            return []
        binders_only = isinstance(over, m.Apply) and over.function in ("range", "subsets")
        parts = over.arguments if isinstance(over, m.Apply) and binders_only else (over,)
        same = tuple(m.Binary("==", x, x, m.BOOL, over.span) for x in parts)
        return [self._literal(m.Logic("and", same, span=over.span), bound, positive)]

    # Formulas

    def formula(self, e: m.Expr, bound: Bound, positive: bool) -> Formula:
        """That an expression is true; or, if not `positive`, that it is false."""

        def of(x: m.Expr, as_it_is: bool = True) -> Formula:
            return self.formula(x, bound, positive is as_it_is)

        match e:
            case _ if not temporal(e):
                return self._literal(e, bound, positive)
            case m.Not():
                return of(e.operand, False)
            case m.Logic():
                return _joined((of(x) for x in e.operands), (e.operator == "and") is positive)
            case m.Binary(operator="=>"):
                return _joined([of(e.left, False), of(e.right)], not positive)
            case m.Binary(operator="==" | "!="):
                return self._equal(e, bound, (e.operator == "==") is positive)
            case m.Conditional():
                yes, no = (self.formula(e.condition, bound, x) for x in (True, False))
                return f.disjunction([f.conjunction([yes, of(e.then)]), f.conjunction([no, of(e.otherwise)])])
            case m.Quantified(kind="all" | "some"):
                parts = (self.body(e, x, bound, positive) for x in self.values(e, bound))
                whole = _joined(parts, (e.kind == "all") is positive)
                return _joined([*self.surely(e.over, bound, positive), whole], positive)
            case m.Temporal(operator="stuck", operands=(instance,)):
                return self._stuck(e, instance, bound, positive)
            case m.Temporal():
                return self._temporal(e, [of(x) for x in e.operands], bound, positive)
            case _:
                raise UncheckedError(f"`{words(e)}` searches for a value in a formula about whole runs")

    def _equal(self, e: m.Binary, bound: Bound, equal: bool) -> Formula:
        """Two conditions are both true or both false; or, if not `equal`, one is and the other is not."""
        ways = ((x, x is equal) for x in (True, False))
        return f.disjunction(
            f.conjunction([self.formula(e.left, bound, a), self.formula(e.right, bound, b)]) for a, b in ways
        )

    def _temporal(self, e: m.Temporal, parts: list[Formula], bound: Bound, positive: bool) -> Formula:
        """`parts` are the operands, each as its negation if not `positive`."""
        match e.operator:
            case "next":
                return f.next_(parts[0])
            case "always" | "eventually":
                return f.always(parts[0]) if (e.operator == "always") is positive else f.eventually(parts[0])
            case "until":
                return f.until(*parts) if positive else f.release(*parts)
            case "~>":
                premise = self.formula(e.operands[0], bound, not positive)
                if positive:
                    return f.always(f.disjunction([premise, f.eventually(parts[1])]))
                return f.eventually(f.conjunction([premise, f.always(parts[1])]))
            case "stuck":
                raise TypeError("`stuck` is no formula of its operand")
            case _:
                assert_never(e.operator)

    # Atoms

    def _stuck(self, e: m.Temporal, who: m.Expr, bound: Bound, positive: bool) -> Formula:
        if not constant(self.universe, who):
            raise UncheckedError(f"`stuck` needs one fixed instance, but `{words(who)}` can change")
        try:
            instance = value(self.universe, self.universe.start, who, locals=bound)
        except FaultError as error:
            raise UncheckedError(fault_message(self.universe, error.fault)) from error
        assert isinstance(instance, int)
        machine = self.universe.machines[instance]
        here = m.InState(m.Self(m.RefType(machine.qualified)), waits(machine), "waiting")
        waiting = self.atoms.setdefault(Atom(here, (), instance), len(self.atoms))
        # Where it is unknown, both `stuck(x)` and `not stuck(x)` hold: then no run breaks a property because of it.
        # Both atoms are registered, since an explanation of a verdict asks for either.
        for if_unknown in (not positive, positive):
            about = replace(self._about(e, bound), if_unknown=if_unknown)
            atom = self.atoms.setdefault(about, len(self.atoms))
            self.stuck[atom] = Stuck(atom, waiting, self.fairness.any_move(instance, moves(machine)), if_unknown)
        return Literal(atom, positive)

    def _about(self, e: m.Expr, bound: Bound) -> Atom:
        """An atom with the variables that it uses."""
        used = {x.name for x in expressions(e) if isinstance(x, m.Local)}
        return Atom(e, tuple((name, x) for name, x in sorted(bound.items()) if name in used))

    def _literal(self, e: m.Expr, bound: Bound, positive: bool) -> Formula:
        """A condition on one state. `not p` is an atom of its own where `p` may have no value: both are false then."""
        if isinstance(e, m.Not) and not may_lack_value(self.universe.model, e.operand, self.universe.system):
            return self._literal(e.operand, bound, not positive)
        atom = self._about(e, bound)
        if constant(self.universe, e):
            return f.TRUE if atom.true(self.universe, self.universe.start) is positive else f.FALSE
        return Literal(self.atoms.setdefault(atom, len(self.atoms)), positive)


def _joined(parts: Iterable[Formula], every: bool) -> Formula:
    return f.conjunction(parts) if every else f.disjunction(parts)


# What can be said of an expression without a state -------------------------------------------------------------------


def constant(universe: Universe, e: m.Expr) -> bool:
    """Is an expression worth the same in every state?"""
    return not any(
        isinstance(x, m.InState | m.StateOf | m.Wait | m.ChannelRef | m.Temporal)
        or (isinstance(x, m.Read) and x.kind == "field")
        for x in throughout(universe.model, e, universe.system)
    )
