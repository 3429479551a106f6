"""A program as Python: what plain searches run, and what people read.

Names are those of the program; nothing of a spec's text gets here but in comments and docstrings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    Operator,
    Return,
    Statement,
    Through,
    Together,
    Update,
    Var,
    While,
)

CHOICE, OR, AND, NOT, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(13)
"""How tightly expressions bind, as in Python's grammar."""

BINDING: dict[Operator, int] = {
    "|": BIT_OR, "^": BIT_XOR, "&": BIT_AND, "<<": SHIFT, ">>": SHIFT, "+": SUM, "-": SUM, "*": PRODUCT, "//": PRODUCT,
    "%": PRODUCT,
}  # fmt: skip


def module(functions: Iterable[Function]) -> str:
    """The text of a module."""
    return "\n\n".join(map(function, functions))


def function(f: Function) -> str:
    """The text of a function."""
    lines = [f"def {f.name}({', '.join(p.name for p in f.parameters)}):"]
    if f.doc:
        lines.append(f'    """{f.doc}"""')
    lines += _block(f.body, "    ")
    if not (f.body and isinstance(f.body[-1], Return)):
        lines.append("    return 0")
    return "\n".join([*lines, ""])


# Statements ----------------------------------------------------------------------------------------------------------


def _block(statements: Block, indent: str) -> Iterator[str]:
    bare = True
    for x in statements:
        bare = bare and isinstance(x, Comment)
        yield from _statement(x, indent)
    if bare:
        yield f"{indent}pass"


def _statement(x: Statement, indent: str) -> Iterator[str]:
    inner = indent + "    "
    match x:
        case Assign(target, value):
            yield f"{indent}{expression(target)} = {expression(value)}"
        case Update(target, operator, value):
            yield f"{indent}{expression(target)} {operator}= {expression(value)}"
        case Together(targets, values):
            yield f"{indent}{', '.join(map(expression, targets))} = {', '.join(map(expression, values))}"
        case Do(call):
            yield f"{indent}{expression(call)}"
        case If(condition, then, otherwise):
            yield f"{indent}if {expression(condition)}:"
            yield from _block(then, inner)
            if otherwise:
                yield f"{indent}else:"
                yield from _block(otherwise, inner)
        case While(condition, body):
            yield f"{indent}while {expression(condition)}:"
            yield from _block(body, inner)
        case Count(variable, first, end, body):
            bounds = expression(end) if first == Int(0) else f"{expression(first)}, {expression(end)}"
            yield f"{indent}for {variable.name} in range({bounds}):"
            yield from _block(body, inner)
        case Through(variable, listed, body):
            yield f"{indent}for {variable.name} in ({''.join(f'{expression(v)}, ' for v in listed)}):"
            yield from _block(body, inner)
        case Return(value):
            yield f"{indent}return {expression(value)}"
        case Break():
            yield f"{indent}break"
        case Continue():
            yield f"{indent}continue"
        case Comment(text):
            yield f"{indent}# {text}"
        case _:
            assert_never(x)


# Expressions ---------------------------------------------------------------------------------------------------------


def expression(x: Expr, outer: int = CHOICE) -> str:
    """The text of an expression, in parentheses where it binds less tightly than what is around it."""
    text, own = _expression(x)
    return f"({text})" if own < outer else text


def _expression(x: Expr) -> tuple[str, int]:
    match x:
        case Int(value):
            return str(value), ATOM if value >= 0 else UNARY
        case Bool(value):
            return str(value), ATOM
        case Var(name):
            return name, ATOM
        case Element(array, index):
            return f"{array.name}[{expression(index)}]", ATOM
        case Binary(operator, left, right):
            own = BINDING[operator]
            return f"{expression(left, own)} {operator} {expression(right, own + 1)}", own
        case Negative(operand):
            return f"-{expression(operand, UNARY)}", UNARY
        case Inverted(operand):
            return f"~{expression(operand, UNARY)}", UNARY
        case Not(operand):
            return f"not {expression(operand, NOT)}", NOT
        case Compare(first, others):
            rest = "".join(f" {c} {expression(y, COMPARISON + 1)}" for c, y in others)
            return f"{expression(first, COMPARISON + 1)}{rest}", COMPARISON
        case All(operands):
            return " and ".join(expression(y, AND + 1) for y in operands), AND
        case Any(operands):
            return " or ".join(expression(y, OR + 1) for y in operands), OR
        case Choice(condition, yes, no):
            return f"{expression(yes, OR)} if {expression(condition, OR)} else {expression(no)}", CHOICE
        case Call(name, arguments):
            return f"{name}({', '.join(map(expression, arguments))})", ATOM
        case _:
            assert_never(x)
