"""Expressions as Python: a text that is worth the value's number, after the lines that it needs.

Reads what `step.evaluate` says. What can go wrong (none where an instance is needed) leaves the function through
`scope.fail`, exactly where the definition raises its fault; so operands that need lines of their own stand behind an
`if`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import awaitable, leaf_number
from fsmdsl.explore.packed.lower import sets
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.lower.convert import converted, shape_of
from fsmdsl.explore.packed.lower.facts import Known, present_if
from fsmdsl.explore.packed.lower.widen import body_of, types_of
from fsmdsl.explore.packed.shapes import LARGEST, UnpackableError, to_number

LARGEST_NUMBER = 1 << 60
"""Beyond this, sums could be more than a word holds."""


def value(scope: Scope, e: m.Expr, want: m.Type | None = None) -> str:
    """The number of an expression, as one of the type wanted."""
    want = want or e.type
    if isinstance(e.type, m.RangeType) and max(-e.type.low, e.type.high) > LARGEST_NUMBER:
        raise UnpackableError(f"numbers from {e.type.low} to {e.type.high}")
    match e:
        case m.Constant():
            return str(to_number(want, e.value, scope.context.universe))
        case m.Collection():
            return sets.collection(scope, e, want)
        case m.Conditional():
            return _conditional(scope, e, want)
        case _:
            return converted(scope, _value(scope, e), e.type, want)


def _value(scope: Scope, e: m.Expr) -> str:
    universe = scope.context.universe
    match e:
        case m.Local(name=name):
            text, t = scope.locals[name]
            return converted(scope, text, t, e.type)
        case m.Read():
            return _read(scope, e)
        case m.InState():
            return _in_state(scope, e)
        case m.Binary():
            return _binary(scope, e)
        case m.Logic():
            return _logic(scope, e)
        case m.Not(operand=operand):
            return f"(not {value(scope, operand)})"
        case m.Apply():
            return _apply(scope, e)
        case m.Quantified():
            return sets.quantified(scope, e)
        case m.Derived():
            return _derived(scope, e)
        case m.Self():
            assert scope.instance is not None
            return scope.instance
        case m.Wait():
            return _wait(scope)
        case m.Negative(operand=operand):
            return f"(-{value(scope, operand)})"
        case m.InstanceRef():
            return str(universe.system.number_of[e.name, e.index])
        case m.Instances():
            return str(to_number(e.type, universe.instances_called(e.name), universe))
        case m.AllOf():
            return str(to_number(e.type, universe.instances_of(e.machine), universe))
        case m.Constant() | m.Collection() | m.Conditional():
            return value(scope, e)
        case m.Ordinal() | m.ChannelRef() | m.Temporal():
            raise TypeError(f"{type(e).__name__} has no value in one world")
        case _:
            assert_never(e)


# References ----------------------------------------------------------------------------------------------------------


def reference(scope: Scope, e: m.Expr) -> str:
    """The number of the instance that an expression stands for; a fault where it is none."""
    text = scope.writer.named(value(scope, e))
    if isinstance(e.type, m.OptionalType) and e not in scope.known:
        with scope.writer.block(f"if {text} < 0:"):
            scope.fail("none")
    return text


def machine_of(scope: Scope, t: m.Type) -> m.Machine:
    """The machine that a reference leads to."""
    inner = t.of if isinstance(t, m.OptionalType) else t
    assert isinstance(inner, m.RefType)
    return scope.context.universe.model.machines[inner.machine]


def _read(scope: Scope, e: m.Read) -> str:
    if e.target is None:
        assert scope.instance is not None
        assert scope.machine is not None
        owner, machine = scope.instance, scope.machine
    else:
        owner, machine = reference(scope, e.target), machine_of(scope, e.target.type)
    context = scope.context
    if e.kind == "field":
        return scope.at(context.column(machine.qualified, e.name), owner)
    return scope.at(context.layout.param_columns.get((machine.qualified, e.name), 0), owner)


def _in_state(scope: Scope, e: m.InState) -> str:
    target = scope.writer.named(value(scope, e.target))
    machine = machine_of(scope, e.target.type)
    state = scope.at(scope.context.column(machine.qualified, ""), target)
    text = is_one_of(state, [leaf_number(machine, s) for s in e.states], len(machine.leaves))
    if isinstance(e.target.type, m.OptionalType):
        return f"({target} >= 0 and {text})"
    return text


def _wait(scope: Scope) -> str:
    """Has the instance followed no transition in this round yet?"""
    assert scope.instance is not None
    assert scope.machine is not None
    if awaitable(scope.machine):
        return f"({scope.at(scope.context.column(scope.machine.qualified, 'wait'), scope.instance)} == 0)"
    waited = scope.context.layout.waited
    return "True" if waited is None else f"({scope.row}[{waited}] >> {scope.instance} & 1 == 0)"


def is_one_of(text: str, numbers: Sequence[int], count: int) -> str:
    """Is a number from 0 on, below a count, one of these?"""
    these = sorted(set(numbers))
    if len(these) == count:
        return "True"
    if len(these) == 1 or count > LARGEST:
        return f"({' or '.join(f'{text} == {n}' for n in these) or 'False'})"
    return f"({sum(1 << n for n in these)} >> {text} & 1 == 1)"


def _derived(scope: Scope, e: m.Derived) -> str:
    """The body of a `let`, written out, about its own instance and with its parameters."""
    universe = scope.context.universe
    scope.context.write_out(e)
    if e.target is not None:
        instance: str | None = reference(scope, e.target)
        machine: m.Machine | None = machine_of(scope, e.target.type)
    else:
        instance, machine = scope.instance, scope.machine
    pairs = zip(types_of(universe, e).items(), e.arguments, strict=True)
    bound = {name: (scope.writer.named(value(scope, a, t)), t) for (name, t), a in pairs}
    inner = scope.inner(instance, machine)
    inner.locals = bound
    return value(inner, body_of(universe, e), e.type)


# Operators -----------------------------------------------------------------------------------------------------------


def _logic(scope: Scope, e: m.Logic) -> str:
    return joined(scope, [(x, False) for x in e.operands], e.operator)


def joined(scope: Scope, operands: Sequence[tuple[m.Expr, bool]], operator: str) -> str:
    """Conditions (negated where it says so), looked at from left to right and no further than needed; those that always
    have a value and cost little are all looked at, for a processor foresees a jump less well than it adds."""
    w, sign = scope.writer, " & " if operator == "and" else " | "
    told: list[str] = []
    result = ""
    known: Known = frozenset()
    for x, negated in operands:
        lines, text = _easily(scope, x)
        if text:
            w.put(lines)
        else:
            with w.aside() as lines, scope.knowing(known):
                w.depth += 1
                text = value(scope, x)
                w.depth -= 1
            if told or result:
                result = _so_far(scope, result, told, sign)
                with w.block(f"if {result}:" if operator == "and" else f"if not {result}:"):
                    w.put(lines)
                    w.line(f"{result} = (not {text})" if negated else f"{result} = {text}")
                told = []
                known |= present_if(x, (operator == "and") is not negated)
                continue
            w.put([line[4:] for line in lines])
        known |= present_if(x, (operator == "and") is not negated)
        told.append(f"(not {text})" if negated else text)
    if not result:
        return f"({sign.join(told)})"
    return f"({sign.join([result, *told])})" if told else result


def _easily(scope: Scope, e: m.Expr) -> tuple[list[str], str]:
    """A condition that has a value whatever else is true, and needs no loop; else no text."""
    hard = scope.context.hard
    failing: list[str] = []
    if e in hard:
        return [], ""
    trial = replace(scope, fail=failing.append, known=frozenset())
    with scope.writer.aside() as lines:
        text = value(trial, e)
    if failing or any(line.lstrip().startswith(("for ", "while ")) for line in lines):
        hard.add(e)
        return [], ""
    return lines, text


def _so_far(scope: Scope, result: str, told: list[str], sign: str) -> str:
    """What is known before an operand with lines of its own, in a name."""
    text = sign.join([result, *told] if result else told)
    if text == result:
        return result
    name = result or scope.writer.name()
    scope.writer.line(f"{name} = {text}")
    return name


def _binary(scope: Scope, e: m.Binary) -> str:
    match e.operator:
        case "=>":
            return joined(scope, [(e.left, True), (e.right, False)], "or")
        case "in":
            return sets.contained(scope, e)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            t = common(e.left.type, e.right.type)
            left, right = _both(scope, e.left, e.right, t)
            return f"({left} {e.operator} {right})"
        case "+" | "-" | "&" if isinstance(e.type, m.SetType):
            t = common(e.left.type, e.right.type)
            left, right = _both(scope, e.left, e.right, t)
            text = {"+": f"({left} | {right})", "-": f"({left} & ~{right})", "&": f"({left} & {right})"}[e.operator]
            return converted(scope, text, t, e.type)
        case "+" | "-" | "&":
            left, right = _both(scope, e.left, e.right, e.left.type, e.right.type)
            return f"({left} {e.operator} {right})"
        case _:
            assert_never(e.operator)


def _both(scope: Scope, left: m.Expr, right: m.Expr, t: m.Type, other: m.Type | None = None) -> tuple[str, str]:
    """Two operands: the left one in a name if the right one needs lines, so that it is computed before them."""
    first = value(scope, left, t)
    with scope.writer.aside() as lines:
        second = value(scope, right, other or t)
    if lines:
        first = scope.writer.named(first)
        scope.writer.put(lines)
    return first, second


def common(a: m.Type, b: m.Type) -> m.Type:
    """A type that has the numbers of both, so that they can be compared."""
    match a, b:
        case (m.NoneType() | m.NeverType() | m.ErrorType(), _):
            return (
                b if isinstance(b, m.OptionalType | m.NoneType) or not isinstance(a, m.NoneType) else m.OptionalType(b)
            )
        case (_, m.NoneType() | m.NeverType() | m.ErrorType()):
            return common(b, a)
        case (m.OptionalType(x), m.OptionalType(y)):
            return m.OptionalType(common(x, y))
        case (m.OptionalType(x), _):
            return m.OptionalType(common(x, b))
        case (_, m.OptionalType(y)):
            return m.OptionalType(common(a, y))
        case (m.SetType(x), m.SetType(y)):
            return m.SetType(common(x, y))
        case (m.ListType(x, n), m.ListType(y, k)):
            return m.ListType(common(x, y), max(n, k))
        case (m.RangeType(low, high), m.RangeType(other_low, other_high)):
            return m.RangeType(min(low, other_low), max(high, other_high))
        case _:
            return a


def _conditional(scope: Scope, e: m.Conditional, want: m.Type) -> str:
    w = scope.writer
    condition = value(scope, e.condition)
    with w.aside() as first, scope.knowing(present_if(e.condition, True)):
        w.depth += 1
        yes = value(scope, e.then, want)
        w.depth -= 1
    with w.aside() as second, scope.knowing(present_if(e.condition, False)):
        w.depth += 1
        no = value(scope, e.otherwise, want)
        w.depth -= 1
    if not first and not second:
        return f"({yes} if {condition} else {no})"
    name = w.name()
    w.line(f"if {condition}:")
    w.put(first)
    w.line(f"    {name} = {yes}")
    w.line("else:")
    w.put(second)
    w.line(f"    {name} = {no}")
    return name


def _apply(scope: Scope, e: m.Apply) -> str:
    first = e.arguments[0]
    match e.function:
        case "present":
            text = scope.writer.named(value(scope, first))
            none = shape_of(scope, first.type).none
            if none is not None and first not in scope.known:
                with scope.writer.block(f"if {text} == {none}:"):
                    scope.fail("none")
            return text
        case "size":
            return sets.size(scope, first)
        case "min" | "max":
            texts = [value(scope, x, e.type) for x in e.arguments]
            return f"{e.function}({', '.join(texts)})"
        case "first":
            return sets.first(scope, first)
        case "rest":
            return sets.rest(scope, first, e.type)
        case "subsets":
            raise UnpackableError("a set of sets that is more than iterated")
        case _:
            assert_never(e.function)
