"""What a decision costs does not grow with the cluster."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from types import FrameType
from typing import TYPE_CHECKING

from clusters import gang

from runtime import Allocator, Bind

if TYPE_CHECKING:
    from _typeshed import TraceFunction

TYPES = {
    "SOCKET": {"childCellType": "GPU", "childCellNumber": 4},
    "NODE": {"childCellType": "SOCKET", "childCellNumber": 2, "isNodeLevel": True},
    "RACK": {"childCellType": "NODE", "childCellNumber": 16},
}


class Work:
    """How many lines of Python have run. What C does inside of a line counts as one."""

    def __init__(self) -> None:
        self.lines = 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts what runs meanwhile."""

        def count(frame: FrameType, event: str, argument: object) -> TraceFunction:
            self.lines += event == "line"
            return count

        before = sys.gettrace()
        sys.settrace(count)
        try:
            yield
        finally:
            sys.settrace(before)


def cost(racks: int) -> float:
    """Lines of Python that run to place and allocate a gang of eight devices, where a third of them is in use."""
    cells = {"cellTypes": TYPES, "physicalCells": [{"cellType": "RACK"}] * racks}
    quota = [{"cellType": "RACK", "cellNumber": racks // 4}, {"cellType": "RACK.NODE", "cellNumber": racks // 4 * 16}]
    tenants = {name: {"virtualCells": quota} for name in "AB"}
    allocator = Allocator.from_config({"physicalCluster": cells, "virtualClusters": tenants})
    for node in {cell.node for cell in allocator.leaf_cells()}:
        allocator.node_healthy(node)
    costs = []
    for i in range(240):
        (pod,) = gang(f"g{i}", "AB"[i % 2], 8, priority=(5, -1, 0)[i % 3])
        work = Work()
        with work.counted():
            answer = allocator.schedule(pod)
            if isinstance(answer, Bind):
                allocator.allocate(pod, answer.info)
        if isinstance(answer, Bind):
            costs.append(work.lines)
        if i >= racks * 16 // 3:
            (old,) = gang(f"g{i - racks * 16 // 3}", "AB"[i % 2], 8)
            allocator.delete(old)
    assert len(costs) > 200
    return median(costs)


def test_a_cluster_of_32_times_the_size_costs_about_the_same() -> None:
    assert cost(128) < 1.5 * cost(4)
