"""Small clusters, and pods to put on them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from runtime import Allocator, Bind, GangSpec, Member, Phase, Pod, PodSpec
from runtime.durable import DurableAllocator

AnyAllocator: TypeAlias = Allocator | DurableAllocator

TYPES: dict[str, object] = {
    "SWITCH": {"childCellType": "GPU", "childCellNumber": 2},
    "NODE": {"childCellType": "SWITCH", "childCellNumber": 2, "isNodeLevel": True},
    "RACK": {"childCellType": "NODE", "childCellNumber": 2},
    "ROW": {"childCellType": "RACK", "childCellNumber": 2},
    "OLD-NODE": {"childCellType": "OLD", "childCellNumber": 2, "isNodeLevel": True},
}


def nodes(*names: str, kind: str = "NODE") -> list[object]:
    """Top cells that are nodes."""
    return [{"cellType": kind, "cellAddress": name} for name in names]


def rack(*names: str, **more: object) -> dict[str, object]:
    """A rack of nodes."""
    return {"cellType": "RACK", "cellChildren": [{"cellAddress": name} for name in names], **more}


def row(*names: str) -> dict[str, object]:
    """A row of two racks of two nodes."""
    a, b, c, d = names
    return {
        "cellType": "ROW",
        "cellChildren": [
            {"cellChildren": [{"cellAddress": a}, {"cellAddress": b}]},
            {"cellChildren": [{"cellAddress": c}, {"cellAddress": d}]},
        ],
    }


def config(cells: Sequence[object], **tenants: dict[str, int]) -> dict[str, object]:
    """A configuration: `A={"RACK.NODE": 2}`; a number of 0 with a name that is no path is a pinned cell."""
    clusters = {
        name: {
            "virtualCells": [{"cellType": k, "cellNumber": n} for k, n in own.items() if not k.startswith("pin")],
            "pinnedCells": [{"pinnedCellId": k} for k in own if k.startswith("pin")],
        }
        for name, own in tenants.items()
    }
    return {"physicalCluster": {"cellTypes": TYPES, "physicalCells": cells}, "virtualClusters": clusters}


def healthy(configuration: dict[str, object]) -> Allocator:
    """An allocator with all nodes healthy."""
    allocator = Allocator.from_config(configuration, now=lambda: 1000.0)
    for name in {cell.node for cell in allocator.leaf_cells()}:
        allocator.node_healthy(name)
    return allocator


def gang(name: str, tenant: str, *sizes: int, priority: int = 5, **more: Any) -> list[Pod]:
    """The pods of a gang, one for each size."""
    members = tuple(Member(sizes.count(size), size) for size in sorted(set(sizes)))
    spec = GangSpec(name, members)
    return [
        Pod(f"{name}-{i}", f"{name}-{i}", PodSpec(tenant, priority, size, spec, **more)) for i, size in enumerate(sizes)
    ]


def run(allocator: AnyAllocator, pods: list[Pod]) -> list[Bind]:
    """Places a whole gang, which must be possible without displacing anybody."""
    bound = []
    for pod in pods:
        answer = allocator.schedule(pod)
        assert isinstance(answer, Bind), answer
        allocator.allocate(pod, answer.info)
        bound.append(answer)
    return bound


def preempt(allocator: AnyAllocator, pods: list[Pod]) -> object:
    """Asks for the first pod of a gang in both phases, as an outer scheduler does."""
    answer = allocator.schedule(pods[0])
    if isinstance(answer, Bind):
        return answer
    return allocator.schedule(pods[0], phase=Phase.PREEMPTING)


def end(allocator: AnyAllocator, pods: list[Pod]) -> None:
    """All pods are gone."""
    for pod in pods:
        allocator.delete(pod)
