"""The conditions of `python-statemachine`: texts in the library's own small language, and names of callables."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from fsmdsl.interop.imports.python_values import without_warnings
from fsmdsl.interop.imports.table import Condition


def conditions_of(text: str, holds: bool) -> Iterator[Condition]:
    """The conditions of an expression: `a and !b` are two; what must not hold is not split at `and`, but at `or`."""
    try:
        with without_warnings():
            tree = ast.parse(_spelled(text), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        yield Condition(text, holds)
        return
    yield from _split(tree, holds)


def _spelled(text: str) -> str:
    """The expression with Python's operators: `!` is `not`, `^` is `and`, `v` is `or`."""
    signs = {"!": " not ", "^": " and ", "v": " or "}
    return re.sub(r"!(?!=)|\^|\bv\b", lambda sign: signs[sign[0]], text).strip()


def _split(node: ast.expr, holds: bool) -> Iterator[Condition]:
    match node:
        case ast.BoolOp(op=ast.And(), values=parts) if holds:
            for part in parts:
                yield from _split(part, holds)
        case ast.BoolOp(op=ast.Or(), values=parts) if not holds:
            for part in parts:
                yield from _split(part, holds)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield from _split(operand, not holds)
        case _:
            yield Condition(ast.unparse(node), holds)
