"""How wide the numbers of a program are in LLVM's language, and what its functions and instructions are called.

Where a value needs more than a word, the functions of a system and its rows have wider numbers. Kernels, which know
words of states and numbers of states, keep theirs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from fsmdsl.dataclasses import dataclass
from fsmdsl.program import nodes as ir

ELEMENTS: Mapping[ir.Type, int] = {"words": 64, "halves": 32, "ints": 32}
"""Bits of an array's elements; those of a row are as wide as the program's numbers."""

EXTREMES = {"min": "llvm.smin", "max": "llvm.smax"}

BITS = {"ones": ("llvm.ctpop", ""), "lowest": ("llvm.cttz", ", i1 false")}
"""Functions of the library that are one instruction."""

COPY = "llvm.memcpy.p0.p0.i64"

NARROW = 64
"""Bits of a number where no value needs more; also of a product, and of what is divided, as no range needs more."""


def declarations(width: int) -> str:
    """What a module says of instructions that are called like functions, for its numbers and those of kernels."""
    lines = [f"declare void @{COPY}(ptr, ptr, i64, i1)\n"]
    for i in dict.fromkeys((f"i{NARROW}", f"i{width}")):
        lines += [f"declare {i} @{name}.{i}({i}, {i})\n" for name in EXTREMES.values()]
        lines += [f"declare {i} @llvm.ctpop.{i}({i})\n", f"declare {i} @llvm.cttz.{i}({i}, i1)\n"]
    return "".join(lines)


def symbol(name: str, types: Sequence[ir.Type]) -> str:
    """What a function is called inside a module, where it is given such arrays: there is one for each kind of them."""
    return f"fsm.{name}.{''.join(x[0] for x in types if x != 'number')}"


@dataclass(frozen=True, slots=True)
class Widths:
    """Bits of the numbers of a module."""

    row: int = NARROW
    """Those in rows, and in functions of the system."""
    wide: frozenset[str] = frozenset()
    """The functions of the system, where their numbers are wider than those of kernels."""

    def of(self, function: str) -> int:
        """Those in a function."""
        return self.row if function in self.wide else NARROW

    def types(self, parameters: Iterable[ir.Type]) -> tuple[ir.Type, ...]:
        """The types of parameters; a row has words, where those are as wide."""
        return tuple("words" if x == "row" and self.row == NARROW else x for x in parameters)


def type_of(of: ir.Type, width: int) -> str:
    """The type of a parameter."""
    return f"i{width}" if of == "number" else "ptr"


Called: TypeAlias = tuple[str, tuple[ir.Type, ...]]
"""A function, and the types of what it is given."""
