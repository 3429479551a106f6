"""Why a formula is false in a world: the part that fails, for which values."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from fsmdsl import model as m
from fsmdsl.step.describe import shown
from fsmdsl.step.evaluate import Frame, evaluate, iterate, reference, truth, words
from fsmdsl.step.world import FaultError, Value
from fsmdsl.walk import children

Bindings = tuple[str, ...]
"""What variables stand for (`g = g0`), and the derived values that a part stands in (``in `kept` ``)."""

INSIDE = "in `"

MANY = 4
"""A `some` over more instances than this is not gone through one by one."""


def explain(frame: Frame, e: m.Expr, bindings: Bindings = ()) -> list[str]:
    """One line for each part of a false formula that makes it false; for an `or`, one for each of its parts.

    Of a `=>`, also why its left side holds. `bindings` tell what is known before. Of a formula without a value, the
    part that has none.
    """
    try:
        truth(frame, e)
    except FaultError as error:
        return [f"it has no value here: {error.fault.message}"]
    return list(dict.fromkeys(_why(frame, e, False, bindings)))


def _why(frame: Frame, e: m.Expr, value: bool, bindings: Bindings) -> Iterator[str]:
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
            yield _line(bindings, f"`{words(e)}` {word}{because}")


def _is_plain(e: m.Expr) -> bool:
    """Is what a formula says all that there is to say?"""
    return isinstance(e, m.Read) or (isinstance(e, m.InState) and len(e.states) == 1)


def _logic(frame: Frame, e: m.Logic, value: bool, bindings: Bindings) -> Iterator[str]:
    """The first part that decides; where all had to agree, all of them."""
    if value is (e.operator == "or"):
        yield from _why(frame, next(x for x in e.operands if truth(frame, x) is value), value, bindings)
    else:
        for x in e.operands:
            yield from _why(frame, x, value, bindings)


def _implication(frame: Frame, e: m.Binary, value: bool, bindings: Bindings) -> Iterator[str]:
    left = truth(frame, e.left)
    if not value or left:
        yield from _why(frame, e.right, value, bindings)
    if not isinstance(e.left, m.Constant) and not (value and left):
        yield from _why(frame, e.left, left, bindings)


def _decided(frame: Frame, e: m.Quantified, value: bool, bindings: Bindings) -> Iterator[str]:
    """The first element for which the body decides; which others do so as well."""
    inner = frame.inner()
    first, *others = _deciding(inner, e, value)
    also = f" (also {', '.join(shown(frame.roster, _of(e), x) for x in others)})" if others and not bindings else ""
    inner.locals[e.variable] = first
    yield from _why(inner, e.body, value, (*bindings, f"{_bound(frame, e, first)}{also}"))


def _deciding(inner: Frame, e: m.Quantified, value: bool) -> list[Value]:
    found: list[Value] = []
    for x in iterate(inner, e.over):
        inner.locals[e.variable] = x
        try:
            found += [x] if truth(inner, e.body) is value else []
        except FaultError:
            if not found:
                raise
    return found


def _none(frame: Frame, e: m.Quantified, bindings: Bindings) -> Iterator[str]:
    """No element is as it should be: of instances, each with the reason."""
    over = iterate(frame, e.over)
    if not over:
        yield _line(bindings, f"`{words(e.over)}` is empty")
        return
    yield _line(bindings, f"`{words(e)}` is false{_because(frame, e)}")
    if isinstance(_of(e), m.RefType) and len(over) <= MANY:
        inner = frame.inner()
        for x in over:
            inner.locals[e.variable] = x
            yield from _why(inner, e.body, False, (*bindings, _bound(frame, e, x)))


def _bound(frame: Frame, e: m.Quantified, x: Value) -> str:
    return f"{e.variable} = {shown(frame.roster, _of(e), x)}"


def _of(e: m.Quantified) -> m.Type:
    return e.over.type.of if isinstance(e.over.type, m.SetType | m.ListType) else m.ERROR


def _inside(frame: Frame, e: m.Derived, value: bool, bindings: Bindings) -> Iterator[str]:
    """Why a derived condition is what it is: in its own words, with its parameters."""
    let = frame.roster.let(e)
    instance = frame.instance if e.target is None else reference(frame, e.target)
    bound = {p.name: evaluate(frame, a) for p, a in zip(let.parameters, e.arguments, strict=True)}
    told = [f"{p.name} = {shown(frame.roster, p.type, bound[p.name])}" for p in let.parameters]
    new = [x for x in told if x not in bindings]
    inner = Frame(frame.roster, frame.world, instance, bound)
    yield from _why(inner, let.value, value, (*bindings, *new, f"{INSIDE}{e.name}`"))


def _line(bindings: Bindings, text: str) -> str:
    """`for g = g1, in `kept`, for c = c0, d = c1: …`"""
    if not bindings:
        return text
    told = [
        x if x.startswith(INSIDE) or (before and not before.startswith(INSIDE)) else f"for {x}"
        for before, x in pairwise(("", *bindings))
    ]
    return f"{', '.join(told)}: {text}"


def _because(frame: Frame, e: m.Expr) -> str:
    """The values that the formula compares."""
    told = list(dict.fromkeys(_values(frame, e)))
    return f": {', '.join(told)}" if told else ""


def _values(frame: Frame, e: m.Expr) -> Iterator[str]:
    """Of each part that can be computed outside of the quantifiers in the formula, and has a value here."""
    known = free(e) <= frame.locals.keys() and _has_value(frame, e)
    match e:
        case m.Not():
            yield from _values(frame, e.operand)
        case m.InState() if known:
            target = evaluate(frame, e.target)
            name = "this" if isinstance(e.target, m.Self) else words(e.target)
            yield f"{name} is none" if not isinstance(target, int) else f"{name} is in {frame.world.states[target]}"
        case m.Read() | m.Derived() | m.Quantified(kind="count") | m.Wait() if known:
            yield f"{words(e)} is {shown(frame.roster, e.type, evaluate(frame, e))}"
        case m.Apply(function="size") if known:
            yield f"{words(e)} is {evaluate(frame, e)}"
        case m.Quantified() if known and not isinstance(e.over, m.Collection):
            yield f"{words(e.over)} is {shown(frame.roster, e.over.type, evaluate(frame, e.over))}"
        case _:
            for x in children(e):
                yield from _values(frame, x)


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
