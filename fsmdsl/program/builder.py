"""Functions built statement by statement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from fsmdsl.program import nodes as ir
from fsmdsl.program.arithmetic import Operator


class Builder:
    """Collects statements, nests blocks, and makes fresh variables."""

    def __init__(self, prefix: str = "v") -> None:
        self.statements: list[ir.Statement] = []
        self._prefix = prefix
        self._count = 0
        self.loops = 0
        """Number of loops around the current position."""

    @property
    def block(self) -> ir.Block:
        """The statements so far."""
        return tuple(self.statements)

    # Statements

    def set(self, target: ir.Var | ir.Element, value: ir.Operand) -> None:
        """`target = value`"""
        self.statements.append(ir.Assign(target, ir.number(value)))

    def update(self, target: ir.Var | ir.Element, operator: Operator, value: ir.Operand) -> None:
        """`target += value`, or with another operator"""
        self.statements.append(ir.Update(target, operator, ir.number(value)))

    def do(self, call: ir.Expr) -> None:
        """A call whose result is discarded."""
        self.statements.append(ir.Do(call))

    def return_(self, value: ir.Operand) -> None:
        """`return value`"""
        self.statements.append(ir.Return(ir.number(value)))

    def break_(self) -> None:
        """`break`"""
        self.statements.append(ir.Break())

    def continue_(self) -> None:
        """`continue`"""
        self.statements.append(ir.Continue())

    def comment(self, text: str) -> None:
        """A comment, for readers of the Python text."""
        self.statements.append(ir.Comment(text))

    # Blocks

    def if_(self, condition: ir.Expr) -> Inside:
        """`if condition:` around the statements written inside."""
        return Inside(self, lambda block: ir.If(condition, block))

    def else_(self) -> Inside:
        """`else:` of the `if_` directly before."""
        before = self.statements.pop()
        assert isinstance(before, ir.If)
        return Inside(self, lambda block: ir.If(before.condition, before.then, block))

    def while_(self, condition: ir.Expr) -> Inside:
        """`while condition:` around the statements written inside."""
        return Inside(self, lambda block: ir.While(condition, block), loop=True)

    def count(self, variable: ir.Var, end: ir.Operand, first: ir.Operand = ir.ZERO) -> Inside:
        """`for variable in range(first, end):` around the statements written inside."""
        return Inside(self, lambda block: ir.Count(variable, ir.number(first), ir.number(end), block), loop=True)

    def for_each(self, variable: ir.Var, values: Sequence[int]) -> Inside:
        """`for variable in values:` around the statements written inside. There is at least one value;
        consecutive values become a `range`."""
        counted = range(values[0], values[0] + len(values))
        if [*values] == [*counted]:
            return self.count(variable, counted.stop, counted.start)
        return Inside(self, lambda block: ir.Through(variable, tuple(map(ir.number, values)), block), loop=True)

    def capture(self) -> Inside:
        """Collects the statements written inside in a list of their own, to be inserted elsewhere with `splice`."""
        return Inside(self)

    def splice(self, statements: Sequence[ir.Statement]) -> None:
        """Append statements from `capture`."""
        self.statements.extend(statements)

    # Variables

    def name(self) -> ir.Var:
        """A new variable."""
        self._count += 1
        return ir.Var(f"{self._prefix}{self._count}")

    def temporary(self, value: ir.Expr) -> ir.Var | ir.Int | ir.Bool:
        """A new variable with this value; the value itself if it already is a variable or a number."""
        match value:
            case ir.Var() | ir.Int() | ir.Bool():
                return value
            case _:
                new = self.name()
                self.set(new, value)
                return new

    def inner(self) -> Builder:
        """A builder for a part that becomes a function of its own. Its variables differ from those here."""
        other = Builder(self._prefix)
        other._count = self._count
        return other


class Inside(AbstractContextManager[list[ir.Statement]]):
    """The context of a block: yields the list of the statements inside, on exit builds the statement around them."""

    __slots__ = ("_before", "_build", "_builder", "_loop", "_statements")

    def __init__(
        self, builder: Builder, build: Callable[[ir.Block], ir.Statement] | None = None, *, loop: bool = False
    ) -> None:
        self._builder, self._build, self._loop = builder, build, loop
        self._statements: list[ir.Statement] = []

    def __enter__(self) -> list[ir.Statement]:
        builder = self._builder
        self._before, builder.statements = builder.statements, self._statements
        builder.loops += self._loop
        return self._statements

    def __exit__(self, *_: object) -> None:
        builder = self._builder
        builder.statements = self._before
        builder.loops -= self._loop
        if self._build is not None:
            builder.statements.append(self._build(tuple(self._statements)))


def function(name: str, parameters: Sequence[ir.Parameter], body: Sequence[ir.Statement], doc: str = "") -> ir.Function:
    """A function."""
    return ir.Function(name, tuple(parameters), tuple(body), doc)


def rows(*names: str) -> tuple[ir.Parameter, ...]:
    """Parameters that are rows of numbers."""
    return tuple(ir.Parameter(name, "row") for name in names)


def words(*names: str) -> tuple[ir.Parameter, ...]:
    """Parameters that are arrays of words."""
    return tuple(ir.Parameter(name, "words") for name in names)


def numbers(*names: str) -> tuple[ir.Parameter, ...]:
    """Parameters that are numbers."""
    return tuple(ir.Parameter(name, "number") for name in names)
