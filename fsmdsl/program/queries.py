"""What a program says, asked of its nodes: names, calls, loops, and the same program with values put in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import assert_never

from fsmdsl.program import nodes as ir

# Walking -------------------------------------------------------------------------------------------------------------


def parts_of(x: ir.Expr) -> tuple[ir.Expr, ...]:
    """The expressions that an expression is made of."""
    match x:
        case ir.Int() | ir.Bool() | ir.Var():
            return ()
        case ir.Element(array, index):
            return (array, index)
        case ir.Binary(_, left, right):
            return (left, right)
        case ir.Not(operand):
            return (operand,)
        case ir.Compare(first, others):
            return (first, *(y for _, y in others))
        case ir.Logic(_, operands) | ir.Call(_, operands):
            return operands
        case ir.Choice(condition, yes, no):
            return (condition, yes, no)
        case _:
            assert_never(x)


def subexpressions(x: ir.Expr) -> Iterator[ir.Expr]:
    """An expression and all that it is made of."""
    stack = [x]
    while stack:
        x = stack.pop()
        yield x
        stack.extend(reversed(parts_of(x)))


def statements(block: Iterable[ir.Statement]) -> Iterator[ir.Statement]:
    """All statements, those of inner blocks too, in order."""
    for x in block:
        yield x
        for inner in blocks_of(x):
            yield from statements(inner)


def blocks_of(x: ir.Statement) -> tuple[ir.Block, ...]:
    """The blocks that a statement has."""
    match x:
        case ir.If(_, then, otherwise):
            return (then, otherwise)
        case ir.While(_, body) | ir.Count(_, _, _, body) | ir.Through(_, _, body):
            return (body,)
        case ir.Assign() | ir.Update() | ir.Do() | ir.Return() | ir.Break() | ir.Continue() | ir.Comment():
            return ()
        case _:
            assert_never(x)


def values_of(x: ir.Statement) -> tuple[ir.Expr, ...]:
    """The expressions of a statement itself: what it reads, and places that it writes."""
    match x:
        case ir.Assign(target, value) | ir.Update(target, _, value):
            return (target, value)
        case ir.Do(value) | ir.Return(value) | ir.If(value, _, _) | ir.While(value, _):
            return (value,)
        case ir.Count(variable, first, end, _):
            return (variable, first, end)
        case ir.Through(variable, values, _):
            return (variable, *values)
        case ir.Break() | ir.Continue() | ir.Comment():
            return ()
        case _:
            assert_never(x)


def expressions(block: ir.Block) -> Iterator[ir.Expr]:
    """All expressions of a block, in the order of its statements."""
    for statement in statements(block):
        for value in values_of(statement):
            yield from subexpressions(value)


# Names ---------------------------------------------------------------------------------------------------------------


def variables(block: ir.Block) -> dict[str, None]:
    """The names of all variables, in the order in which they come first."""
    return dict.fromkeys(x.name for x in expressions(block) if isinstance(x, ir.Var))


def assigned(block: ir.Block) -> set[str]:
    """The names of the variables that change."""
    names: set[str] = set()
    for x in statements(block):
        match x:
            case ir.Assign(ir.Var(name)) | ir.Update(ir.Var(name)) | ir.Count(ir.Var(name)) | ir.Through(ir.Var(name)):
                names.add(name)
            case _:
                pass
    return names


def constants_of(f: ir.Function) -> tuple[str, ...]:
    """The names that stand for numbers known when a module is compiled: neither parameters nor assigned."""
    own = {p.name for p in f.parameters} | assigned(f.body)
    return tuple(name for name in variables(f.body) if name not in own)


def bits_of(f: ir.Function) -> int:
    """Of the number in it with the most."""
    return max((x.value.bit_length() for x in expressions(f.body) if isinstance(x, ir.Int)), default=0)


def calls(block: ir.Block) -> dict[str, None]:
    """The functions that are called, in the order in which they come first."""
    return dict.fromkeys(x.function for x in expressions(block) if isinstance(x, ir.Call))


# Putting in ----------------------------------------------------------------------------------------------------------

Rule = Callable[[ir.Expr], ir.Expr]
"""What stands for an expression whose parts are in place already."""


def bound(f: ir.Function, constants: Mapping[str, int], names: Mapping[str, str] | None = None) -> ir.Function:
    """A function with numbers put in for variables, and functions, itself too, called by other names."""
    numbers, called = {name: ir.Int(n) for name, n in constants.items()}, names or {}

    def rule(x: ir.Expr) -> ir.Expr:
        match x:
            case ir.Var(name):
                return numbers.get(name, x)
            case ir.Call(name, arguments):
                return ir.Call(called.get(name, name), arguments)
            case _:
                return x

    return ir.Function(called.get(f.name, f.name), f.parameters, _block(f.body, rule), f.doc)


def rewritten(x: ir.Expr, rule: Rule) -> ir.Expr:
    """An expression, rewritten from the innermost parts on; arrays keep their names. What is known then is computed."""
    return rule(_parts(x, lambda y: rewritten(y, rule)))


def _parts(x: ir.Expr, new: Rule) -> ir.Expr:
    """An expression with other parts."""
    match x:
        case ir.Int() | ir.Bool() | ir.Var():
            return x
        case ir.Element(array, index):
            return ir.Element(array, new(index))
        case ir.Binary(operator, left, right):
            return ir.binary(operator, new(left), new(right))
        case ir.Not(operand):
            return ir.Not(new(operand))
        case ir.Compare(first, others):
            return ir.Compare(new(first), tuple((c, new(y)) for c, y in others))
        case ir.Logic(operator, operands):
            return ir.Logic(operator, tuple(map(new, operands)))
        case ir.Call(name, arguments):
            return ir.Call(name, tuple(map(new, arguments)))
        case ir.Choice(condition, yes, no):
            return ir.Choice(new(condition), new(yes), new(no))
        case _:
            assert_never(x)


def _block(block: ir.Block, rule: Rule) -> ir.Block:
    return tuple(_statement(x, lambda y: rewritten(y, rule), lambda inner: _block(inner, rule)) for x in block)


def _statement(x: ir.Statement, new: Rule, inner: Callable[[ir.Block], ir.Block]) -> ir.Statement:
    """A statement with other expressions; what is set keeps its name."""
    match x:
        case ir.Assign(target, value):
            return ir.Assign(_target(target, new), new(value))
        case ir.Update(target, operator, value):
            return ir.Update(_target(target, new), operator, new(value))
        case ir.Do(value):
            return ir.Do(new(value))
        case ir.If(condition, then, otherwise):
            return ir.If(new(condition), inner(then), inner(otherwise))
        case ir.While(condition, body):
            return ir.While(new(condition), inner(body))
        case ir.Count(variable, first, end, body):
            return ir.Count(variable, new(first), new(end), inner(body))
        case ir.Through(variable, values, body):
            return ir.Through(variable, tuple(map(new, values)), inner(body))
        case ir.Return(value):
            return ir.Return(new(value))
        case ir.Break() | ir.Continue() | ir.Comment():
            return x
        case _:
            assert_never(x)


def _target(x: ir.Var | ir.Element, new: Rule) -> ir.Var | ir.Element:
    return x if isinstance(x, ir.Var) else ir.Element(x.array, new(x.index))
