"""What a program says, asked of its nodes: names, calls, loops, and the same program with values put in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import assert_never

from fsmdsl.explore.program.nodes import (
    All,
    Any,
    Assign,
    Binary,
    Block,
    Bool,
    Break,
    Call,
    Choice,
    Comment,
    Compare,
    Continue,
    Count,
    Do,
    Element,
    Expr,
    Function,
    If,
    Int,
    Inverted,
    Negative,
    Not,
    Return,
    Statement,
    Through,
    Together,
    Update,
    Var,
    While,
)

# Walking -------------------------------------------------------------------------------------------------------------


def parts_of(x: Expr) -> tuple[Expr, ...]:
    """The expressions that an expression is made of."""
    match x:
        case Int() | Bool() | Var():
            return ()
        case Element(array, index):
            return (array, index)
        case Binary(_, left, right):
            return (left, right)
        case Negative(operand) | Inverted(operand) | Not(operand):
            return (operand,)
        case Compare(first, others):
            return (first, *(y for _, y in others))
        case All(operands) | Any(operands) | Call(_, operands):
            return operands
        case Choice(condition, yes, no):
            return (condition, yes, no)
        case _:
            assert_never(x)


def subexpressions(x: Expr) -> Iterator[Expr]:
    """An expression and all that it is made of."""
    stack = [x]
    while stack:
        x = stack.pop()
        yield x
        stack.extend(reversed(parts_of(x)))


def statements(block: Block) -> Iterator[Statement]:
    """All statements, those of inner blocks too, in order."""
    for x in block:
        yield x
        for inner in blocks_of(x):
            yield from statements(inner)


def blocks_of(x: Statement) -> tuple[Block, ...]:
    """The blocks that a statement has."""
    match x:
        case If(_, then, otherwise):
            return (then, otherwise)
        case While(_, body) | Count(_, _, _, body) | Through(_, _, body):
            return (body,)
        case Assign() | Update() | Together() | Do() | Return() | Break() | Continue() | Comment():
            return ()
        case _:
            assert_never(x)


def values_of(x: Statement) -> tuple[Expr, ...]:
    """The expressions of a statement itself: what it reads, and places that it writes."""
    match x:
        case Assign(target, value) | Update(target, _, value):
            return (target, value)
        case Together(targets, values):
            return (*targets, *values)
        case Do(value) | Return(value) | If(value, _, _) | While(value, _):
            return (value,)
        case Count(variable, first, end, _):
            return (variable, first, end)
        case Through(variable, listed, _):
            return (variable, *listed)
        case Break() | Continue() | Comment():
            return ()
        case _:
            assert_never(x)


def expressions(block: Block) -> Iterator[Expr]:
    """All expressions of a block, in the order of its statements."""
    for statement in statements(block):
        for value in values_of(statement):
            yield from subexpressions(value)


# Names ---------------------------------------------------------------------------------------------------------------


def variables(block: Block) -> dict[str, None]:
    """The names of all variables, in the order in which they come first."""
    return dict.fromkeys(x.name for x in expressions(block) if isinstance(x, Var))


def assigned(block: Block) -> set[str]:
    """The names of the variables that change."""
    names: set[str] = set()
    for x in statements(block):
        match x:
            case Assign(Var(name)) | Update(Var(name)) | Count(Var(name)) | Through(Var(name)):
                names.add(name)
            case Together(targets):
                names.update(target.name for target in targets)
            case _:
                pass
    return names


def constants_of(f: Function) -> tuple[str, ...]:
    """The names that stand for numbers known when a module is compiled: neither parameters nor assigned."""
    own = {p.name for p in f.parameters} | assigned(f.body)
    return tuple(name for name in variables(f.body) if name not in own)


def calls(block: Block) -> dict[str, None]:
    """The functions that are called, in the order in which they come first."""
    return dict.fromkeys(x.function for x in expressions(block) if isinstance(x, Call))


def loops(block: Block) -> bool:
    """Is there a loop?"""
    return any(isinstance(x, While | Count | Through) for x in statements(block))


# Putting in ----------------------------------------------------------------------------------------------------------


def replaced(x: Expr, values: Callable[[Var], Expr]) -> Expr:
    """An expression with something else for its variables; arrays keep their names."""
    match x:
        case Int() | Bool():
            return x
        case Var():
            return values(x)
        case Element(array, index):
            return Element(array, replaced(index, values))
        case Binary(operator, left, right):
            return Binary(operator, replaced(left, values), replaced(right, values))
        case Negative(operand):
            return -replaced(operand, values)
        case Inverted(operand):
            return Inverted(replaced(operand, values))
        case Not(operand):
            return Not(replaced(operand, values))
        case Compare(first, others):
            return Compare(replaced(first, values), tuple((c, replaced(y, values)) for c, y in others))
        case All(operands):
            return All(_each(operands, values))
        case Any(operands):
            return Any(_each(operands, values))
        case Call(name, arguments):
            return Call(name, _each(arguments, values))
        case Choice(condition, yes, no):
            return Choice(replaced(condition, values), replaced(yes, values), replaced(no, values))
        case _:
            assert_never(x)


def _each(operands: Iterable[Expr], values: Callable[[Var], Expr]) -> tuple[Expr, ...]:
    return tuple(replaced(x, values) for x in operands)
