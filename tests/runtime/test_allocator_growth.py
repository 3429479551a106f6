"""What a decision costs does not grow with the cluster."""

from __future__ import annotations

from statistics import median
from time import process_time

from clusters import gang

from runtime import Allocator, Bind

TYPES = {
    "SOCKET": {"childCellType": "GPU", "childCellNumber": 4},
    "NODE": {"childCellType": "SOCKET", "childCellNumber": 2, "isNodeLevel": True},
    "RACK": {"childCellType": "NODE", "childCellNumber": 16},
}


def cost(racks: int) -> float:
    """Seconds of the processor to place, allocate and end a gang of eight devices, where a third of them is in use."""
    cells = {"cellTypes": TYPES, "physicalCells": [{"cellType": "RACK"}] * racks}
    quota = [{"cellType": "RACK", "cellNumber": racks // 4}, {"cellType": "RACK.NODE", "cellNumber": racks // 4 * 16}]
    tenants = {name: {"virtualCells": quota} for name in "AB"}
    allocator = Allocator.from_config({"physicalCluster": cells, "virtualClusters": tenants})
    for node in {cell.node for cell in allocator.leaf_cells()}:
        allocator.node_healthy(node)
    times = []
    for i in range(240):
        (pod,) = gang(f"g{i}", "AB"[i % 2], 8, priority=(5, -1, 0)[i % 3])
        begin = process_time()
        answer = allocator.schedule(pod)
        if isinstance(answer, Bind):
            allocator.allocate(pod, answer.info)
            times.append(process_time() - begin)
        if i >= racks * 16 // 3:
            (old,) = gang(f"g{i - racks * 16 // 3}", "AB"[i % 2], 8)
            allocator.delete(old)
    assert len(times) > 200
    return median(times)


def test_a_cluster_of_32_times_the_size_costs_about_the_same() -> None:
    small = cost(4)
    assert cost(128) < 4 * small
