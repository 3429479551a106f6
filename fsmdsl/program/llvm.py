"""A program in LLVM's language.

A function that was printed before is not printed again: after a change of a spec few are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from fsmdsl.dataclasses import NamedTuple, dataclass, field
from fsmdsl.program import python
from fsmdsl.program.llvm_function import Printer
from fsmdsl.program.llvm_types import NARROW, Called, Widths, declarations, symbol, type_of
from fsmdsl.program.nodes import Function, Type

MAX_CACHED = 4096
"""Maximum number of functions whose printed text is cached."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A function, and its text in Python, by which it is known."""

    text: str
    function: Function = field(compare=False)
    width: int = NARROW
    """Bits of its numbers."""


def listing(function: Function, width: int = NARROW) -> Listing:
    """A function with its text."""
    return Listing(python.function(function), function, width)


def module(listings: Iterable[Listing], names: Sequence[str]) -> str:
    """A module with the named functions and those that they call. Raises KeyError where one is missing."""
    by_name = {x.function.name: x for x in listings}
    wide = frozenset(name for name, x in by_name.items() if x.width != NARROW)
    widths = Widths(max((by_name[name].width for name in wide), default=NARROW), wide)
    entries = [by_name[name].function for name in names]
    needed = dict.fromkeys((f.name, widths.types(p.type for p in f.parameters)) for f in entries)
    queue, parts = list(needed), [declarations(widths.row)]
    for name, types in queue:  # which a function makes longer by those that it calls
        printed = _printed(by_name[name], types, widths)
        parts.append(printed.text)
        queue += (x for x in printed.calls if x not in needed)
        needed.update(dict.fromkeys(printed.calls))
    return "\n".join([*parts, *(_entry(f, widths) for f in entries)])


class Printed(NamedTuple):
    """A function in LLVM's language, and those that it calls."""

    text: str
    calls: tuple[Called, ...]


@lru_cache(MAX_CACHED)
def _printed(listing: Listing, types: tuple[Type, ...], widths: Widths) -> Printed:
    printer = Printer(listing.function, types, widths)
    return Printed(printer.text(), tuple(printer.calls))


def _entry(f: Function, widths: Widths) -> str:
    """The function that others find by its name alone. Its numbers are narrow."""
    inside = symbol(f.name, widths.types(p.type for p in f.parameters))
    parameters = ", ".join(f"{type_of(p.type, NARROW)} %a{n}" for n, p in enumerate(f.parameters))
    head = f"define i64 @{f.name}({parameters}) nounwind {{"
    return f"{head}\n  %result = call i64 @{inside}({parameters})\n  ret i64 %result\n}}\n"
