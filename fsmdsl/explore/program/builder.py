"""Functions built statement by statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from fsmdsl.explore.program.arithmetic import Operator
from fsmdsl.explore.program.nodes import (
    ZERO,
    Assign,
    Block,
    Bool,
    Break,
    Comment,
    Continue,
    Count,
    Do,
    Element,
    Expr,
    Function,
    If,
    Int,
    Operand,
    Parameter,
    Return,
    Statement,
    Through,
    Update,
    Var,
    While,
    number,
)


class Builder:
    """Collects statements, nests blocks, and makes variables that nobody else uses."""

    def __init__(self, prefix: str = "v") -> None:
        self.statements: list[Statement] = []
        self._prefix = prefix
        self._named = 0
        self.loops = 0
        """How many loops stand around what is written now."""

    @property
    def block(self) -> Block:
        """What was written."""
        return tuple(self.statements)

    # Statements

    def set(self, target: Var | Element, value: Operand) -> None:
        """`target = value`"""
        self.statements.append(Assign(target, number(value)))

    def update(self, target: Var | Element, operator: Operator, value: Operand) -> None:
        """`target += value`, or with another operator"""
        self.statements.append(Update(target, operator, number(value)))

    def do(self, call: Expr) -> None:
        """A call whose result nobody needs."""
        self.statements.append(Do(call))

    def leave(self, value: Operand) -> None:
        """`return value`"""
        self.statements.append(Return(number(value)))

    def stop(self) -> None:
        """`break`"""
        self.statements.append(Break())

    def resume(self) -> None:
        """`continue`"""
        self.statements.append(Continue())

    def comment(self, text: str) -> None:
        """A line for people, who see it in the Python text."""
        self.statements.append(Comment(text))

    # Blocks

    def when(self, condition: Expr) -> Inside:
        """What is written inside happens if the condition is not 0."""
        return Inside(self, lambda block: If(condition, block))

    def otherwise(self) -> Inside:
        """What is written inside happens if the condition of the `when` just before is 0."""
        before = self.statements.pop()
        assert isinstance(before, If)
        return Inside(self, lambda block: If(before.condition, before.then, block))

    def repeat(self, condition: Expr) -> Inside:
        """What is written inside happens for as long as the condition is not 0."""
        return Inside(self, lambda block: While(condition, block), loop=True)

    def count(self, variable: Var, end: Operand, first: Operand = ZERO) -> Inside:
        """What is written inside happens for each number from `first` on, below `end`."""
        return Inside(self, lambda block: Count(variable, number(first), number(end), block), loop=True)

    def through(self, variable: Var, values: Sequence[Operand]) -> Inside:
        """What is written inside happens for each of the values."""
        return Inside(self, lambda block: Through(variable, tuple(map(number, values)), block), loop=True)

    def aside(self) -> Inside:
        """What is written inside goes into a list of its own, to be put where it belongs with `put`."""
        return Inside(self)

    def put(self, statements: Sequence[Statement]) -> None:
        """Statements that were written aside."""
        self.statements.extend(statements)

    # Variables

    def name(self) -> Var:
        """A new variable."""
        self._named += 1
        return Var(f"{self._prefix}{self._named}")

    def named(self, value: Expr) -> Var | Int | Bool:
        """A variable with a value; the value itself where it is a variable or a number already."""
        if isinstance(value, Var | Int | Bool):
            return value
        new = self.name()
        self.set(new, value)
        return new

    def inner(self) -> Builder:
        """For a part of the function that becomes one of its own: a builder with variables of its own."""
        other = Builder(self._prefix)
        other._named = self._named
        return other

    def knows(self, name: str) -> bool:
        """Is this a variable that was made here?"""
        number = name.removeprefix(self._prefix)
        return name != number and number.isdigit() and 0 < int(number) <= self._named


class Inside(AbstractContextManager[list[Statement]]):
    """A block: what is written in it is the list that it gives, of which a statement is made at the end."""

    __slots__ = ("_before", "_builder", "_loop", "_made", "_statements")

    def __init__(
        self, builder: Builder, made: Callable[[Block], Statement] | None = None, *, loop: bool = False
    ) -> None:
        self._builder, self._made, self._loop = builder, made, loop
        self._statements: list[Statement] = []

    def __enter__(self) -> list[Statement]:
        builder = self._builder
        self._before, builder.statements = builder.statements, self._statements
        builder.loops += self._loop
        return self._statements

    def __exit__(self, *_: object) -> None:
        builder = self._builder
        builder.statements = self._before
        builder.loops -= self._loop
        if self._made is not None:
            builder.statements.append(self._made(tuple(self._statements)))


def function(name: str, parameters: Sequence[Parameter], body: Sequence[Statement], doc: str = "") -> Function:
    """A function."""
    return Function(name, tuple(parameters), tuple(body), doc)


def rows(*names: str) -> tuple[Parameter, ...]:
    """Parameters that are rows of words."""
    return tuple(Parameter(name, "words") for name in names)


def numbers(*names: str) -> tuple[Parameter, ...]:
    """Parameters that are numbers."""
    return tuple(Parameter(name, "number") for name in names)
