"""The operators of programs, on numbers that are known.

A new operator needs a line here, one in each printer, and one where it is read from Python.
"""

from __future__ import annotations

from typing import Literal, assert_never

from fsmdsl.syntax.operators import number

Operator = Literal["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>"]
"""`//` and `%` round down, as in Python. `<<` and `>>` by 64 bits or more mean nothing."""


def means_something(operator: Operator, right: int) -> bool:
    """Is an operator defined where this is its right side?"""
    match operator:
        case "<<" | ">>":
            return 0 <= right < 64
        case "//" | "%":
            return right != 0
        case "+" | "-" | "*" | "&" | "|" | "^":
            return True
        case _:
            assert_never(operator)


def combined(operator: Operator, a: int, b: int) -> int:
    """The result for two numbers."""
    match operator:
        case "+" | "-" | "*" | "%":
            return number(operator, a, b)
        case "//":
            return number("/", a, b)
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "<<":
            return a << b
        case ">>":
            return a >> b
        case _:
            assert_never(operator)
