"""What expressions come to where they use derived values: everything that `let`s lead to, each looked at once."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.core.presence import NOTHING, Present, present_if, without
from fsmdsl.model.typing import holds, is_limited
from fsmdsl.model.walk import children, expressions


def throughout(
    model: m.Model, e: m.Expr, system: m.System | None = None, owners: Container[str] | None = None
) -> Iterator[m.Expr]:
    """An expression and all inside it and inside the `let`s that it uses, directly or not; `owners`: only those of some
    modules, machines or systems. Takes time in proportion to the texts, however often `let`s use one another."""
    waiting, seen = [e], set[tuple[str, str]]()
    while waiting:
        for x in expressions(waiting.pop()):
            yield x
            if not isinstance(x, m.Derived) or (x.owner, x.name) in seen:
                continue
            if owners is None or x.owner in owners:
                seen.add((x.owner, x.name))
                waiting.append(model.let(x, system).value)


def may_lack_value(model: m.Model, e: m.Expr, system: m.System | None = None) -> bool:
    """Can an expression be a fault: something in it is none, a list is empty, a divisor is 0, a part of a record cannot
    be what it would be, or a map does not hold a value?"""
    return any(may_fail(x) for x in throughout(model, e, system))


def surely_has_value(model: m.Model, e: m.Expr, system: m.System | None = None, present: Present = NOTHING) -> bool:
    """Does an expression have a value whatever the data are, as far as its text tells? What conditions in it say of
    values that may be none is taken into account, so this says yes more often than `may_lack_value` says no."""

    def inner(x: m.Expr, also: Present = NOTHING) -> bool:
        return surely_has_value(model, x, system, present | also)

    match e:
        case m.Logic(operator=operator, operands=operands):
            for x in operands:
                if not inner(x):
                    return False
                present |= present_if(x, operator == "and")
            return True
        case m.Binary(operator="=>", left=left, right=right):
            return inner(left) and inner(right, present_if(left, True))
        case m.Conditional(condition=test, then=then, otherwise=otherwise):
            branches = inner(then, present_if(test, True)) and inner(otherwise, present_if(test, False))
            return inner(test) and branches
        case m.Quantified(variable=name, over=over, body=body):
            return inner(over) and surely_has_value(model, body, system, without(present, name))
        case m.Apply(function="present", arguments=(of,)) if of in present:
            return inner(of)
        case m.Derived():
            return all(map(inner, children(e))) and not may_lack_value(model, model.let(e, system).value, system)
        case _:
            return not may_fail(e) and all(map(inner, children(e)))


def may_fail(e: m.Expr) -> bool:
    """Of the operation itself, not of its operands."""
    match e:
        case m.Apply(function=function):
            match function:
                case "filled":
                    return not (isinstance(e.type, m.MapType) and _surely_fits(e.type.of, e.arguments[0]))
                case "present" | "first" | "item" | "replaced":
                    return True
                case "size" | "min" | "max" | "rest" | "concat" | "range" | "subsets":
                    return False
                case _:
                    assert_never(function)
        case m.Binary(operator="/" | "%", right=right):
            return not (isinstance(right, m.Constant) and right.value)
        case m.Construction(parts=parts, type=t):
            return any(not _surely_fits(of, x) for (_, of), x in zip(t.parts, parts, strict=True))
        case (
            m.Constant() | m.Self() | m.Wait() | m.Local() | m.Read() | m.Derived() | m.InState() | m.StateOf()
            | m.Not() | m.Negative() | m.Logic() | m.Binary() | m.Conditional() | m.Quantified() | m.Collection()
            | m.Part() | m.ChannelRef() | m.InstanceRef() | m.Instances() | m.AllOf() | m.Ordinal() | m.Temporal()
        ):  # fmt: skip
            return False
        case _:
            assert_never(e)


def _surely_fits(place: m.Type, x: m.Expr) -> bool:
    """What is stored or constant has the type that it says; what is computed may be beyond it."""
    match place, x:
        case _ if not is_limited(place):
            return True
        case m.SetType(of), m.Collection(items=items):
            return all(_surely_fits(of, item) for item in items)
        case m.ListType(of, bound), m.Collection(items=items):
            return len(items) <= bound and all(_surely_fits(of, item) for item in items)
        case _, m.Constant() | m.Read() | m.Part():
            return holds(place, x.type)
        case _:
            return False


def looks_beyond(model: m.Model, e: m.Expr) -> bool:
    """Does an expression, or a module's `let` in it, look at more than the instances that it is given: at channels, at
    all machines of a kind?"""
    return any(isinstance(x, m.ChannelRef) or _is_of_all(x) for x in throughout(model, e, owners=model.module_lets))


def _is_of_all(e: m.Expr) -> bool:
    """All machines of a kind, or a comparison of what two maps have for each of them."""
    if isinstance(e, m.Binary) and isinstance(e.left.type, m.MapType):
        return isinstance(e.left.type.key, m.RefType)
    return isinstance(e, m.AllOf)


def surveys(model: m.Model, e: m.Expr) -> bool:
    """Does an expression, or a module's `let` in it, look at all machines of a kind?"""
    return any(map(_is_of_all, throughout(model, e, owners=model.module_lets)))
