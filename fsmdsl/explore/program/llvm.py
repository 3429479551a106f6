"""A program in LLVM's language.

A function that was printed before is not printed again: after a change of a spec few are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from fsmdsl.explore.program import python
from fsmdsl.explore.program.llvm_function import DECLARATIONS, Printer, symbol, type_of
from fsmdsl.explore.program.nodes import Function
from fsmdsl.explore.program.queries import constants_of

KEPT = 4096
"""So many functions are kept printed."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A function, and its text in Python, by which it is known."""

    text: str
    function: Function = field(compare=False)


def listing(function: Function) -> Listing:
    """A function with its text."""
    return Listing(python.function(function), function)


def module(listings: Iterable[Listing], constants: Mapping[str, int], wanted: Sequence[str]) -> str:
    """A module with the functions wanted and those that they call; `constants` are the variables that stand for numbers
    known by now. Raises KeyError where a function or a constant is missing."""
    known = {x.function.name: x for x in listings}
    needed, parts = dict.fromkeys(wanted), [DECLARATIONS]
    queue = list(needed)
    for name in queue:  # which a function makes longer by those that it calls
        printed = _printed(known[name], tuple((x, constants[x]) for x in _constants(known[name])))
        parts.append(printed.text)
        queue += (x for x in printed.calls if x not in needed)
        needed.update(dict.fromkeys(printed.calls))
    return "\n".join([*parts, *(_entry(known[name].function) for name in wanted)])


class Printed(NamedTuple):
    """A function in LLVM's language, and those that it calls."""

    text: str
    calls: tuple[str, ...]


@lru_cache(KEPT)
def _constants(listing: Listing) -> tuple[str, ...]:
    return constants_of(listing.function)


@lru_cache(KEPT)
def _printed(listing: Listing, constants: tuple[tuple[str, int], ...]) -> Printed:
    printer = Printer(listing.function, dict(constants))
    return Printed(printer.text(), tuple(printer.calls))


def _entry(f: Function) -> str:
    """The function that others find by its name alone."""
    parameters = ", ".join(f"{type_of(p.type)} %a{n}" for n, p in enumerate(f.parameters))
    head = f"define i64 @{f.name}({parameters}) nounwind {{"
    return f"{head}\n  %result = call i64 @{symbol(f.name)}({parameters})\n  ret i64 %result\n}}\n"
