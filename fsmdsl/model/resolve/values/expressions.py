"""Expressions: names bound, types found, options made explicit.

NOTE(after-errors): what is wrong gets the error type, which agrees with everything, so that one mistake gives one
message. A model is handed on only when there was none, so no reader of the model ever sees the error type.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from fsmdsl import model as m
from fsmdsl import syntax as s
from fsmdsl.dataclasses import replace
from fsmdsl.model.resolve import rules
from fsmdsl.model.resolve.limits import too_many_digits
from fsmdsl.model.resolve.names.scope import Scope
from fsmdsl.model.resolve.names.states import states_meant
from fsmdsl.model.resolve.types.type_text import described, type_text
from fsmdsl.model.resolve.values import records
from fsmdsl.model.resolve.values.binders import bound, quantified
from fsmdsl.model.resolve.values.calls import applied, call_let
from fsmdsl.model.resolve.values.names import member, name
from fsmdsl.model.resolve.values.places import condition, of_type, opened, remedy, typed, wrong
from fsmdsl.model.typing import arithmetic_type, bare, concat_type, join, join_all, negative_type
from fsmdsl.syntax.operators import LARGEST, Written, may_divide_by_zero, of_numbers, of_sets
from fsmdsl.text.diagnostics import Diagnostic
from fsmdsl.text.source import Span


def expression(scope: Scope, e: s.Expr, expected: m.Type | None) -> m.Expr:
    """An expression with its names bound. `expected` helps to tell members of enums apart; it is not enforced."""
    match e:
        case s.Number(value, span):
            return m.Constant(value, m.RangeType(value, value), span)
        case s.Duration(milliseconds, span):
            return m.Constant(milliseconds, m.DurationType(), span)
        case s.Word():
            return _word(scope, e)
        case s.Name():
            return name(scope, e, expected)
        case s.Member():
            return member(scope, e)
        case s.Index():
            return _index(scope, e)
        case s.Call():
            return _call(scope, e, expected)
        case s.Unary():
            return _unary(scope, e)
        case s.Binary():
            return _binary(scope, e)
        case s.Logic(operator, operands, span):
            return m.Logic(operator, tuple(condition(scope, x) for x in operands), span=span)
        case s.Conditional():
            return _conditional(scope, e, expected)
        case s.Quantified():
            return _quantified(scope, e)
        case s.Collection():
            return _collection(scope, e, expected)
        case s.NamedArgument(name=part):
            diagnostic = rules.MISPLACED.at(e.span, f"`{part.text} = …` is allowed only in a record constructor")
            scope.report(diagnostic.help(f"leave out `{part.text} =`, or write `==` to compare"))
            return m.Constant(None, m.ERROR, e.span)
        case s.Queue():
            diagnostic = rules.MISPLACED.at(e.span, f"`{e.span.quote}` is a queue, which has no value")
            scope.report(diagnostic.help(f"`size({e.span.quote})` tells how many messages it holds"))
            return m.Constant(None, m.ERROR, e.span)
        case _:
            assert_never(e)


def _word(scope: Scope, e: s.Word) -> m.Expr:
    match e.text:
        case "true" | "false":
            return m.Constant(e.text == "true", m.BOOL, e.span)
        case "none":
            return m.Constant(None, m.NoneType(), e.span)
        case "self":
            if scope.machine is None:
                scope.report(rules.MISPLACED.at(e.span, "`self` means a machine's own instance; there is none here"))
                return m.Constant(None, m.ERROR, e.span)
            return m.Self(m.RefType(scope.machine.qualified), e.span)
        case _:
            assert_never(e.text)


def _index(scope: Scope, e: s.Index) -> m.Expr:
    """`groups[0]`, `log[i]`, `votes[n]`: an instance by its number, an item of a list by its place, the entry of a map
    for a key."""
    group = _group(scope, e.target)
    if group is None or scope.system is None or not isinstance(e.target, s.Name):
        return _item(scope, e)
    at = opened(typed(scope, e.index))
    if not isinstance(at.type, m.RangeType):
        return _not_number(scope, at)
    if e.target.text in scope.locals:
        scope.note_local(e.target)
    else:
        scope.note(e.target, "group", scope.system.owner(group.name))
    one = m.RefType(group.machine)
    if not isinstance(e.index, s.Number):
        return m.Apply("item", (m.Instances(group.name, m.SetType(one), e.target.span), at), one, e.span)
    if e.index.value >= group.count and scope.system.sized:
        return wrong(scope, e.span, f"`{group.name}` has instances 0 to {group.count - 1}")
    return m.InstanceRef(group.name, e.index.value, one, e.span)


def _group(scope: Scope, e: s.Expr) -> m.InstanceGroup | None:
    """The set of instances that a name stands for, or in a shared environment a parameter."""
    if scope.system is None or not isinstance(e, s.Name):
        return None
    if e.text in scope.locals:
        argument = None if scope.arguments is None else scope.arguments.get(e.text)
        return scope.system.groups[argument.name] if isinstance(argument, m.Instances) else None
    return None if scope.visible_system is None else scope.visible_system.groups.get(e.text)


def _item(scope: Scope, e: s.Index) -> m.Expr:
    container = opened(typed(scope, e.target))
    if isinstance(container.type, m.MapType):
        return m.Apply("item", (container, of_type(scope, e.index, container.type.key)), container.type.of, e.span)
    at = opened(typed(scope, e.index))
    if not isinstance(at.type, m.RangeType):
        return _not_number(scope, at)
    match container.type:
        case m.ListType(of=of):
            return m.Apply("item", (container, at), of, e.span)
        case m.ErrorType():
            return m.Constant(None, m.ERROR, e.span)
        case _:
            diagnostic = rules.MISMATCH.at(e.target.span, f"{described(container.type)} cannot be indexed")
            scope.report(diagnostic.help("only lists, maps and named sets of instances can be indexed"))
            return m.Constant(None, m.ERROR, e.span)


def _call(scope: Scope, e: s.Call, expected: m.Type | None) -> m.Expr:
    home = records.called(scope, e.target)
    if home is not None:
        return records.constructed(scope, e, home)
    if isinstance(e.target, s.Name) and not scope.computes(e.target.text):
        return applied(scope, e, e.target, expected)
    return call_let(scope, e)


def _unary(scope: Scope, e: s.Unary) -> m.Expr:
    match e.operator:
        case "not":
            return m.Not(condition(scope, e.operand), span=e.span)
        case "-":
            operand = opened(typed(scope, e.operand))
            if not isinstance(operand.type, m.RangeType):
                return _not_number(scope, operand)
            return m.Negative(operand, negative_type(operand.type), e.span)
        case "always" | "eventually" | "next":
            _only_in_properties(scope, e.operator, e.span)
            return m.Temporal(e.operator, (condition(scope, e.operand),), span=e.span)
        case _:
            assert_never(e.operator)


def _only_in_properties(scope: Scope, operator: str, span: Span) -> None:
    if not scope.temporal:
        diagnostic = rules.MISPLACED.at(span, f"`{operator}` is about whole runs and is allowed only in a `property`")
        scope.report(diagnostic.help("an `invariant` is implicitly `always`; for other operators, write a `property`"))


def _not_number(scope: Scope, e: m.Expr) -> m.Expr:
    if isinstance(e.type, m.ErrorType):
        return e
    return wrong(scope, e.span, f"expected a number, got {described(e.type)}")


def _binary(scope: Scope, e: s.Binary) -> m.Expr:
    match e.operator:
        case "=>":
            return m.Binary("=>", condition(scope, e.left), condition(scope, e.right), m.BOOL, e.span)
        case "~>" | "until":
            _only_in_properties(scope, e.operator, e.span)
            return m.Temporal(e.operator, (condition(scope, e.left), condition(scope, e.right)), span=e.span)
        case "in":
            return _membership(scope, e.left, e.right, e.span)
        case "not in":
            return m.Not(_membership(scope, e.left, e.right, e.span), span=e.span)
        case "has":
            return _membership(scope, e.right, e.left, e.span)
        case "==" | "!=" | "<" | "<=" | ">" | ">=":
            return _comparison(scope, e)
        case _:
            return _operation(scope, e, e.operator)


def _pair(scope: Scope, left: s.Expr, right: s.Expr) -> tuple[m.Expr, m.Expr]:
    """Both sides; the one whose type is known helps with the other's names."""
    if isinstance(left, s.Name) and not scope.holds(left.text):
        anchor = typed(scope, right)
        return typed(scope, left, bare(anchor.type)), anchor
    anchor = typed(scope, left)
    return anchor, typed(scope, right, bare(anchor.type))


def _comparison(scope: Scope, e: s.Binary) -> m.Expr:
    left, right = _pair(scope, e.left, e.right)
    if e.operator not in ("==", "!="):
        left, right = opened(left), opened(right)
    both = join(left.type, right.type)
    assert e.operator in ("==", "!=", "<", "<=", ">", ">=")
    if both is None:
        scope.report(_incomparable(e, left, right))
        return m.Constant(None, m.ERROR, e.span)
    if isinstance(bare(both), m.OpaqueType) and not isinstance(both, m.OptionalType):
        return wrong(scope, e.span, f"{described(both)} is opaque: only hand-written code looks into it")
    if e.operator not in ("==", "!=") and not _has_order(both):
        why = (
            "list its members with `<` to give it an order"
            if isinstance(both, m.EnumType)
            else "only numbers and ordered enums have one"
        )
        scope.report(rules.MISMATCH.at(e.span, f"{described(both)} has no order").help(why))
    match left, right:
        case (m.StateOf(target=x), m.Constant(value=str() as state)) | (m.Constant(value=str() as state), m.StateOf(x)):
            test = m.InState(x, frozenset({state}), state, span=e.span)
            return test if e.operator == "==" else m.Not(test, span=e.span)
        case _:
            return m.Binary(e.operator, left, right, m.BOOL, e.span)


def _incomparable(e: s.Binary, left: m.Expr, right: m.Expr) -> Diagnostic:
    diagnostic = rules.MISMATCH.at(e.span, f"{described(left.type)} and {described(right.type)} cannot be compared")
    test = _test_meant(e, left, right) or _test_meant(e, right, left)
    if test is not None:
        return diagnostic.instead(test)
    maps = [x for x in (left, right) if isinstance(x.type, m.MapType)]
    help_ = f"compare one entry, `{maps[0].span.quote}[k]`, or two maps of one type" if maps else None
    help_ = help_ or remedy(e.left, left.type, bare(right.type)) or remedy(e.right, right.type, bare(left.type))
    return diagnostic if help_ is None else diagnostic.help(help_)


def _test_meant(e: s.Binary, instance: m.Expr, state: m.Expr) -> str | None:
    """The test of a state that `lease == Free` is meant to be."""
    match bare(instance.type), state:
        case m.RefType(machine), m.Constant(value=str() as name, type=m.EnumType(machine=of)) if machine == of:
            operators = {"==": "in", "!=": "not in"}
            is_whole = not isinstance(instance, m.Conditional)
            text = instance.span.quote if is_whole else f"({instance.span.quote})"
            return f"{text} {operators[e.operator]} {name}" if e.operator in operators else None
        case _:
            return None


def _has_order(t: m.Type) -> bool:
    return isinstance(t, m.RangeType | m.ErrorType | m.DurationType) or (isinstance(t, m.EnumType) and t.ordered)


def _operation(scope: Scope, e: s.Binary, written: Written) -> m.Expr:
    """What a sign means depends on whether it is between numbers or sets."""
    left, right = (opened(x) for x in _pair(scope, e.left, e.right))
    arithmetic, of_two_sets = of_numbers(written), of_sets(written)
    match left.type, right.type, join(left.type, right.type):
        case m.RangeType() as a, m.RangeType() as b, _ if arithmetic is not None:
            if may_divide_by_zero(arithmetic, (b.low, b.high)) and b.low == b.high:
                return wrong(scope, right.span, "division by zero")
            result = arithmetic_type(arithmetic, a, b)
            if max(-result.low, result.high) > LARGEST:
                scope.report(rules.TOO_LARGE.at(e.span, too_many_digits(result)))
                return m.Constant(None, m.ERROR, e.span)
            return m.Binary(arithmetic, left, right, result, e.span)
        case m.ListType() as a, m.ListType() as b, m.ListType(of=of) if written == "+":
            return m.Apply("concat", (left, right), concat_type(a, b, of), e.span)
        case _, _, m.SetType() as both if of_two_sets is not None:
            return m.Binary(of_two_sets, left, right, both, e.span)
        case _, _, m.ErrorType():
            return m.Constant(None, m.ERROR, e.span)
        case m.BOOL, m.BOOL, _ if written == "&":
            diagnostic = rules.MISMATCH.at(e.span, "`&` needs two sets, not two conditions")
            scope.report(diagnostic.help("write `and`"))
            return m.Constant(None, m.ERROR, e.span)
        case _:
            kinds = ["numbers"] * (arithmetic is not None) + ["sets"] * (of_two_sets is not None)
            operand_kinds = " or ".join(f"two {x}" for x in [*kinds, *["lists"] * (written == "+")])
            return wrong(
                scope,
                e.span,
                f"`{written}` needs {operand_kinds}, not {described(left.type)} and {described(right.type)}",
            )


def _membership(scope: Scope, item: s.Expr, of: s.Expr, span: Span) -> m.Expr:
    """`x in Used`, `x in {Used, Reserving}` (states), or `x in cells` (a set or list)."""
    if not (isinstance(item, s.Name) and not scope.holds(item.text)):
        left = typed(scope, item)
        states = states_meant(scope, bare(left.type), of)
        if states is not None:
            return _state_test(left, states, of.span, span)
        if isinstance(of, s.Collection) and (states := _states_in_list(scope, bare(left.type), of)) is not None:
            return _state_test(left, states, of.span, span)
        right = opened(typed(scope, of, m.SetType(bare(left.type))))
    else:
        right = opened(typed(scope, of))
        inner = right.type.of if isinstance(right.type, m.SetType | m.ListType) else None
        left = typed(scope, item, inner)
    match right.type:
        case m.SetType(of=inner_type) | m.ListType(of=inner_type):
            if join(left.type, inner_type) is None:
                items = of.items if isinstance(of, s.Collection) else ()
                help_ = next(filter(None, (remedy(x, inner_type, bare(left.type)) for x in items)), None)
                return wrong(scope, span, f"{described(left.type)} cannot be in {described(right.type)}", help_)
        case m.ErrorType():
            pass
        case _:
            return wrong(scope, of.span, f"expected a set, a list or a state, got {described(right.type)}")
    return m.Binary("in", left, right, m.BOOL, span)


def _states_in_list(scope: Scope, t: m.Type, of: s.Collection) -> frozenset[str] | None:
    """The states in `[Free, Taken]`, which is reported; None if there are other values in it."""
    states = states_meant(scope, t, replace(of, kind="set"))
    if states is not None:
        names = f"{{{', '.join(x.span.quote for x in of.items)}}}"
        scope.report(rules.MISMATCH.at(of.span, "`in` takes a set of states, not a list").instead(names))
    return states


def _state_test(left: m.Expr, states: frozenset[str], of: Span, span: Span) -> m.Expr:
    """Is an instance in one of these states, or a state one of them? `state(x) in Used` is `x in Used`."""
    match left, bare(left.type):
        case m.StateOf(target=target), _:
            return m.InState(target, states, of.text, span=span)
        case _, m.EnumType() as t:
            members = tuple(m.Constant(x, t, of) for x in t.members if x in states)
            return m.Binary("in", left, m.Collection("set", members, m.SetType(t), of), m.BOOL, span)
        case _:
            return m.InState(left, states, of.text, span=span)


def _conditional(scope: Scope, e: s.Conditional, expected: m.Type | None) -> m.Expr:
    test = condition(scope, e.condition)
    then = typed(scope, e.then, expected)
    otherwise = typed(scope, e.otherwise, expected or bare(then.type))
    both = join(then.type, otherwise.type)
    if both is None:
        return wrong(scope, e.span, f"one side is {described(then.type)}, the other {described(otherwise.type)}")
    return m.Conditional(test, then, otherwise, both, e.span)


def _quantified(scope: Scope, e: s.Quantified) -> m.Expr:
    binder, *others = e.binders
    inner = bound(scope, binder)
    if e.kind == "count" and (others or len(inner.variables) > 1):
        diagnostic = rules.MISMATCH.at(e.span, "`count` takes one variable")
        scope.report(
            diagnostic if others else diagnostic.help("subsets are counted by their size: `subsets(nodes, 2)`")
        )
        return m.Constant(None, m.ERROR, e.span)
    if others:
        body = _quantified(inner.scope, replace(e, binders=tuple(others)))
    else:
        body = condition(inner.scope, e.body)
    return quantified(e, inner, body, m.RangeType(0, 1 << 16) if e.kind == "count" else m.BOOL)


def _mixed(scope: Scope, e: s.Collection, items: Sequence[m.Expr]) -> m.Expr:
    """Reports items of several types; a name that stands for something else than the member that it may be meant as."""
    first = {type_text(x.type): x for x in reversed(items)}
    descriptions = ", ".join(f"`{x.span.quote}` is {described(x.type)}" for x in reversed(first.values()))
    diagnostic = rules.MISMATCH.at(e.span, f"these are not all of one type: {descriptions}")
    for item, written in zip(items, e.items, strict=True):
        enums = scope.enum_members(written.text) if isinstance(written, s.Name) else []
        if enums and not isinstance(item.type, m.EnumType):
            member = f"{enums[0].name.rpartition('.')[2]}.{item.span.quote}"
            meaning = f"`{item.span.quote}` means {described(item.type)} here"
            diagnostic = diagnostic.help(f"{meaning}; write `{member}` for the member")
    scope.report(diagnostic)
    return m.Constant(None, m.ERROR, e.span)


def _collection(scope: Scope, e: s.Collection, expected: m.Type | None) -> m.Expr:
    expected_type = bare(expected) if expected is not None else None
    inner = expected_type.of if isinstance(expected_type, m.SetType | m.ListType) else None
    items = tuple(x for i in e.items for x in _items(scope, i, inner))
    both = join_all([i.type for i in items])
    if both is None:
        return _mixed(scope, e, items)
    if isinstance(both, m.NeverType) and inner is not None:
        both = inner
    result: m.Type = m.SetType(both) if e.kind == "set" else m.ListType(both, max(len(items), 1))
    return m.Collection(e.kind, items, result, e.span)


def _items(scope: Scope, e: s.Expr, of: m.Type | None) -> tuple[m.Expr, ...]:
    """What is listed: a value, or the states inside a composite one."""
    match of:
        case (m.EnumType() as enum) | m.OptionalType(m.EnumType() as enum):
            if isinstance(e, s.Name) and e.text not in enum.members:
                states = states_meant(scope, enum, e)
                if states:
                    return tuple(m.Constant(x, enum, e.span) for x in enum.members if x in states)
        case _:
            pass
    return (typed(scope, e, of),)
