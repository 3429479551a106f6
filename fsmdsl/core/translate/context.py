"""What is translated, where an expression or effect is, and the procedure that is being written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager

from fsmdsl import model as m
from fsmdsl.core import statements as s
from fsmdsl.core.elaborate import Body, Elaboration
from fsmdsl.core.presence import NOTHING, Present, without
from fsmdsl.core.selection import Selection
from fsmdsl.dataclasses import dataclass, replace
from fsmdsl.model.typing import bare, common
from fsmdsl.syntax.operators import LARGEST, Comparison
from fsmdsl.text.source import NOWHERE, Span

TRUE, FALSE = s.Constant(True, m.BOOL), s.Constant(False, m.BOOL)
NONE = s.Constant(None, s.NOTHING)

# Conditions ----------------------------------------------------------------------------------------------------------


def negated(e: s.Expr) -> s.Expr:
    """The opposite of a condition."""
    match e:
        case s.Constant(value=value):
            return FALSE if value else TRUE
        case s.Not(operand=operand):
            return operand
        case _:
            return s.Not(e)


def all_of(conditions: Sequence[s.Expr]) -> s.Expr:
    """Do all hold? Evaluated from left to right, as far as needed."""
    if FALSE in conditions:
        return FALSE
    parts = tuple([x for x in conditions if x != TRUE])
    return TRUE if not parts else parts[0] if len(parts) == 1 else s.Logic("and", parts)


def any_of(conditions: Sequence[s.Expr]) -> s.Expr:
    """Does one hold?"""
    if TRUE in conditions:
        return TRUE
    parts = tuple([x for x in conditions if x != FALSE])
    return FALSE if not parts else parts[0] if len(parts) == 1 else s.Logic("or", parts)


def compared(left: s.Expr, operator: Comparison, right: s.Expr | int) -> s.Expr:
    """A comparison of two values, or with a number."""
    return s.Binary(operator, left, number(right) if isinstance(right, int) else right, m.BOOL)


def number(n: int) -> s.Constant:
    """A number."""
    return s.Constant(n, m.RangeType(n, n))


def is_none(e: s.Expr) -> s.Expr:
    """Is a value none?"""
    return compared(e, "==", NONE)


def is_present(e: s.Expr) -> s.Expr:
    """Is a value not none?"""
    return compared(e, "!=", NONE)


def size(e: s.Expr) -> s.Expr:
    """How many items a list or set holds."""
    high = e.type.bound if isinstance(e.type, m.ListType) else 1 << 16
    return s.Apply("size", (e,), m.RangeType(0, high))


# The procedure -------------------------------------------------------------------------------------------------------


class Builder:
    """The statements of a procedure, while it is written."""

    def __init__(self) -> None:
        self.statements: list[s.Statement] = []
        self._names = {"self"}

    @property
    def block(self) -> s.Block:
        """What has been written."""
        return tuple(self.statements)

    def add(self, *statements: s.Statement) -> None:
        """The next statements."""
        self.statements += statements

    def variable(self, name: str, t: m.Type) -> s.Variable:
        """A new variable, whose name is unique in the procedure."""
        count, unique = 1, name
        while unique in self._names:
            count, unique = count + 1, f"{name}_{count + 1}"
        self._names.add(unique)
        return s.Variable(unique, t)

    def parameters(self, variables: Sequence[m.Variable]) -> tuple[s.Variable, ...]:
        """Parameters of an event or a `let`, as parameters of the procedure."""
        return tuple([self.variable(x.name, x.type) for x in variables])

    def temporary(self, e: s.Expr, name: str = "value") -> s.Expr:
        """A value that is used more than once."""
        match e:
            case s.Variable() | s.Constant() | s.Instances():
                return e
            case _:
                variable = self.variable(name, e.type)
                self.add(s.Let(variable, e))
                return variable

    def aside(self) -> Inside:
        """What is added inside is collected, and not part of the procedure yet."""
        return Inside(self, lambda _: ())

    def when(self, condition: s.Expr) -> Inside:
        """What is added inside is done only if a condition holds."""
        return Inside(self, lambda block: block if condition == TRUE else _if(condition, block))

    def each(self, variable: s.Variable, over: s.Expr, origin: m.ForEach | None = None) -> Inside:
        """What is added inside is done for each member of a set or list."""
        return Inside(self, lambda block: (s.Each(variable, over, block, origin),) if block else ())

    def attempt(self, *otherwise: s.Statement) -> Inside:
        """What is added inside is attempted, if it can fail."""
        return Inside(self, lambda block: (s.Attempt(block, otherwise),) if can_fail(block) else block)


def _if(condition: s.Expr, block: s.Block) -> s.Block:
    return (s.If(condition, block),) if block and condition != FALSE else ()


class Inside(AbstractContextManager[list[s.Statement]]):
    """The context of a block: yields the list of the statements inside, on exit adds what they become."""

    __slots__ = ("_become", "_before", "_builder", "_inside")

    def __init__(self, builder: Builder, become: Callable[[s.Block], s.Block]) -> None:
        self._builder, self._become = builder, become

    def __enter__(self) -> list[s.Statement]:
        self._inside: list[s.Statement] = []
        self._before, self._builder.statements = self._builder.statements, self._inside
        return self._inside

    def __exit__(self, *_: object) -> None:
        self._builder.statements = self._before
        self._before += self._become(tuple(self._inside))


def can_fail(block: Sequence[s.Statement]) -> bool:
    """Can an evaluation end in a fault? A `let` that is called can; see `Derived`."""
    return any(map(_can_fail, block))


def _can_fail(x: s.Statement) -> bool:
    match x:
        case s.Require() | s.Fail() | s.Call() | s.CallOn() | s.Progress():
            return True
        case s.If(then=then, otherwise=otherwise):
            return can_fail(then) or can_fail(otherwise)
        case s.Each(body=body) | s.Repeat(body=body):
            return can_fail(body)
        case s.Attempt(otherwise=otherwise):
            return can_fail(otherwise)
        case _:
            return False


# What is translated --------------------------------------------------------------------------------------------------


class Context:
    """The machines and channels of a system; without a system, those of the model.

    `closed`: no event comes from outside that is not offered. Then the arguments of an event are as wide as those that
    are offered, and they may be anything otherwise.

    `fused`: besides, each step that is offered is taken at once. Then it does not require again what it was offered
    for, and evaluates its guards itself: see `Offer.tentative`.
    """

    def __init__(self, elaboration: Elaboration, *, closed: bool = False, fused: bool = False) -> None:
        self.elaboration, self.closed, self.fused = elaboration, closed or fused, fused
        self.model, self.system = elaboration.model, elaboration.system
        if self.system is None:
            self.machines = tuple(self.model.machines.values())
            self.channels = tuple(self.model.channels.values())
        else:
            names = dict.fromkeys(i.machine for i in self.system.instances)
            self.machines = tuple([self.model.machines[name] for name in names])
            self.channels = tuple([self.model.channels[name] for name in self.system.channels])
        self.procedures: dict[s.Name, s.Procedure] = {}
        self.lets: dict[tuple[str, str], list[tuple[Body, s.Procedure]]] = {}
        """By owner and name: what a `let` stands for, for each of the types that its arguments have."""
        self._selections: dict[str, Selection] = {}
        self._offered: dict[tuple[str, str], tuple[m.Type, ...]] = {}

    @property
    def span(self) -> Span:
        """Where the system is declared."""
        return NOWHERE if self.system is None else self.system.span

    def selection(self, machine: m.Machine) -> Selection:
        """Which transitions are candidates where."""
        if machine.qualified not in self._selections:
            self._selections[machine.qualified] = Selection(machine)
        return self._selections[machine.qualified]

    def has(self, machine: str) -> bool:
        """Does a machine (qualified) take part?"""
        return any(x.qualified == machine for x in self.machines)

    def offered(self, machine: m.Machine, event: str, arguments: Sequence[s.Expr]) -> None:
        """Notes that an event can come from outside with these arguments."""
        types = self._offered.get(
            (machine.qualified, event), tuple(p.type for p in machine.event_named[event].parameters)
        )
        wide = tuple(common(t, x.type) for t, x in zip(types, arguments, strict=True))
        self._offered[machine.qualified, event] = wide

    def arguments(self, machine: m.Machine, event: m.Event) -> tuple[m.Type, ...]:
        """The types of the arguments with which an event can come from outside."""
        declared = tuple(p.type for p in event.parameters)
        if self.closed:
            return self._offered.get((machine.qualified, event.name), declared)
        return tuple(map(unlimited, declared))

    def define(self, name: s.Name, parameters: Sequence[s.Variable], builder: Builder) -> s.Procedure:
        """The procedure that has been written."""
        procedure = s.Procedure(name, tuple(parameters), builder.block)
        existing = self.procedures.setdefault(name, procedure)
        assert existing is procedure, name
        return procedure


def unlimited(t: m.Type) -> m.Type:
    """The type of what comes from outside: of the same kind, but it may not fit."""
    match t:
        case m.RangeType():
            return m.RangeType(-LARGEST, LARGEST)
        case m.RefType():
            return m.OptionalType(t)
        case m.OptionalType(of):
            return m.OptionalType(bare(unlimited(of)))
        case m.SetType(of):
            return m.SetType(unlimited(of))
        case m.ListType(of):
            return m.ListType(unlimited(of), LARGEST)
        case _:
            return t


@dataclass(frozen=True)
class Scope:
    """Where an expression or effect is: in which procedure, of which machine, with which variables."""

    context: Context
    builder: Builder
    machine: m.Machine | None
    """None: part of the system."""
    self: s.Expr
    locals: Mapping[str, s.Expr]
    present: Present = NOTHING
    """Values that are not none here."""

    def bind(self, name: str, value: s.Expr) -> Scope:
        """The same place, where a name stands for a value."""
        return replace(self, locals={**self.locals, name: value}, present=without(self.present, name))

    def knowing(self, present: Present) -> Scope:
        """The same place, where more values are known not to be none."""
        return replace(self, present=self.present | present) if present else self

    def fault(self, cause: s.Cause, span: Span) -> s.Fault:
        """A fault of the instance."""
        return s.Fault(cause, self.self, s.Location(span))

    def require(self, condition: s.Expr, cause: s.Cause, span: Span) -> None:
        """The step fails unless a condition holds."""
        if condition != TRUE:
            self.builder.add(s.Require(condition, self.fault(cause, span)))


def instance_of(machine: m.Machine) -> s.Variable:
    """The parameter of a procedure about an instance."""
    return s.Variable("self", m.RefType(machine.qualified))


def of_machine(context: Context, builder: Builder, machine: m.Machine) -> Scope:
    """Inside a procedure about an instance of a machine."""
    return Scope(context, builder, machine, instance_of(machine), {})


def of_system(context: Context, builder: Builder) -> Scope:
    """Inside a procedure about no instance."""
    return Scope(context, builder, None, NONE, {})


def state(machine: m.Machine, owner: s.Expr) -> s.State:
    """The leaf in which an instance of a machine is."""
    return s.State(owner, leaf_type(machine))


def leaf(machine: m.Machine, name: str) -> s.Constant:
    """A leaf of a machine."""
    return s.Constant(name, leaf_type(machine))


def leaf_type(machine: m.Machine) -> m.EnumType:
    """The type of the leaves of a machine."""
    leaves = tuple([x.name for x in machine.leaves])
    return m.EnumType(f"state of {machine.qualified}", leaves, False, machine.qualified)
