"""Expressions as Python: a text that is worth the value's number, after the lines that it needs.

Reads what `step.evaluate` says. What can go wrong (none where an instance is needed) leaves the function through
`scope.fail`, exactly where the definition raises its fault; so operands that need lines of their own stand behind an
`if`.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import assert_never

from fsmdsl import model as m
from fsmdsl.explore.packed.layout import leaf_number
from fsmdsl.explore.packed.lower.context import Scope
from fsmdsl.explore.packed.lower.convert import converted, shape_of
from fsmdsl.explore.packed.lower.facts import Known, present_if
from fsmdsl.explore.packed.lower.loops import loop
from fsmdsl.explore.packed.shapes import UnpackableError, element, to_number
from fsmdsl.step.values import MOST


def value(scope: Scope, e: m.Expr, want: m.Type | None = None) -> str:
    """The number of an expression, as one of the type wanted."""
    want = want or e.type
    match e:
        case m.Constant():
            return str(to_number(want, e.value, scope.context.universe))
        case m.Collection():
            return _collection(scope, e, want)
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
            return _quantified(scope, e)
        case m.Derived():
            return _derived(scope, e)
        case m.Self():
            assert scope.instance is not None
            return scope.instance
        case m.Wait():
            assert scope.instance is not None
            assert scope.machine is not None
            return f"({scope.at(scope.context.column(scope.machine.qualified, 'wait'), scope.instance)} == 0)"
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


def is_one_of(text: str, numbers: Sequence[int], count: int) -> str:
    """Is a number from 0 on one of these?"""
    if len(numbers) == 1:
        return f"({text} == {numbers[0]})"
    if len(numbers) == count:
        return "True"
    return f"({sum(1 << n for n in numbers)} >> {text} & 1 == 1)"


def _derived(scope: Scope, e: m.Derived) -> str:
    """The body of a `let`, written out, about its own instance and with its parameters."""
    let = scope.context.universe.let(e)
    if e.target is not None:
        instance: str | None = reference(scope, e.target)
        machine: m.Machine | None = machine_of(scope, e.target.type)
    else:
        instance, machine = scope.instance, scope.machine
    bound = {
        p.name: (scope.writer.named(value(scope, a, p.type)), p.type)
        for p, a in zip(let.parameters, e.arguments, strict=True)
    }
    inner = scope.inner(instance, machine)
    inner.locals = bound
    return value(inner, let.value, e.type)


# Operators -----------------------------------------------------------------------------------------------------------


def _logic(scope: Scope, e: m.Logic) -> str:
    return joined(scope, [(x, False) for x in e.operands], e.operator)


def joined(scope: Scope, operands: Sequence[tuple[m.Expr, bool]], operator: str) -> str:
    """Conditions (negated where it says so), looked at from left to right and no further than needed."""
    w = scope.writer
    told: list[str] = []
    result = ""
    known: Known = frozenset()
    for x, negated in operands:
        with w.aside() as lines, scope.knowing(known):
            w.depth += 1
            text = value(scope, x)
            w.depth -= 1
        known |= present_if(x, (operator == "and") is not negated)
        text = f"(not {text})" if negated else text
        if not lines:
            told.append(text)
            continue
        if told or result:
            result = _so_far(scope, result, told, operator)
            with w.block(f"if {result}:" if operator == "and" else f"if not {result}:"):
                w.put(lines)
                w.line(f"{result} = {text}")
        else:
            w.put([line[4:] for line in lines])
            result = w.name()
            w.line(f"{result} = {text}")
        told = []
    if not result:
        return f"({f' {operator} '.join(told)})"
    return f"({f' {operator} '.join([result, *told])})" if told else result


def _so_far(scope: Scope, result: str, told: list[str], operator: str) -> str:
    """What is known before an operand with lines of its own, in a name."""
    text = f" {operator} ".join([result, *told] if result else told)
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
            return _contained(scope, e)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            t = _common(scope, e.left.type, e.right.type)
            left, right = _both(scope, e.left, e.right, t)
            return f"({left} {e.operator} {right})"
        case "+" | "-" | "&" if isinstance(e.type, m.SetType):
            t = _common(scope, e.left.type, e.right.type)
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


def _common(scope: Scope, a: m.Type, b: m.Type) -> m.Type:
    """A type that has the numbers of both, so that they can be compared."""
    match a, b:
        case (m.NoneType() | m.NeverType() | m.ErrorType(), _):
            return (
                b if isinstance(b, m.OptionalType | m.NoneType) or not isinstance(a, m.NoneType) else m.OptionalType(b)
            )
        case (_, m.NoneType() | m.NeverType() | m.ErrorType()):
            return _common(scope, b, a)
        case (m.OptionalType(x), m.OptionalType(y)):
            return m.OptionalType(_common(scope, x, y))
        case (m.OptionalType(x), _):
            return m.OptionalType(_common(scope, x, b))
        case (_, m.OptionalType(y)):
            return m.OptionalType(_common(scope, a, y))
        case (m.SetType(x), m.SetType(y)):
            return m.SetType(_common(scope, x, y))
        case (m.ListType(x, n), m.ListType(y, k)):
            return m.ListType(_common(scope, x, y), max(n, k))
        case (m.RangeType(low, high), m.RangeType(other_low, other_high)):
            return m.RangeType(min(low, other_low), max(high, other_high))
        case _:
            return a


def _contained(scope: Scope, e: m.Binary) -> str:
    """`x in set`, `x in list`."""
    w = scope.writer
    over = e.right.type
    if isinstance(over, m.SetType) and isinstance(over.of, m.SetType):
        raise UnpackableError("a set of sets that is more than iterated")
    item = w.named(value(scope, e.left))
    if isinstance(over, m.ListType):
        found = w.name()
        w.line(f"{found} = False")
        listed, t = w.named(value(scope, e.right)), _common(scope, e.left.type, over.of)
        with loop(scope, over, listed) as x:
            same = f"{converted(scope, x, over.of, t)} == {converted(scope, item, e.left.type, t)}"
            with w.block(f"if {same}:"):
                w.line(f"{found} = True")
        return found
    assert isinstance(over, m.SetType)
    held = value(scope, e.right)
    of, given = element(over.of, scope.context.universe), shape_of(scope, e.left.type)
    shifted = f"{held} >> {item} - {of.low}" if of.low else f"{held} >> {item}"
    text = f"{shifted} & 1 == 1"
    if given.low < of.low or given.high > of.high or given.none is not None:
        return f"({of.low} <= {item} <= {of.high} and {text})"
    return f"({text})"


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


# Collections ---------------------------------------------------------------------------------------------------------


def _collection(scope: Scope, e: m.Collection, want: m.Type) -> str:
    inner = want.of if isinstance(want, m.OptionalType) else want
    universe = scope.context.universe
    if isinstance(inner, m.SetType):
        if not e.items:
            return "0"
        own = e.type.of if isinstance(e.type, m.SetType) else inner.of
        of = element(own, universe)
        texts = [value(scope, x, own) for x in e.items]
        bits = [_bit(x, of.low) for x in texts]
        return converted(scope, f"({' | '.join(bits)})", e.type, inner)
    if not isinstance(inner, m.ListType):
        raise UnpackableError("a collection of no known kind")
    own_list = e.type if isinstance(e.type, m.ListType) and e.items else inner
    of, at = element(own_list.of, universe), own_list.bound.bit_length()
    parts = [str(len(e.items))]
    for n, x in enumerate(e.items):
        text = value(scope, x, own_list.of)
        parts.append(f"({text} - {of.low}) << {at + n * of.bits}" if of.low else f"{text} << {at + n * of.bits}")
    return converted(scope, f"({' | '.join(parts)})", own_list, inner)


def _bit(text: str, low: int) -> str:
    if text.lstrip("-").isdigit():
        return str(1 << (int(text) - low))
    return f"1 << {text} - {low}" if low else f"1 << {text}"


def _quantified(scope: Scope, e: m.Quantified) -> str:
    w = scope.writer
    over = collected(scope, e.over)
    found = w.name()
    w.line(f"{found} = {'0' if e.kind == 'count' else str(e.kind == 'all')}")
    of = e.over.type.of if isinstance(e.over.type, m.SetType | m.ListType) else m.ERROR
    with loop(scope, e.over.type, over, e.over) as x, scope.binding(e.variable, x, of):
        text = value(scope, e.body)
        if e.kind == "count":
            with w.block(f"if {text}:"):
                w.line(f"{found} += 1")
        else:
            with w.block(f"if not {text}:" if e.kind == "all" else f"if {text}:"):
                w.line(f"{found} = {e.kind == 'some'}")
                w.line("break")
    return found


def collected(scope: Scope, over: m.Expr) -> str:
    """What a loop goes through, in a name; for subsets, what they are taken from."""
    if isinstance(over, m.Apply) and over.function == "subsets":
        if isinstance(over.arguments[0].type, m.ListType):
            raise UnpackableError("subsets of a list")
        _check_subsets(scope, over)
        return scope.writer.named(value(scope, over.arguments[0]))
    if isinstance(over.type, m.SetType) and isinstance(over.type.of, m.SetType):
        raise UnpackableError("a set of sets")
    return scope.writer.named(value(scope, over))


def _check_subsets(scope: Scope, over: m.Apply) -> None:
    first = over.arguments[0].type
    assert isinstance(first, m.SetType)
    codes = element(first.of, scope.context.universe).codes
    if comb(codes, codes // 2) > MOST:
        raise UnpackableError(f"subsets of a set of up to {codes} elements")


def _apply(scope: Scope, e: m.Apply) -> str:
    first = e.arguments[0]
    universe = scope.context.universe
    match e.function:
        case "present":
            text = scope.writer.named(value(scope, first))
            none = shape_of(scope, first.type).none
            if none is not None and first not in scope.known:
                with scope.writer.block(f"if {text} == {none}:"):
                    scope.fail("none")
            return text
        case "size":
            return _size(scope, first)
        case "min" | "max":
            texts = [value(scope, x, e.type) for x in e.arguments]
            return f"{e.function}({', '.join(texts)})"
        case "first":
            listed = scope.writer.named(value(scope, first))
            assert isinstance(first.type, m.SetType | m.ListType)
            of = element(first.type.of, universe)
            with scope.writer.block(f"if {listed} == 0:"):
                scope.fail("none")
            if isinstance(first.type, m.SetType):
                return f"(lowest({listed}) + {of.low})"
            at = first.type.bound.bit_length()
            return f"(({listed} >> {at} & {(1 << of.bits) - 1}) + {of.low})"
        case "rest":
            return _rest(scope, first, e.type)
        case "subsets":
            raise UnpackableError("a set of sets that is more than iterated")
        case _:
            assert_never(e.function)


def _rest(scope: Scope, first: m.Expr, t: m.Type) -> str:
    assert isinstance(first.type, m.ListType)
    of, at = element(first.type.of, scope.context.universe), first.type.bound.bit_length()
    listed = scope.writer.named(value(scope, first))
    length = f"({listed} & {(1 << at) - 1})"
    text = f"({length} - 1 | {listed} >> {at + of.bits} << {at} if {length} > 1 else 0)"
    return converted(scope, text, first.type, t)


def _size(scope: Scope, e: m.Expr) -> str:
    if isinstance(e, m.ChannelRef):
        place = scope.context.universe.channel_place.get(e.name)
        return "0" if place is None else f"{scope.row}[{scope.context.layout.boxes[place].length}]"
    text = value(scope, e)
    if isinstance(e.type, m.ListType):
        return f"({text} & {(1 << e.type.bound.bit_length()) - 1})"
    return f"ones({text})"
