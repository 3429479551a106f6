"""Programs of whole numbers and arrays of them: what lowering makes, printed as Python or in LLVM's language.

Numbers have 64 bits with the sign, or as many as a program needs; a comparison is worth 1 or 0. Arrays come as
parameters alone; two of them are the same array or have nothing in common. A program is data: nothing about it is ever
read out of its printed text.

Expressions combine with the operators of Python; `==` compares nodes, so comparisons are `equals` and `differs`.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from fsmdsl.program.arithmetic import Operator, combined, means_something
from fsmdsl.syntax.nodes import node

Type = Literal["number", "row", "words", "halves", "ints"]
"""Of a parameter: a number; an array of such numbers; one of numbers with 64 bits, 32 without sign, 32 with a sign."""

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]


Node: TypeAlias = Any
"""An expression, for the type checker: `Combined` is a base of each, and none of them by itself."""


class Combined:
    """Operators that make nodes."""

    __slots__ = ()

    def __add__(self: Node, other: Operand) -> Expr:
        return binary("+", self, number(other))

    def __radd__(self: Node, other: int) -> Expr:
        return binary("+", Int(other), self)

    def __sub__(self: Node, other: Operand) -> Expr:
        return binary("-", self, number(other))

    def __rsub__(self: Node, other: int) -> Expr:
        return binary("-", Int(other), self)

    def __mul__(self: Node, other: Operand) -> Expr:
        return binary("*", self, number(other))

    def __rmul__(self: Node, other: int) -> Expr:
        return binary("*", Int(other), self)

    def __floordiv__(self: Node, other: Operand) -> Expr:
        return Binary("//", self, number(other))

    def __mod__(self: Node, other: Operand) -> Expr:
        return Binary("%", self, number(other))

    def __and__(self: Node, other: Operand) -> Expr:
        return binary("&", self, number(other))

    def __or__(self: Node, other: Operand) -> Expr:
        return binary("|", self, number(other))

    def __lshift__(self: Node, other: Operand) -> Expr:
        return binary("<<", self, number(other))

    def __rlshift__(self: Node, other: int) -> Expr:
        return binary("<<", Int(other), self)

    def __rshift__(self: Node, other: Operand) -> Expr:
        return binary(">>", self, number(other))

    def __rrshift__(self: Node, other: int) -> Expr:
        return Binary(">>", Int(other), self)

    def __neg__(self: Node) -> Expr:
        return binary("-", ZERO, self)

    def __invert__(self: Node) -> Expr:
        return binary("^", self, Int(-1))

    def __lt__(self: Node, other: Operand) -> Expr:
        return Compare(self, (("<", number(other)),))

    def __le__(self: Node, other: Operand) -> Expr:
        return Compare(self, (("<=", number(other)),))

    def __gt__(self: Node, other: Operand) -> Expr:
        return Compare(self, ((">", number(other)),))

    def __ge__(self: Node, other: Operand) -> Expr:
        return Compare(self, ((">=", number(other)),))

    def equals(self: Node, other: Operand) -> Expr:
        """Is it the same number?"""
        return Compare(self, (("==", number(other)),))

    def differs(self: Node, other: Operand) -> Expr:
        """Is it another number?"""
        return Compare(self, (("!=", number(other)),))


# Expressions ---------------------------------------------------------------------------------------------------------


@node
class Int(Combined):
    """A number that is known."""

    value: int


@node
class Bool(Combined):
    """Always true, or never."""

    value: bool


@node
class Var(Combined):
    """A variable, a parameter, or a constant that is put in where a module is compiled."""

    name: str

    def __getitem__(self, index: Operand) -> Element:
        return Element(self, number(index))


@node
class Element(Combined):
    """An element of an array."""

    array: Var
    index: Expr


@node
class Binary(Combined):
    """Two numbers combined."""

    operator: Operator
    left: Expr
    right: Expr


@node
class Not(Combined):
    """Is it 0?"""

    operand: Expr


@node
class Compare(Combined):
    """A comparison, or a chain of them: each value is computed once."""

    first: Expr
    others: tuple[tuple[Comparison, Expr], ...]


@node
class Logic(Combined):
    """The first operand that is 0 (`and`) or not 0 (`or`), or the last: what stands behind it is not computed."""

    operator: Literal["and", "or"]
    operands: tuple[Expr, ...]


@node
class Choice(Combined):
    """One of two values; the other is not computed."""

    condition: Expr
    yes: Expr
    no: Expr


@node
class Call(Combined):
    """What a function returns; `min` and `max` are known, others are functions of the program."""

    function: str
    arguments: tuple[Expr, ...]


Expr: TypeAlias = Int | Bool | Var | Element | Binary | Not | Compare | Logic | Choice | Call

Operand: TypeAlias = Expr | int


# Statements ----------------------------------------------------------------------------------------------------------


@node
class Assign:
    """A variable or an element takes a value."""

    target: Var | Element
    value: Expr


@node
class Update:
    """A variable or an element is combined with a value."""

    target: Var | Element
    operator: Operator
    value: Expr


@node
class Do:
    """A call whose result is discarded."""

    call: Expr


@node
class If:
    """One of two blocks."""

    condition: Expr
    then: Block
    otherwise: Block = ()


@node
class While:
    """A block for as long as the condition is not 0."""

    condition: Expr
    body: Block


@node
class Count:
    """A block for each number from `first` on, below `end`; both are computed once."""

    variable: Var
    first: Expr
    end: Expr
    body: Block


@node
class Through:
    """A block for each of the values listed."""

    variable: Var
    values: tuple[Expr, ...]
    body: Block


@node
class Return:
    """The function ends, with a result."""

    value: Expr


@node
class Break:
    """The innermost loop ends."""


@node
class Continue:
    """The innermost loop goes on with its next turn."""


@node
class Comment:
    """A line for people."""

    text: str


Statement: TypeAlias = Assign | Update | Do | If | While | Count | Through | Return | Break | Continue | Comment

Block: TypeAlias = tuple[Statement, ...]


@node
class Parameter:
    """What a function is given."""

    name: str
    type: Type


@node
class Function:
    """A function; its result is a number, 0 where it ends without one."""

    name: str
    parameters: tuple[Parameter, ...]
    body: Block
    doc: str = ""


# Made ----------------------------------------------------------------------------------------------------------------

ZERO, ONE, TRUE, FALSE = Int(0), Int(1), Bool(True), Bool(False)


def number(x: Operand) -> Expr:
    """A node for a number."""
    match x:
        case int():
            return Int(x)
        case _:
            return x


def binary(operator: Operator, left: Expr, right: Expr) -> Expr:
    """Two numbers combined, computed at once where both are known and the result means something; a shift by 0 is
    left out."""
    match left, right:
        case Int(a), Int(b) if means_something(operator, b):
            return Int(combined(operator, a, b))
        case _, Int(0) if operator in ("<<", ">>"):
            return left
        case _:
            return Binary(operator, left, right)


def all_of(operands: list[Expr]) -> Expr:
    """Are all of them other than 0? True where there are none."""
    return Logic("and", tuple(operands)) if len(operands) > 1 else operands[0] if operands else TRUE


def any_of(operands: list[Expr]) -> Expr:
    """Is any of them other than 0? False where there are none."""
    return Logic("or", tuple(operands)) if len(operands) > 1 else operands[0] if operands else FALSE


def call(function: str, *arguments: Operand) -> Call:
    """A call."""
    return Call(function, tuple(map(number, arguments)))
