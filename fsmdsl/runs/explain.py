"""Why a formula is false in a world: the part that fails, for which values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.dataclasses import dataclass, field
from fsmdsl.model.walk import children
from fsmdsl.step.describe import fault_message, value_text, words
from fsmdsl.step.evaluate import Frame, evaluate, iterate, reference, truth
from fsmdsl.step.instances import Roster
from fsmdsl.step.world import FaultError, Value


@dataclass(frozen=True, slots=True)
class Binding:
    """What a variable stands for; `also` are other values for which the same is so."""

    variable: str
    value: Value
    type: m.Type = field(compare=False)
    also: tuple[Value, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Inside:
    """The derived value that a part stands in."""

    name: str


Bindings = tuple[Binding | Inside, ...]


@dataclass(frozen=True, slots=True)
class Reason:
    """A part of a formula that makes it what it is, for what its variables stand for there, and what to say of it."""

    bindings: Bindings
    text: str
    within: Bindings = ()
    """What further variables that the text speaks of stand for."""

    @property
    def values(self) -> Iterator[tuple[str, Value]]:
        """What each variable stands for."""
        yield from ((x.variable, x.value) for x in (*self.bindings, *self.within) if isinstance(x, Binding))


MANY = 4
"""A `some` over more instances than this is not gone through one by one."""


def explain(frame: Frame, e: m.Expr) -> list[str]:
    """Why a formula is false, as lines. See `reasons`."""
    return lines(frame.roster, reasons(frame, e))


def lines(roster: Roster, reasons: Iterable[Reason]) -> list[str]:
    """Each reason in words, once: ``for g = g1, in `kept`, for c = c0, d = c1: …``."""
    return list(dict.fromkeys(line(roster, x) for x in reasons))


def line(roster: Roster, reason: Reason) -> str:
    """A reason in words."""
    if not reason.bindings:
        return reason.text
    prefixes: list[str] = []
    inside = True
    for x in reason.bindings:
        match x:
            case Inside(name):
                prefixes.append(f"in `{name}`")
            case Binding():
                prefixes.append(f"{'for ' if inside else ''}{_bound(roster, x)}")
            case _:
                assert_never(x)
        inside = isinstance(x, Inside)
    return f"{', '.join(prefixes)}: {reason.text}"


def _bound(roster: Roster, x: Binding) -> str:
    also = f" (also {', '.join(value_text(roster, x.type, y) for y in x.also)})" if x.also else ""
    return f"{x.variable} = {value_text(roster, x.type, x.value)}{also}"


def fails(frame: Frame, e: m.Expr) -> bool:
    """Is a condition false, or without a value?"""
    try:
        return not truth(frame, e)
    except FaultError:
        return True


def reasons(frame: Frame, e: m.Expr, bindings: Bindings = ()) -> list[Reason]:
    """One for each part of a false formula that makes it false; for an `or`, one for each of its parts.

    Of a `=>`, also why its left side holds. `bindings` tell what is known before. Of a formula without a value, the
    part that has none.
    """
    try:
        truth(frame, e)
    except FaultError as error:
        return [Reason((), f"it has no value here: {fault_message(frame.roster, error.fault)}")]
    return list(_why(frame, e, False, bindings))


def _why(frame: Frame, e: m.Expr, value: bool, bindings: Bindings) -> Iterator[Reason]:
    """Why a formula has the value that it has."""
    match e:
        case m.Logic():
            yield from _logic(frame, e, value, bindings)
        case m.Binary(operator="=>"):
            yield from _implication(frame, e, value, bindings)
        case m.Not(operand=m.Logic() | m.Quantified() | m.Derived() | m.Binary(operator="=>")):
            yield from _why(frame, e.operand, not value, bindings)
        case m.Quantified(kind="all" | "some") if value is (e.kind == "some"):
            yield from _decided(frame, e, value, bindings)
        case m.Quantified(kind="some") if not value:
            yield from _none(frame, e, bindings)
        case m.Derived():
            yield from _inside(frame, e, value, bindings)
        case _:
            word = "holds" if value else "is false"
            because = "" if _is_plain(e) and (value or isinstance(e, m.Read)) else _because(frame, e)
            yield Reason(bindings, f"`{words(e)}` {word}{because}")


def _is_plain(e: m.Expr) -> bool:
    """Is what a formula says all that there is to say?"""
    return isinstance(e, m.Read | m.Part) or (isinstance(e, m.InState) and len(e.states) == 1)


def _logic(frame: Frame, e: m.Logic, value: bool, bindings: Bindings) -> Iterator[Reason]:
    """The first part that decides; where all had to agree, all of them."""
    if value is (e.operator == "or"):
        yield from _why(frame, next(x for x in e.operands if truth(frame, x) is value), value, bindings)
    else:
        for x in e.operands:
            yield from _why(frame, x, value, bindings)


def _implication(frame: Frame, e: m.Binary, value: bool, bindings: Bindings) -> Iterator[Reason]:
    left = truth(frame, e.left)
    if not value or left:
        yield from _why(frame, e.right, value, bindings)
    if not isinstance(e.left, m.Constant) and not (value and left):
        yield from _why(frame, e.left, left, bindings)


def _decided(frame: Frame, e: m.Quantified, value: bool, bindings: Bindings) -> Iterator[Reason]:
    """The first element for which the body decides; which others do so as well."""
    inner = frame.inner()
    first, *others = _deciding(inner, e, value)
    inner.locals[e.variable] = first
    bound = Binding(e.variable, first, m.element_of(e.over.type), () if bindings else tuple(others))
    yield from _why(inner, e.body, value, (*bindings, bound))


def _deciding(inner: Frame, e: m.Quantified, value: bool) -> list[Value]:
    values: list[Value] = []
    for x in iterate(inner, e.over):
        inner.locals[e.variable] = x
        try:
            values += [x] if truth(inner, e.body) is value else []
        except FaultError:
            if not values:
                raise
    return values


def _none(frame: Frame, e: m.Quantified, bindings: Bindings) -> Iterator[Reason]:
    """No element is as it should be: of instances, each with the reason."""
    over = iterate(frame, e.over)
    if not over:
        yield Reason(bindings, f"`{words(e.over)}` is empty")
        return
    yield Reason(bindings, f"`{words(e)}` is false{_because(frame, e)}")
    if isinstance(m.element_of(e.over.type), m.RefType) and len(over) <= MANY:
        inner = frame.inner()
        for x in over:
            inner.locals[e.variable] = x
            yield from _why(inner, e.body, False, (*bindings, Binding(e.variable, x, m.element_of(e.over.type))))


def _inside(frame: Frame, e: m.Derived, value: bool, bindings: Bindings) -> Iterator[Reason]:
    """Why a derived condition is what it is: in its own words, with its parameters."""
    let = frame.roster.let(e)
    instance = frame.instance if e.target is None else reference(frame, e.target)
    bound = {p.name: evaluate(frame, a) for p, a in zip(let.parameters, e.arguments, strict=True)}
    parameters = (Binding(p.name, bound[p.name], p.type) for p in let.parameters)
    new = [x for x in parameters if x not in bindings]
    inner = Frame(frame.roster, frame.world, instance, bound)
    yield from _why(inner, let.value, value, (*bindings, *new, Inside(e.name)))


def _because(frame: Frame, e: m.Expr) -> str:
    """The values that the formula compares."""
    values = list(dict.fromkeys(_values(frame, e)))
    return f": {', '.join(values)}" if values else ""


def _values(frame: Frame, e: m.Expr) -> Iterator[str]:
    """Of each part that can be computed outside of the quantifiers in the formula, and has a value here."""
    has_value = free(e) <= frame.locals.keys() and _has_value(frame, e)
    match e:
        case m.Not():
            yield from _values(frame, e.operand)
        case m.InState() if has_value:
            target = evaluate(frame, e.target)
            name = "this" if isinstance(e.target, m.Self) else words(e.target)
            yield f"{name} is none" if not isinstance(target, int) else f"{name} is in {frame.world.states[target]}"
        case m.Read() | m.Part() | m.StateOf() | m.Derived() | m.Quantified(kind="count") | m.Wait() if has_value:
            yield f"{words(e)} is {value_text(frame.roster, e.type, evaluate(frame, e))}"
        case m.Apply(function="size") if has_value:
            yield f"{words(e)} is {evaluate(frame, e)}"
        case m.Quantified() if has_value and not _is_written_out(e.over):
            yield f"{words(e.over)} is {value_text(frame.roster, e.over.type, evaluate(frame, e.over))}"
        case _:
            for x in children(e):
                yield from _values(frame, x)


def _is_written_out(over: m.Expr) -> bool:
    """Do the words for a collection say what is in it?"""
    return isinstance(over, m.Collection) or (isinstance(over, m.Apply) and over.function == "range")


def _has_value(frame: Frame, e: m.Expr) -> bool:
    """A part that was passed over, as a branch not taken, may have none."""
    try:
        evaluate(frame, e)
    except FaultError:
        return False
    return True


def free(e: m.Expr) -> set[str]:
    """The variables that a part of a formula needs from around it."""
    match e:
        case m.Local():
            return {e.name}
        case m.Quantified():
            return free(e.over) | (free(e.body) - {e.variable})
        case _:
            return set().union(*(free(x) for x in children(e)))
