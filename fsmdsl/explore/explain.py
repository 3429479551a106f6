"""Why a formula is false in a world: the part that fails, for which values."""

from __future__ import annotations

from collections.abc import Iterator

from fsmdsl import model as m
from fsmdsl.step.describe import shown
from fsmdsl.step.evaluate import Frame, elements, evaluate, reference, truth, words
from fsmdsl.step.world import FaultError
from fsmdsl.walk import children


def explain(frame: Frame, e: m.Expr) -> list[str]:
    """One line for each part of a false formula that makes it false; for an `or`, one for each of its parts."""
    try:
        return list(_why(frame, e, ()))
    except FaultError as error:
        return [f"it has no value here: {error.fault.message}"]


def _why(frame: Frame, e: m.Expr, bindings: tuple[str, ...]) -> Iterator[str]:
    match e:
        case m.Logic(operator="and"):
            yield from _why(frame, next(x for x in e.operands if not truth(frame, x)), bindings)
        case m.Logic():
            for x in e.operands:
                yield from _why(frame, x, bindings)
        case m.Binary(operator="=>"):
            yield from _why(frame, e.right, bindings)
        case m.Quantified(kind="all"):
            yield from _counterexample(frame, e, bindings)
        case m.Quantified(kind="some") if not elements(e.over.type, evaluate(frame, e.over)):
            yield _line(bindings, f"`{words(e.over)}` is empty")
        case m.Derived():
            yield from _inside(frame, e, bindings)
        case _:
            yield _line(bindings, f"`{words(e)}` is false{_because(frame, e)}")


def _counterexample(frame: Frame, e: m.Quantified, bindings: tuple[str, ...]) -> Iterator[str]:
    """The first value for which the body is false."""
    inner = frame.inner()
    of = e.over.type.of if isinstance(e.over.type, m.SetType | m.ListType) else m.ERROR
    for x in elements(e.over.type, evaluate(frame, e.over)):
        inner.locals[e.variable] = x
        if not truth(inner, e.body):
            yield from _why(inner, e.body, (*bindings, f"{e.variable} = {shown(frame.roster, of, x)}"))
            return


def _inside(frame: Frame, e: m.Derived, bindings: tuple[str, ...]) -> Iterator[str]:
    """Why a derived condition is false: in its own words, with its parameters."""
    let = frame.roster.let(e)
    instance = frame.instance if e.target is None else reference(frame, e.target)
    bound = {p.name: evaluate(frame, a) for p, a in zip(let.parameters, e.arguments, strict=True)}
    told = [f"{p.name} = {shown(frame.roster, p.type, bound[p.name])}" for p in let.parameters]
    inner = Frame(frame.roster, frame.world, instance, bound)
    yield from _why(inner, let.value, (*bindings, *told, f"in `{e.name}`"))


def _line(bindings: tuple[str, ...], text: str) -> str:
    return f"for {', '.join(bindings)}: {text}" if bindings else text


def _because(frame: Frame, e: m.Expr) -> str:
    """The values that the formula compares."""
    told = list(dict.fromkeys(_values(frame, e)))
    return f": {', '.join(told)}" if told else ""


def _values(frame: Frame, e: m.Expr) -> Iterator[str]:
    match e:
        case m.Not():
            yield from _values(frame, e.operand)
        case m.InState():
            target = evaluate(frame, e.target)
            name = "this" if isinstance(e.target, m.Self) else words(e.target)
            yield f"{name} is none" if not isinstance(target, int) else f"{name} is in {frame.world.states[target]}"
        case m.Read() | m.Derived() | m.Quantified(kind="count") | m.Wait():
            yield f"{words(e)} is {shown(frame.roster, e.type, evaluate(frame, e))}"
        case m.Apply(function="size"):
            yield f"{words(e)} is {evaluate(frame, e)}"
        case m.Quantified() if not isinstance(e.over, m.Collection):
            yield f"{words(e.over)} is {shown(frame.roster, e.over.type, evaluate(frame, e.over))}"
        case _:
            for x in children(e):
                yield from _values(frame, x)
