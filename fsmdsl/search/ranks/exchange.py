"""Numbers handed from process to process: what a search over several of them, the ranks, needs, and no more.

Every rank calls the same methods in the same order. `mpiexec` starts the ranks; without it there is one.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import accumulate
from math import inf
from time import perf_counter, sleep
from typing import TYPE_CHECKING, Any, Protocol

from fsmdsl.search.errors import UnavailableError

if TYPE_CHECKING:
    from fsmdsl.search.engine import Together
    from fsmdsl.search.memory import Memory

MISSING = "a search over several processes needs the extra `mpi`: pip install 'fsmdsl[mpi,fast]'"

SPIN_TIMEOUT = 2e-4
"""Seconds of asking without a break whether the others have come. After that the processor is left to them."""

NAP, SLEEP = 2e-5, 1e-2
"""Seconds between two questions then: the fewest, and after long waiting."""


class Exchange(Protocol):
    """Between `size` ranks, of which this is one."""

    rank: int
    size: int
    neighbours: int
    """Ranks on this machine, itself included: they share its memory."""

    def all_to_all(self, sent: Memory, counts: Sequence[int]) -> tuple[Memory, list[int]]:
        """Hand every rank its numbers of 64 bits: they stand one rank's behind the other's, so many each. What all have
        handed to this one, in the same form. It may be written to, and lasts until the next call."""
        ...

    def all_reduce(self, numbers: Sequence[int], how: Together) -> list[int]:
        """The sum or maximum over all ranks, place by place."""
        ...


class Alone:
    """One rank."""

    rank = 0
    size = 1
    neighbours = 1

    def all_to_all(self, sent: Memory, counts: Sequence[int]) -> tuple[Memory, list[int]]:
        """See `Exchange`."""
        return sent, list(counts)

    def all_reduce(self, numbers: Sequence[int], how: Together) -> list[int]:
        """See `Exchange`."""
        return list(numbers)


class Mpi:
    """The ranks that `mpiexec` has started."""

    def __init__(self) -> None:
        from mpi4py import MPI

        self._mpi: Any = MPI
        self._all: Any = MPI.COMM_WORLD
        self.rank: int = self._all.Get_rank()
        self.size: int = self._all.Get_size()
        machine = self._all.Split_type(MPI.COMM_TYPE_SHARED)
        self.neighbours: int = machine.Get_size()
        machine.Free()
        self._received = _memory(1)
        self._end: Any = self._all.Dup()

    def all_to_all(self, sent: Memory, counts: Sequence[int]) -> tuple[Memory, list[int]]:
        """See `Exchange`."""
        sent_counts, received_counts = array("q", counts), array("q", bytes(8 * self.size))
        self._meet()
        self._all.Alltoall(sent_counts, received_counts)
        total = sum(received_counts)
        if total > len(self._received.numbers):
            self._received = _memory(2 * total)
        word = self._mpi.INT64_T
        self._all.Alltoallv(
            [sent.numbers, (sent_counts, _places(sent_counts)), word],
            [self._received.numbers, (received_counts, _places(received_counts)), word],
        )
        return self._received, list(received_counts)

    def all_reduce(self, numbers: Sequence[int], how: Together) -> list[int]:
        """See `Exchange`."""
        own, totals = array("q", numbers), array("q", bytes(8 * len(numbers)))
        self._meet()
        self._all.Allreduce(own, totals, self._mpi.SUM if how == "sum" else self._mpi.MAX)
        return list(totals)

    def _meet(self) -> None:
        """Wait until all are here. MPI itself would keep a processor busy with waiting, which another rank may need."""
        self._wait(self._all.Ibarrier(), inf)

    def meet(self, seconds: float) -> bool:
        """Do all ranks come to their end within so long?"""
        return self._wait(self._end.Ibarrier(), seconds)

    def _wait(self, request: Any, seconds: float) -> bool:
        begun = perf_counter()
        patience = SPIN_TIMEOUT if self.neighbours <= (os.cpu_count() or 1) else 0.0
        while not request.Test():
            waited = perf_counter() - begun
            if waited > seconds:
                return False
            if waited > patience:
                sleep(min(max(NAP, waited / 20), SLEEP))
        return True

    def abort(self, code: int) -> None:
        """End all ranks at once: this one cannot go on, and the others would wait for it."""
        self._all.Abort(code)


def _memory(words: int) -> Memory:
    from fsmdsl.search.memory import Memory

    return Memory(words)


def _places(counts: Sequence[int]) -> array[int]:
    return array("q", [0, *accumulate(counts)][:-1])


_TEXT = 64
"""Words of a text that is told to all."""


def agreed(exchange: Exchange, problem: str | None) -> str | None:
    """The problem of the first rank that has one, for all to know; its first 512 bytes."""
    first = exchange.all_reduce([0 if problem is None else exchange.size - exchange.rank], "max")[0]
    if first == 0:
        return None
    own = first == exchange.size - exchange.rank
    data = (problem or "").encode()[: 8 * _TEXT].ljust(8 * _TEXT, b"\0") if own else bytes(8 * _TEXT)
    text = array("q", exchange.all_reduce(array("q", data), "sum")).tobytes()
    return text.rstrip(b"\0").decode(errors="ignore")


_STARTERS: Mapping[str, str] = {
    "PMI_SIZE": "PMI_RANK",
    "OMPI_COMM_WORLD_SIZE": "OMPI_COMM_WORLD_RANK",
}
"""Where programs that start ranks tell them how many there are, and which of them each is."""


def started() -> tuple[int, int]:
    """This process's rank, and how many were started together; 0 of 1 for one that was started by itself."""
    for size, rank in _STARTERS.items():
        if os.environ.get(size, "").isdigit() and os.environ.get(rank, "").isdigit():
            return int(os.environ[rank]), int(os.environ[size])
    return 0, 1


@cache
def exchange() -> Exchange:
    """Between the ranks that were started together. Raises `UnavailableError`."""
    if started()[1] == 1:
        return Alone()
    if find_spec("mpi4py") is None:
        raise UnavailableError(MISSING)
    try:
        return Mpi()
    except (ImportError, RuntimeError) as error:
        raise UnavailableError(f"{MISSING} ({error})") from error
