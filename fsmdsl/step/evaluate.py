"""What an expression is worth in a world.

Operands are looked at from left to right, and no further than needed: `user != none and user.priority > 3` never fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import combinations
from math import comb
from operator import eq, ge, gt, le, lt, ne
from typing import Any, Protocol, assert_never

from fsmdsl import model as m
from fsmdsl.step.data import RecordValue, Table
from fsmdsl.step.instances import Roster
from fsmdsl.step.values import (
    MAX_VALUES,
    TooManyValuesError,
    cardinality,
    default,
    domain,
    domains,
    elements,
    filled,
    outside,
    rank,
)
from fsmdsl.step.world import DivisionByZero, FaultError, Message, NoFirst, NoInstance, NoItem, NoKey, Unfit, Value

__all__ = [
    "MAX_VALUES",
    "Frame",
    "TooManyValuesError",
    "cardinality",
    "default",
    "domain",
    "domains",
    "elements",
    "evaluate",
    "iterate",
    "members",
    "number",
    "outside",
    "rank",
    "reference",
    "truth",
]


class Readable(Protocol):
    """What an expression reads: a world, or the draft of the next one."""

    @property
    def states(self) -> Sequence[str]: ...
    @property
    def fields(self) -> Sequence[Sequence[Value]]: ...
    @property
    def waited(self) -> AbstractSet[int]: ...
    @property
    def channels(self) -> Sequence[tuple[Message, ...]]: ...


class Frame:
    """Where an expression is read: in which world, as part of which instance (None: of the system), with what bound."""

    __slots__ = ("derived", "instance", "locals", "roster", "world")

    def __init__(
        self, roster: Roster, world: Readable, instance: int | None = None, bound: Mapping[str, Value] | None = None
    ) -> None:
        self.roster = roster
        self.world = world
        self.instance = instance
        self.locals = dict(bound) if bound else {}
        self.derived: dict[tuple[object, ...], Value] | None = None
        """Inside a derived value: those that have been computed for it already. Nothing changes meanwhile."""

    def inner(self) -> Frame:
        """A frame of the same instance, for variables of its own."""
        frame = Frame(self.roster, self.world, self.instance, self.locals)
        frame.derived = self.derived
        return frame


def evaluate(frame: Frame, e: m.Expr) -> Value:
    """The value of an expression. Raises `FaultError` where it has none. The commonest kinds come first."""
    match e:
        case m.Local():
            return frame.locals[e.name]
        case m.Read():
            return _read(frame, e)
        case m.InState():
            target = evaluate(frame, e.target)
            return target is not None and frame.world.states[target] in e.states  # type: ignore[index]
        case m.Binary():
            return _binary(frame, e)
        case m.Logic():
            return _logic(frame, e)
        case m.Constant():
            return e.value
        case m.Apply():
            return _apply(frame, e)
        case m.Quantified():
            return _quantified(frame, e)
        case m.Derived():
            return _derived(frame, e)
        case m.Self():
            return frame.instance
        case m.StateOf():
            return frame.world.states[reference(frame, e.target)]
        case m.Not():
            return not truth(frame, e.operand)
        case m.Wait():
            return frame.instance not in frame.world.waited
        case m.Conditional():
            return evaluate(frame, e.then if truth(frame, e.condition) else e.otherwise)
        case m.Collection():
            values = (evaluate(frame, x) for x in e.items)
            return frozenset(values) if e.kind == "set" else tuple(values)
        case m.Construction():
            return _record(frame, e)
        case m.Part():
            return _part(frame, e)
        case m.Negative():
            return -number(frame, e.operand)
        case m.InstanceRef():
            return frame.roster.system.number_of[(e.name, e.index)]
        case m.Instances():
            return frame.roster.instances_called(e.name)
        case m.AllOf():
            return frame.roster.instances_of(e.machine)
        case m.Ordinal():
            assert frame.instance is not None
            return frame.roster.system.instances[frame.instance].index
        case m.ChannelRef() | m.Temporal():
            raise TypeError(f"{type(e).__name__} has no value in one world")
        case _:
            assert_never(e)


# Values of a known kind ----------------------------------------------------------------------------------------------


def truth(frame: Frame, e: m.Expr) -> bool:
    """Is a condition true?"""
    value = evaluate(frame, e)
    assert isinstance(value, bool)
    return value


def number(frame: Frame, e: m.Expr) -> int:
    """The value of an expression that is a number."""
    value = evaluate(frame, e)
    assert type(value) is int
    return value


def members(frame: Frame, e: m.Expr) -> frozenset[Value] | tuple[Value, ...]:
    """The value of an expression that is a set or list."""
    value = evaluate(frame, e)
    assert isinstance(value, frozenset | tuple)
    return value


def iterate(frame: Frame, over: m.Expr) -> tuple[Value, ...]:
    """What a set or list holds, in the order in which loops and quantifiers visit it."""
    return tuple(elements(over.type, evaluate(frame, over)))


def reference(frame: Frame, e: m.Expr) -> int:
    """The instance that an expression stands for; a fault where it is none."""
    value = evaluate(frame, e)
    if value is None:
        raise _is_none(frame, e)
    assert type(value) is int
    return value


def _is_none(frame: Frame, e: m.Expr) -> FaultError:
    return FaultError(NoInstance(e.span), frame.instance, e.span)


# Data ----------------------------------------------------------------------------------------------------------------


def _read(frame: Frame, e: m.Read) -> Value:
    owner = frame.instance if e.target is None else reference(frame, e.target)
    assert owner is not None
    if e.kind == "param":
        return frame.roster.params[owner][e.name]
    return frame.world.fields[owner][frame.roster.slots[owner][e.name]]


def _derived(frame: Frame, e: m.Derived) -> Value:
    """The body of a `let` sees its own instance and its parameters, nothing of the place where it is used. What it uses
    twice is computed once."""
    let = frame.roster.let(e)
    instance = frame.instance if e.target is None else reference(frame, e.target)
    bound = {p.name: evaluate(frame, a) for p, a in zip(let.parameters, e.arguments, strict=True)}
    cache = {} if frame.derived is None else frame.derived
    key = e.owner, e.name, instance, *bound.values()
    if key not in cache:
        inner = Frame(frame.roster, frame.world, instance, bound)
        inner.derived = cache
        cache[key] = evaluate(inner, let.value)
    return cache[key]


def _record(frame: Frame, e: m.Construction) -> RecordValue:
    """All parts are computed before it is looked at whether they fit."""
    values = tuple([evaluate(frame, x) for x in e.parts])
    for (name, of), x, value in zip(e.type.parts, e.parts, values, strict=True):
        why = outside(of, value)
        if why is not None:
            raise FaultError(Unfit("part", name, e.type.name, why), frame.instance, x.span)
    return RecordValue(values)


def _part(frame: Frame, e: m.Part) -> Value:
    record = evaluate(frame, e.of)
    assert isinstance(record, RecordValue)
    assert isinstance(e.of.type, m.RecordType)
    return record.parts[[name for name, _ in e.of.type.parts].index(e.name)]


# Operators -----------------------------------------------------------------------------------------------------------


def _logic(frame: Frame, e: m.Logic) -> bool:
    decided = e.operator == "or"
    for x in e.operands:
        if truth(frame, x) is decided:
            return decided
    return not decided


_COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {"<": lt, "<=": le, ">": gt, ">=": ge, "==": eq, "!=": ne}


def _binary(frame: Frame, e: m.Binary) -> Value:
    if e.operator == "=>":
        return not truth(frame, e.left) or truth(frame, e.right)
    left = evaluate(frame, e.left)
    right = evaluate(frame, e.right)
    match e.operator:
        case "==" | "!=":
            return _COMPARISONS[e.operator](left, right)
        case "in":
            return left in right  # type: ignore[operator]
        case "<" | "<=" | ">" | ">=":
            order = e.left.type
            return _COMPARISONS[e.operator](rank(order, left), rank(order, right))
        case "union":
            return left | right  # type: ignore[operator]
        case "difference":
            return left - right  # type: ignore[operator]
        case "intersection":
            return left & right  # type: ignore[operator]
        case "+":
            return left + right  # type: ignore[operator]
        case "-":
            return left - right  # type: ignore[operator]
        case "*":
            return left * right  # type: ignore[operator]
        case "/" | "%":
            if right == 0:
                raise FaultError(DivisionByZero(e.right.span), frame.instance, e.span)
            return left // right if e.operator == "/" else left % right  # type: ignore[operator]
        case _:
            assert_never(e.operator)


def _quantified(frame: Frame, e: m.Quantified) -> Value:
    inner = frame.inner()
    count = 0
    for x in elements(e.over.type, evaluate(frame, e.over)):
        inner.locals[e.variable] = x
        holds = truth(inner, e.body)
        if holds is (e.kind == "some") and e.kind != "count":
            return holds
        count += holds
    return count if e.kind == "count" else e.kind == "all"


# Functions -----------------------------------------------------------------------------------------------------------


def _apply(frame: Frame, e: m.Apply) -> Value:
    first = e.arguments[0]
    match e.function:
        case "present":
            value = evaluate(frame, first)
            if value is None:
                raise _is_none(frame, first)
            return value
        case "size":
            return _size(frame, e)
        case "min":
            return min((evaluate(frame, x) for x in e.arguments), key=lambda x: rank(e.type, x))
        case "max":
            return max((evaluate(frame, x) for x in e.arguments), key=lambda x: rank(e.type, x))
        case "first":
            items = members(frame, first)
            if not items:
                raise FaultError(NoFirst(first.span), frame.instance, e.span)
            return elements(first.type, items)[0]
        case "item":
            return _item(frame, e)
        case "concat":
            return (*members(frame, first), *members(frame, e.arguments[1]))
        case "rest":
            return tuple(members(frame, first))[1:]
        case "range":
            return _range(number(frame, first), number(frame, e.arguments[1]))
        case "subsets":
            return _subsets(members(frame, first), number(frame, e.arguments[1]))
        case "filled":
            assert isinstance(e.type, m.MapType)
            return filled(e.type, _entry(frame, e, first), frame.roster)
        case "replaced":
            table, key = _table(frame, e)
            return table.replaced(key, _entry(frame, e, e.arguments[2]))
        case _:
            assert_never(e.function)


def _item(frame: Frame, e: m.Apply) -> Value:
    of, at = e.arguments
    if isinstance(of.type, m.MapType):
        table, key = _table(frame, e)
        return table.value(key)
    items, place = elements(of.type, members(frame, of)), number(frame, at)
    if not 0 <= place < len(items):
        raise FaultError(NoItem(of.span, place, len(items)), frame.instance, e.span)
    return items[place]


def _table(frame: Frame, e: m.Apply) -> tuple[Table, Value]:
    """A map, and a key that it has."""
    of, at, *_ = e.arguments
    table, key = evaluate(frame, of), evaluate(frame, at)
    assert isinstance(table, Table)
    if isinstance(of.type, m.MapType) and isinstance(of.type.key, m.RangeType) and not table.has(key):
        raise FaultError(NoKey(of.span, key, of.type.key.low, of.type.key.high), frame.instance, e.span)
    return table, key


def _entry(frame: Frame, e: m.Apply, expression: m.Expr) -> Value:
    """A value that a map can hold."""
    assert isinstance(e.type, m.MapType)
    value = evaluate(frame, expression)
    why = outside(e.type.of, value)
    if why is not None:
        whole = e.function == "filled"
        raise FaultError(Unfit("entry", "" if whole else e.arguments[0].span.text, "", why), frame.instance, e.span)
    return value


def _size(frame: Frame, e: m.Apply) -> int:
    """Of a set, a list, or a channel; a channel that leads out of the system holds nothing."""
    first, *ends = e.arguments
    if isinstance(first, m.ChannelRef):
        queue = frame.roster.queue(first.name, [reference(frame, x) for x in ends])
        return 0 if queue is None else len(frame.world.channels[queue])
    return len(members(frame, first))


def _range(low: int, high: int) -> Value:
    if high - low >= MAX_VALUES:
        raise TooManyValuesError(f"more than {MAX_VALUES} numbers: those from {low} to {high}")
    return frozenset(range(low, high + 1))


def _subsets(of: frozenset[Value] | tuple[Value, ...], size: int) -> Value:
    if size < 0:
        return frozenset()
    if comb(len(of), size) > MAX_VALUES:
        raise TooManyValuesError(f"more than {MAX_VALUES} subsets: those of {size} out of {len(of)}")
    return frozenset(frozenset(x) for x in combinations(of, size))
