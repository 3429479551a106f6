"""What a program says, asked of its nodes: names, calls, loops, and the same program with values put in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    binary,
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


def loops(block: Sequence[Statement]) -> bool:
    """Is there a loop?"""
    for x in block:
        if isinstance(x, While | Count | Through) or (isinstance(x, If) and (loops(x.then) or loops(x.otherwise))):
            return True
    return False


# Putting in ----------------------------------------------------------------------------------------------------------

Rule = Callable[[Expr], Expr]
"""What stands for an expression whose parts are in place already."""


def replaced(x: Expr, values: Callable[[Var], Expr]) -> Expr:
    """An expression with something else for its variables; arrays keep their names. What is known then is computed."""
    return rewritten(x, lambda y: values(y) if isinstance(y, Var) else y)


def bound(f: Function, constants: Mapping[str, int], names: Mapping[str, str] | None = None) -> Function:
    """A function with numbers put in for variables, and functions, itself too, called by other names."""
    known, called = {name: Int(n) for name, n in constants.items()}, names or {}

    def rule(x: Expr) -> Expr:
        match x:
            case Var(name):
                return known.get(name, x)
            case Call(name, arguments):
                return Call(called.get(name, name), arguments)
            case _:
                return x

    return Function(called.get(f.name, f.name), f.parameters, _block(f.body, rule), f.doc)


def rewritten(x: Expr, rule: Rule) -> Expr:
    """An expression, rewritten from the innermost parts on; arrays keep their names."""
    return rule(_parts(x, lambda y: rewritten(y, rule)))


def _parts(x: Expr, new: Rule) -> Expr:
    """An expression with other parts."""
    match x:
        case Int() | Bool() | Var():
            return x
        case Element(array, index):
            return Element(array, new(index))
        case Binary(operator, left, right):
            return binary(operator, new(left), new(right))
        case Negative(operand):
            return -new(operand)
        case Inverted(operand):
            return Inverted(new(operand))
        case Not(operand):
            return Not(new(operand))
        case Compare(first, others):
            return Compare(new(first), tuple((c, new(y)) for c, y in others))
        case All(operands):
            return All(tuple(map(new, operands)))
        case Any(operands):
            return Any(tuple(map(new, operands)))
        case Call(name, arguments):
            return Call(name, tuple(map(new, arguments)))
        case Choice(condition, yes, no):
            return Choice(new(condition), new(yes), new(no))
        case _:
            assert_never(x)


def _block(block: Block, rule: Rule) -> Block:
    return tuple(_statement(x, lambda y: rewritten(y, rule), lambda inner: _block(inner, rule)) for x in block)


def _statement(x: Statement, new: Rule, inner: Callable[[Block], Block]) -> Statement:
    """A statement with other expressions; what is set keeps its name."""
    match x:
        case Assign(target, value):
            return Assign(_target(target, new), new(value))
        case Update(target, operator, value):
            return Update(_target(target, new), operator, new(value))
        case Together(targets, values):
            return Together(targets, tuple(map(new, values)))
        case Do(value):
            return Do(new(value))
        case If(condition, then, otherwise):
            return If(new(condition), inner(then), inner(otherwise))
        case While(condition, body):
            return While(new(condition), inner(body))
        case Count(variable, first, end, body):
            return Count(variable, new(first), new(end), inner(body))
        case Through(variable, values, body):
            return Through(variable, tuple(map(new, values)), inner(body))
        case Return(value):
            return Return(new(value))
        case Break() | Continue() | Comment():
            return x
        case _:
            assert_never(x)


def _target(x: Var | Element, new: Rule) -> Var | Element:
    return x if isinstance(x, Var) else Element(x.array, new(x.index))
