"""Ranks that are threads of one process: the exchange of a search without `mpiexec`, for tests."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fsmdsl.search.engine import Together
from fsmdsl.search.memory import Memory
from fsmdsl.search.ranks.exchange import Exchange

T = TypeVar("T")


class Table:
    """Where all lay down what they hand over."""

    def __init__(self, size: int) -> None:
        self.barrier = threading.Barrier(size, timeout=60)
        self.laid: list[Any] = [None] * size


class Threads:
    """One of them."""

    def __init__(self, table: Table, rank: int, size: int) -> None:
        self.table, self.rank, self.size, self.neighbours = table, rank, size, size

    def all_to_all(self, sent: Memory, counts: Sequence[int]) -> tuple[Memory, list[int]]:
        """See `Exchange`."""
        table, received, got = self.table, array("q"), []
        table.laid[self.rank] = sent, list(counts)
        table.barrier.wait()
        for memory, each in table.laid:
            at = sum(each[: self.rank])
            received.extend(memory.numbers[at : at + each[self.rank]])
            got.append(each[self.rank])
        table.barrier.wait()
        memory = Memory(len(received))
        memory.numbers[: len(received)] = memoryview(received)
        return memory, got

    def all_reduce(self, numbers: Sequence[int], how: Together) -> list[int]:
        """See `Exchange`."""
        table = self.table
        table.laid[self.rank] = list(numbers)
        table.barrier.wait()
        found = [(sum if how == "sum" else max)(row) for row in zip(*table.laid, strict=True)]
        table.barrier.wait()
        return found


def together(size: int, work: Callable[[Exchange], T]) -> list[T]:
    """What every rank comes to. Raises what the first that fails has raised."""
    table, found, failed = Table(size), [None] * size, []

    def one(rank: int) -> None:
        try:
            found[rank] = work(Threads(table, rank, size))  # type: ignore[call-overload]
        except Exception as error:
            failed.append(error)
            table.barrier.abort()

    threads = [threading.Thread(target=one, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in sorted(failed, key=lambda x: isinstance(x, threading.BrokenBarrierError)):
        raise error
    return found  # type: ignore[return-value]
