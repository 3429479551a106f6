"""A program as Python: what plain searches run, and what people read.

Names are those of the program; nothing of a spec's text gets here but in comments and docstrings.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from fsmdsl.explore.program.arithmetic import Operator
from fsmdsl.explore.program.nodes import (
    ZERO,
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
    _block(lines, f.body, "    ")
    if not (f.body and isinstance(f.body[-1], Return)):
        lines.append("    return 0")
    return "\n".join([*lines, ""])


# Statements ----------------------------------------------------------------------------------------------------------


def _block(lines: list[str], statements: Block, indent: str) -> None:
    for x in statements:
        _statement(lines, x, indent)
    if all(isinstance(x, Comment) for x in statements):
        lines.append(f"{indent}pass")


def _statement(lines: list[str], x: Statement, indent: str) -> None:
    match x:
        case Assign(target, value):
            lines.append(f"{indent}{expression(target)} = {expression(value)}")
        case If(condition, then, otherwise):
            _headed(lines, f"{indent}if {expression(condition)}:", then, indent)
            if otherwise:
                _headed(lines, f"{indent}else:", otherwise, indent)
        case Update(target, operator, value):
            lines.append(f"{indent}{expression(target)} {operator}= {expression(value)}")
        case Together(targets, values):
            lines.append(f"{indent}{', '.join(map(expression, targets))} = {', '.join(map(expression, values))}")
        case Do(call):
            lines.append(f"{indent}{expression(call)}")
        case While(condition, body):
            _headed(lines, f"{indent}while {expression(condition)}:", body, indent)
        case Count(variable, first, end, body):
            bounds = expression(end) if first == ZERO else f"{expression(first)}, {expression(end)}"
            _headed(lines, f"{indent}for {variable.name} in range({bounds}):", body, indent)
        case Through(variable, listed, body):
            several = "".join(f"{expression(v)}, " for v in listed)
            _headed(lines, f"{indent}for {variable.name} in ({several}):", body, indent)
        case Return(value):
            lines.append(f"{indent}return {expression(value)}")
        case Break():
            lines.append(f"{indent}break")
        case Continue():
            lines.append(f"{indent}continue")
        case Comment(text):
            lines.append(f"{indent}# {text}")
        case _:
            assert_never(x)


def _headed(lines: list[str], head: str, body: Block, indent: str) -> None:
    lines.append(head)
    _block(lines, body, indent + "    ")


# Expressions ---------------------------------------------------------------------------------------------------------


def expression(x: Expr, outer: int = CHOICE) -> str:
    """The text of an expression, in parentheses where it binds less tightly than what is around it."""
    own = ATOM
    match x:  # what is most frequent comes first
        case Var():
            return x.name
        case Int():
            text, own = str(x.value), ATOM if x.value >= 0 else UNARY
        case Element():
            return f"{x.array.name}[{expression(x.index)}]"
        case Binary():
            own = BINDING[x.operator]
            text = f"{expression(x.left, own)} {x.operator} {expression(x.right, own + 1)}"
        case Compare():
            rest = "".join([f" {c} {expression(y, COMPARISON + 1)}" for c, y in x.others])
            text, own = f"{expression(x.first, COMPARISON + 1)}{rest}", COMPARISON
        case Call():
            return f"{x.function}({', '.join(map(expression, x.arguments))})"
        case All(operands):
            text, own = " and ".join([expression(y, AND + 1) for y in operands]), AND
        case Any(operands):
            text, own = " or ".join([expression(y, OR + 1) for y in operands]), OR
        case Not(operand):
            text, own = f"not {expression(operand, NOT)}", NOT
        case Choice(condition, yes, no):
            text = f"{expression(yes, OR)} if {expression(condition, OR)} else {expression(no)}"
            own = CHOICE
        case Bool(value):
            return str(value)
        case Negative(operand):
            text, own = f"-{expression(operand, UNARY)}", UNARY
        case Inverted(operand):
            text, own = f"~{expression(operand, UNARY)}", UNARY
        case _:
            assert_never(x)
    return f"({text})" if own < outer else text
