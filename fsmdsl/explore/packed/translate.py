"""Functions of whole numbers, written in a little Python, as text in LLVM's language.

Numbers have 64 bits and wrap around; true is 1. Arrays come as arguments alone, and hold 64-bit numbers (`q`) or 32-bit
numbers without sign (`u`); two of them are the same or have nothing in common. There are assignments, `if`, `while`,
`for` over a range or a tuple, `return`, and calls of one another and of `min` and `max`. That is all that `lower` and
the kernels use; what needs no types can be translated word by word, which takes LLVM's compiler a tenth of the time
that a compiler for all of Python takes.

What the processor has an instruction for is said so (`ones`, `lowest`, a loop that copies): code that is compiled in a
hurry is twice as fast for it. A function that was translated before is not translated again: after a change of a spec
few are new.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from fsmdsl.explore.packed.function import HEAD, Function, symbol

KEPT = 4096
"""So many functions are kept translated."""


def translated(texts: Iterable[str], numbers: Mapping[str, int], wanted: Mapping[str, str]) -> str:
    """A module with the functions wanted, by name and kinds of their parameters: `i` a number, else an array. `numbers`
    are the names in the texts that stand for numbers. Raises TypeError where a text says more than is understood."""
    listed = [part for text in texts for part in functions_of(text)]
    definitions = {part[len("def ") : part.index("(")]: part for part in listed}
    needed, parts = list(wanted.items()), [HEAD]
    for name, kinds in needed:  # which a function makes longer by those that it calls
        text = definitions[name]
        made = _function(text, kinds, tuple((x, number) for x, number in numbers.items() if x in text))
        parts.append(made.text)
        needed += (x for x in made.called if x not in needed)
    return "\n".join([*parts, *(_face(name, kinds) for name, kinds in wanted.items())])


def functions_of(text: str) -> list[str]:
    """The functions of a text, each as text."""
    return re.split(r"^(?=def )", text, flags=re.MULTILINE)[1:]


class Translated(NamedTuple):
    """A function in LLVM's language, and those that it calls, with the kinds of their parameters."""

    text: str
    called: tuple[tuple[str, str], ...]


@lru_cache(KEPT)
def _function(text: str, kinds: str, numbers: tuple[tuple[str, int], ...]) -> Translated:
    definition = ast.parse(text).body[0]
    assert isinstance(definition, ast.FunctionDef)
    function = Function(definition, kinds, dict(numbers))
    return Translated(function.text(), tuple(function.called_ones))


def _face(name: str, kinds: str) -> str:
    """The function that others find by its name alone."""
    types = ["i64" if k == "i" else "ptr" for k in kinds]
    head = f"define i64 @{name}({', '.join(f'{t} %a{n}' for n, t in enumerate(types))}) nounwind {{"
    given = ", ".join(f"{t} %a{n}" for n, t in enumerate(types))
    return f"{head}\n  %found = call i64 @{symbol(name, kinds)}({given})\n  ret i64 %found\n}}\n"
