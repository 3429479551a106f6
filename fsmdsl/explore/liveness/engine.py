"""The kernels, as they stand or compiled, and the sequences that they work on.

Numba and NumPy (the extra `fast`) are loaded when a graph is large enough to be worth it; without them, or for a small
graph, plain Python does the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from importlib import import_module
from types import FunctionType, SimpleNamespace
from typing import Any

from fsmdsl.explore.liveness import kernels
from fsmdsl.explore.liveness.graph import Ints

LARGE = 50_000
"""Edges of a graph from which on compiling is worth its time."""


class Plain:
    """Python as it stands, on lists."""

    kernels: Any = kernels

    def ints(self, values: Iterable[int], *, wide: bool = False) -> Ints:
        """A sequence with these values; `wide`: of more than 32 bits."""
        return list(values)

    def filled(self, count: int, value: int = 0, *, wide: bool = False) -> Ints:
        """A sequence of one value."""
        return [value] * count


class Compiled:
    """Numba, on arrays of 32 and 64 bits."""

    def __init__(self, numpy: Any, compiled: Any) -> None:
        self.numpy = numpy
        self.kernels = compiled

    def ints(self, values: Iterable[int], *, wide: bool = False) -> Ints:
        """See `Plain`. Arrays of the right kind are used as they are."""
        listed = values if hasattr(values, "__len__") else list(values)
        found: Ints = self.numpy.ascontiguousarray(listed, dtype=self._kind(wide))
        return found

    def filled(self, count: int, value: int = 0, *, wide: bool = False) -> Ints:
        """See `Plain`."""
        made = self.numpy.zeros if value == 0 else lambda n, dtype: self.numpy.full(n, value, dtype=dtype)
        found: Ints = made(count, dtype=self._kind(wide))
        return found

    def _kind(self, wide: bool) -> Any:
        return self.numpy.int64 if wide else self.numpy.int32


Engine = Plain | Compiled


def engine(edges: int) -> Engine:
    """What a graph with so many edges is worth."""
    return (_compiled() if edges >= LARGE else None) or Plain()


@cache
def _compiled() -> Compiled | None:
    """Compiled kernels, if Numba is there. Each is compiled when it is first called, and kept on disk."""
    try:
        numpy, numba = import_module("numpy"), import_module("numba")
    except ImportError:
        return None
    made = {
        name: numba.njit(error_model="numpy", cache=True, nogil=True)(f)
        for name, f in vars(kernels).items()
        if isinstance(f, FunctionType)
    }
    return Compiled(numpy, SimpleNamespace(**made))
