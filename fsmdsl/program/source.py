"""Functions written by hand, in the part of Python that a program can say, as a program.

`def f(row: Words, n: int) -> int:`, or `-> None:` where the result is of no interest, with assignments, `if`, `while`,
`for` over a range or a tuple, `return`, and calls of one another and of `min` and `max`. The annotations are the
parameters' types; see `Row`, `Words`, `Halves`, `Ints`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias

from fsmdsl.program import nodes as ir
from fsmdsl.program.arithmetic import Operator
from fsmdsl.program.queries import subexpressions

Row: TypeAlias = Any
"""An array of numbers as wide as those of the program."""
Words: TypeAlias = Any
"""An array of numbers with 64 bits."""
Halves: TypeAlias = Any
"""An array of numbers with 32 bits, without sign."""
Ints: TypeAlias = Any
"""An array of numbers with 32 bits, with a sign."""

TYPES: Mapping[str, ir.Type] = {"int": "number", "Row": "row", "Words": "words", "Halves": "halves", "Ints": "ints"}

OPERATORS: Mapping[type[ast.operator], Operator] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip

COMPARISONS: Mapping[type[ast.cmpop], ir.Comparison] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


_PARSING = Lock()
"""CPython 3.11 may raise `SystemError` where two threads make syntax trees at the same time."""


@lru_cache(64)
def functions_in(path: Path) -> tuple[ir.Function, ...]:
    """The functions of a file. Raises TypeError where one says more than a program can."""
    return functions_of(path.read_text(encoding="utf-8"))


def functions_of(text: str) -> tuple[ir.Function, ...]:
    """The functions of a text; imports, constants and what is written for type checkers alone are left out."""
    with _PARSING:
        tree = ast.parse(text)
    return tuple(_function(x) for x in tree.body if isinstance(x, ast.FunctionDef))


def _function(x: ast.FunctionDef) -> ir.Function:
    parameters = tuple(ir.Parameter(p.arg, _type(p.annotation)) for p in x.args.args)
    return ir.Function(x.name, parameters, _block(x.body), ast.get_docstring(x) or "")


def _type(annotation: ast.expr | None) -> ir.Type:
    if annotation is None:
        return "number"
    return TYPES[ast.unparse(annotation)]


# Statements ----------------------------------------------------------------------------------------------------------


def _block(statements: Sequence[ast.stmt]) -> ir.Block:
    return tuple(y for x in statements for y in _statement(x))


def _statement(x: ast.stmt) -> list[ir.Statement]:
    match x:
        case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)):
            variables, expressions = list(map(_variable, targets)), list(map(expression, values))
            if any(y in variables[:n] for n, value in enumerate(expressions) for y in subexpressions(value)):
                raise TypeError(f"one value depends on another variable that is set: {ast.unparse(x)}")
            return list(map(ir.Assign, variables, expressions))
        case ast.Assign(targets, value):
            return [ir.Assign(_place(target), expression(value)) for target in targets]
        case ast.AnnAssign(target, _, ast.expr() as value):
            return [ir.Assign(_place(target), expression(value))]
        case ast.AugAssign(target, op, value):
            return [ir.Update(_place(target), OPERATORS[type(op)], expression(value))]
        case ast.If(test, body, orelse):
            return [ir.If(expression(test), _block(body), _block(orelse))]
        case ast.While(test, body, []):
            return [ir.While(expression(test), _block(body))]
        case ast.For(target, ast.Call(ast.Name("range"), bounds), body, []):
            first, end = [ast.Constant(0), *bounds][-2:]
            return [ir.Count(_variable(target), expression(first), expression(end), _block(body))]
        case ast.For(target, ast.Tuple(items), body, []):
            return [ir.Through(_variable(target), tuple(map(expression, items)), _block(body))]
        case ast.Return(ast.expr() as value):
            return [ir.Return(expression(value))]
        case ast.Break():
            return [ir.Break()]
        case ast.Continue():
            return [ir.Continue()]
        case ast.Pass() | ast.Expr(ast.Constant(str())):
            return []
        case ast.Expr(value):
            return [ir.Do(expression(value))]
        case _:
            raise TypeError(f"not a statement of whole numbers: {ast.unparse(x)}")


def _variable(x: ast.expr) -> ir.Var:
    if not isinstance(x, ast.Name):
        raise TypeError(f"not a variable: {ast.unparse(x)}")
    return ir.Var(x.id)


def _place(x: ast.expr) -> ir.Var | ir.Element:
    return _element(x) if isinstance(x, ast.Subscript) else _variable(x)


def _element(x: ast.Subscript) -> ir.Element:
    return ir.Element(_variable(x.value), expression(x.slice))


# Expressions ---------------------------------------------------------------------------------------------------------


def expression(x: ast.expr) -> ir.Expr:
    """An expression. Raises TypeError where it says more than a program can."""
    match x:
        case ast.Constant(bool() as value):
            return ir.Bool(value)
        case ast.Constant(int() as value):
            return ir.Int(value)
        case ast.Name(name):
            return ir.Var(name)
        case ast.Subscript():
            return _element(x)
        case ast.BinOp(left, op, right) if type(op) in OPERATORS:
            return ir.binary(OPERATORS[type(op)], expression(left), expression(right))
        case ast.UnaryOp(ast.Not(), of):
            return ir.Not(expression(of))
        case ast.UnaryOp(ast.USub(), of):
            return -expression(of)
        case ast.UnaryOp(ast.Invert(), of):
            return ~expression(of)
        case ast.Compare(left, ops, others) if all(type(op) in COMPARISONS for op in ops):
            compared = zip(ops, others, strict=True)
            return ir.Compare(expression(left), tuple((COMPARISONS[type(op)], expression(y)) for op, y in compared))
        case ast.BoolOp(op, values):
            return ir.Logic("and" if isinstance(op, ast.And) else "or", tuple(map(expression, values)))
        case ast.IfExp(test, yes, no):
            return ir.Choice(expression(test), expression(yes), expression(no))
        case ast.Call(ast.Name(name), arguments, []):
            return ir.Call(name, tuple(map(expression, arguments)))
        case _:
            raise TypeError(f"not an expression of whole numbers: {ast.unparse(x)}")


__all__ = ["Halves", "Ints", "Row", "Words", "expression", "functions_in", "functions_of"]
