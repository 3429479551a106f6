"""A program as Python: what plain searches run, and what people read.

Names are those of the program; nothing of a spec's text gets here but in comments and docstrings.
"""

from __future__ import annotations

from typing import assert_never

from fsmdsl.program import nodes as ir
from fsmdsl.program.arithmetic import Operator

CHOICE, OR, AND, NOT, COMPARISON, BIT_OR, BIT_XOR, BIT_AND, SHIFT, SUM, PRODUCT, UNARY, ATOM = range(13)
"""How tightly expressions bind, as in Python's grammar."""

BINDING: dict[Operator, int] = {
    "|": BIT_OR, "^": BIT_XOR, "&": BIT_AND, "<<": SHIFT, ">>": SHIFT, "+": SUM, "-": SUM, "*": PRODUCT, "//": PRODUCT,
    "%": PRODUCT,
}  # fmt: skip


def function(f: ir.Function) -> str:
    """The text of a function."""
    lines = [f"def {f.name}({', '.join(p.name for p in f.parameters)}):"]
    if f.doc:
        lines.append(f'    """{f.doc}"""')
    _block(lines, f.body, "    ")
    if not (f.body and isinstance(f.body[-1], ir.Return)):
        lines.append("    return 0")
    return "\n".join([*lines, ""])


# Statements ----------------------------------------------------------------------------------------------------------


def _block(lines: list[str], statements: ir.Block, indent: str) -> None:
    for x in statements:
        _statement(lines, x, indent)
    if all(isinstance(x, ir.Comment) for x in statements):
        lines.append(f"{indent}pass")


def _statement(lines: list[str], x: ir.Statement, indent: str) -> None:
    match x:
        case ir.Assign(target, value):
            lines.append(f"{indent}{expression(target)} = {expression(value)}")
        case ir.If(condition, then, otherwise):
            _headed(lines, f"{indent}if {expression(condition)}:", then, indent)
            if otherwise:
                _headed(lines, f"{indent}else:", otherwise, indent)
        case ir.Update(target, operator, value):
            lines.append(f"{indent}{expression(target)} {operator}= {expression(value)}")
        case ir.Do(call):
            lines.append(f"{indent}{expression(call)}")
        case ir.While(condition, body):
            _headed(lines, f"{indent}while {expression(condition)}:", body, indent)
        case ir.Count(variable, first, end, body):
            bounds = expression(end) if first == ir.ZERO else f"{expression(first)}, {expression(end)}"
            _headed(lines, f"{indent}for {variable.name} in range({bounds}):", body, indent)
        case ir.Through(variable, values, body):
            several = "".join(f"{expression(v)}, " for v in values)
            _headed(lines, f"{indent}for {variable.name} in ({several}):", body, indent)
        case ir.Return(value):
            lines.append(f"{indent}return {expression(value)}")
        case ir.Break():
            lines.append(f"{indent}break")
        case ir.Continue():
            lines.append(f"{indent}continue")
        case ir.Comment(text):
            lines.append(f"{indent}# {text}")
        case _:
            assert_never(x)


def _headed(lines: list[str], head: str, body: ir.Block, indent: str) -> None:
    lines.append(head)
    _block(lines, body, indent + "    ")


# Expressions ---------------------------------------------------------------------------------------------------------


def expression(x: ir.Expr, outer: int = CHOICE) -> str:
    """The text of an expression, in parentheses where it binds less tightly than what is around it."""
    own = ATOM
    match x:  # what is most frequent comes first
        case ir.Var():
            return x.name
        case ir.Int():
            text, own = str(x.value), ATOM if x.value >= 0 else UNARY
        case ir.Element():
            return f"{x.array.name}[{expression(x.index)}]"
        case ir.Binary():
            own = BINDING[x.operator]
            text = f"{expression(x.left, own)} {x.operator} {expression(x.right, own + 1)}"
        case ir.Compare():
            rest = "".join([f" {c} {expression(y, COMPARISON + 1)}" for c, y in x.others])
            text, own = f"{expression(x.first, COMPARISON + 1)}{rest}", COMPARISON
        case ir.Call():
            return f"{x.function}({', '.join(map(expression, x.arguments))})"
        case ir.Logic(operator, operands):
            own = AND if operator == "and" else OR
            text = f" {operator} ".join([expression(y, own + 1) for y in operands])
        case ir.Not(operand):
            text, own = f"not {expression(operand, NOT)}", NOT
        case ir.Choice(condition, yes, no):
            text = f"{expression(yes, OR)} if {expression(condition, OR)} else {expression(no)}"
            own = CHOICE
        case ir.Bool(value):
            return str(value)
        case _:
            assert_never(x)
    return f"({text})" if own < outer else text
