"""The kernels, as they stand or compiled, and the sequences that they work on.

Machine code (the extra `fast`) is made when a graph is large enough to be worth it; without a compiler, or for a small
graph, plain Python does the same.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from fsmdsl.program.native import Job, compiled_here, listings, missing
from fsmdsl.program.thread_pool import Crew
from fsmdsl.runs.liveness import finally_never_kernels as settle_kernels
from fsmdsl.runs.liveness import kernels
from fsmdsl.runs.liveness.graph import Ints

LARGE = 50_000
"""Edges of a graph from which on compiling is worth its time."""

HUGE = 2_000_000
"""Edges from which on it is worth the time to compile well, about a second where it was not done before."""

OF_GRAPHS = (kernels, settle_kernels)


class Plain:
    """Python as it stands, on lists."""

    kernels: Any = SimpleNamespace(**{name: x for part in OF_GRAPHS for name, x in vars(part).items()})

    def ints(self, values: Iterable[int], *, wide: bool = False) -> Ints:
        """A sequence with these values; `wide`: of more than 32 bits."""
        return list(values)

    def filled(self, count: int, value: int = 0, *, wide: bool = False) -> Ints:
        """A sequence of one value."""
        return [value] * count


class Compiled:
    """Machine code, on arrays of 32 and 64 bits; `apart`: in a thread of its own, so that a limit need not wait for a
    kernel that takes long."""

    def __init__(self, functions: dict[str, Callable[..., int]], *, apart: bool = False) -> None:
        wrap = _apart if apart else _on_arrays
        self.kernels: Any = SimpleNamespace(**{name: wrap(f) for name, f in functions.items()})

    def ints(self, values: Iterable[int], *, wide: bool = False) -> Ints:
        """See `Plain`. Arrays of the right kind are used as they are."""
        kind = "q" if wide else "i"
        if isinstance(values, array | memoryview):
            view = memoryview(values)
            if view.format == kind:
                return values
            if view.format == "q":
                numbers = self.filled(len(values))
                self.kernels.narrow(values, numbers, len(values))
                return numbers
        return array(kind, values)

    def filled(self, count: int, value: int = 0, *, wide: bool = False) -> Ints:
        """See `Plain`."""
        return array("q" if wide else "i", [value]) * count


Engine = Plain | Compiled


def engine(edges: int) -> Engine:
    """What a graph with so many edges is worth."""
    return (_compiled(edges < HUGE) if edges >= LARGE else None) or Plain()


@cache
def _compiled(hurry: bool) -> Compiled | None:
    """Compiled kernels, if there is a compiler. They are kept in the cache."""
    if missing() is not None:
        return None
    functions = tuple(x for part in OF_GRAPHS for x in listings(Path(str(part.__file__))))
    job = Job(functions, tuple(x.function.name for x in functions))
    try:
        return Compiled(compiled_here(job, store=True, hurry=hurry), apart=not hurry)
    except (ImportError, OSError, RuntimeError):
        return None


def _on_arrays(function: Callable[..., int]) -> Callable[..., int]:
    """A function that is given arrays and numbers, instead of addresses and numbers."""

    def called(*arguments: Any) -> int:
        return function(*(x if isinstance(x, int) else _address(x) for x in arguments))

    return called


def _apart(function: Callable[..., int]) -> Callable[..., int]:
    """The same, in a thread of its own. The caller can be interrupted while it waits. The thread then continues, and
    keeps the arrays alive that it works on."""

    def called(*arguments: Any) -> int:
        crew = Crew(1)
        try:
            return crew.each(lambda _: _on_arrays(function)(*arguments))[0]
        finally:
            crew.close()

    return called


def _address(x: array[int] | memoryview) -> int:
    """Where the elements of an array are; 0 where there are none."""
    return ctypes.addressof(ctypes.c_char.from_buffer(x)) if len(x) else 0
