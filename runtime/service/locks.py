"""Read and write locks, in the lock order that YuniKorn proposes, as generated.

| lock | protects | who takes it |
| --- | --- | --- |
| cluster | beginning and end of the service | cycles, to read |
| partition | the allocator | cycles, to write; endpoints, to read |
| application | what is known of pods | the same, inside of the partition |
| node | what is known of nodes | the same, inside of the partition or of the application |

One of each kind: the allocator decides over all cells at once, so that finer locks would protect nothing. A thread that
takes them in another order gets `LockOrderBroken` and no lock.
"""

from __future__ import annotations

from generated.yunikorn.locks import SchedulerLocks


class Locks:
    """One lock of each kind."""

    __slots__ = ("applications", "cluster", "nodes", "partition")

    def __init__(self) -> None:
        order = SchedulerLocks()
        self.cluster = order.cluster()
        self.partition = order.partition()
        self.applications = order.application()
        self.nodes = order.node()
