"""What HiveD has answered who inspects it, and what we answer: the same, byte for byte, in the same situation."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hived import INSPECTIONS, MISSING, Record, bind_info, needs_records, records

from runtime import Bind, Phase, Pod, Preempt
from runtime.annotations import read_spec
from runtime.durable import DurableAllocator
from runtime.service import status

SITUATIONS = {} if MISSING else {record["situation"]: record for record in records(INSPECTIONS)}
CALLED_OFF = "a preemption that is called off (HiveD's victim stays BeingPreempted)"


def allocator(record: Record, folder: Path) -> DurableAllocator:
    """After the same steps; HiveD has chosen."""
    ours = DurableAllocator.open(record["config"], folder / "journal", now=lambda: 1000.0)
    for name in record["nodes"]:
        ours.node_healthy(name)
    for step in record["steps"]:
        if step["op"] == "node":
            ours.node_bad(step["name"])
            continue
        recorded = step["pod"]
        spec = read_spec(json.dumps(recorded["spec"]), "default", recorded["name"])
        pod = Pod(recorded["uid"], recorded["name"], spec)
        match step["op"]:
            case "bind":
                assert isinstance(ours.schedule(pod), Bind)
                ours.allocate(pod, bind_info(step["info"]))
            case "preempt":
                assert isinstance(ours.schedule(pod, None, Phase.PREEMPTING), Preempt)
            case "delete":
                ours.delete(pod)
            case other:
                pytest.fail(f"what is {other}?")
    return ours


def gangs(ours: DurableAllocator) -> list[dict[str, Any]]:
    return [status.gang(x) for x in sorted(ours.groups(), key=lambda x: x.name) if status.has_cells(x)]


def _sorted(cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(cells, key=lambda cell: cell["cellAddress"])


def _text(answer: object) -> str:
    """As bytes, but for the time of a demotion."""
    return re.sub(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"', '"a time"', json.dumps(answer, indent=1))


def _groups(record: Record) -> list[dict[str, Any]]:
    """HiveD has the pods of different sizes in the order of a map, drawn anew each time."""
    for group in record["groups"]:
        for placement in ("physicalPlacement", "virtualPlacement"):
            for cells in group["status"].get(placement, {}).values():
                cells.sort()
    return sorted(record["groups"], key=lambda group: str(group["metadata"]["name"]))


@needs_records
def test_all_situations_are_there() -> None:
    assert len(SITUATIONS) == 24
    assert CALLED_OFF in SITUATIONS


@needs_records
@pytest.mark.parametrize("situation", sorted(SITUATIONS.keys() - {CALLED_OFF}))
def test_the_same_is_answered(situation: str, tmp_path: Path) -> None:
    record = SITUATIONS[situation]
    ours = allocator(record, tmp_path)
    assert _text(gangs(ours)) == _text(_groups(record))
    physical = status.physical_cluster(ours.cluster)
    assert _text(_sorted(physical)) == _text(_sorted(record["cells"]["physicalCluster"]))
    tenants, theirs = status.virtual_clusters(ours), record["cells"]["virtualClusters"]
    assert {x: _text(_sorted(y)) for x, y in tenants.items()} == {x: _text(_sorted(y)) for x, y in theirs.items()}
    ours.close()


@needs_records
def test_a_preemption_that_is_called_off_leaves_its_victim_as_it_was(tmp_path: Path) -> None:
    """A fault of HiveD's: the victim stays BeingPreempted, although nobody wants its cells any more."""
    record = SITUATIONS[CALLED_OFF]
    ours = allocator(record, tmp_path)
    (theirs,), (mine,) = _groups(record), gangs(ours)
    assert (theirs["status"].pop("state"), mine["status"].pop("state")) == ("BeingPreempted", "Allocated")
    assert _text(mine) == _text(theirs)
    ours.close()
