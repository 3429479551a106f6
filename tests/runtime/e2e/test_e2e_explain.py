"""Behind a real kube-scheduler: what the allocator and Kubernetes say has happened is a run of HiveD's spec."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from behind import CLUSTER, DEVICES, Behind
from control_plane import until

sys.path.append(str(Path(__file__).parents[1]))

from test_explain_journal import explained

pytestmark = pytest.mark.full(reason="takes minutes")

ONE_NODE: dict[str, Any] = {
    "physicalCluster": {
        "cellTypes": {"GPU-NODE": {"childCellType": "GPU", "childCellNumber": DEVICES, "isNodeLevel": True}},
        "physicalCells": [{"cellType": "GPU-NODE", "cellAddress": "node-1"}],
    },
    "virtualClusters": {"research": {"virtualCells": [{"cellType": "GPU-NODE", "cellNumber": 1}]}},
}
"""Each cell of the sample's system is two devices here."""


def test_a_preemption_is_a_run_of_the_spec(behind: Behind) -> None:
    behind.allocator.end()
    behind.configure(ONE_NODE)
    behind.allocator.start()
    try:
        begun = {x["metadata"]["uid"] for x in _events(behind)}
        weak = [name for gang in ("weak", "other") for name in behind.gang(gang, "research", 1, (1, 4))]
        behind.await_bound(*weak)
        strong = behind.gang("strong", "research", 100, (1, 8))
        behind.await_bound(*strong)
        behind.delete(*strong, force=True)
        until(lambda: not behind.allocator.get("/v2/inspect/gangs/")["items"], "the allocator knows no gangs")
        happened = behind.allocator.get("/v2/inspect/events")["items"]
        seen = [x for x in _events(behind) if x["metadata"]["uid"] not in begun]
    finally:
        behind.allocator.end()
        behind.configure(CLUSTER)
        behind.allocator.start()
    kinds = [x["kind"] for x in happened]
    assert {"Placed", "Reserved", "AskedToLeave", "Left", "Ended"} <= set(kinds), kinds
    x = explained("events.toml", happened)
    assert x.outcome == "explained", (kinds, x.failure)
    reasons = [x["reason"] for x in seen]
    assert reasons.count("Scheduled") == 3, reasons
    x = explained("kubernetes.toml", seen)
    assert x.outcome == "explained", (reasons, x.failure)


def _events(behind: Behind) -> list[dict[str, Any]]:
    return list(behind.plane.ask("GET", "/api/v1/namespaces/default/events")["items"])
