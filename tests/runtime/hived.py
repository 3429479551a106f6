"""HiveD itself beside the allocator: a program that speaks JSON lines, where there is one.

It is looked for in `$HIVED_ORACLE`, then in `../shared/peers/hived/hived-oracle` beside the repository.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from serving import annotation

from runtime import BindInfo, Pod, PodPlacement

ROOT = Path(__file__).parents[2]
PROGRAM = Path(os.environ.get("HIVED_ORACLE", ROOT.parent / "shared/peers/hived/hived-oracle"))

needs_hived = pytest.mark.skipif(
    not PROGRAM.exists(), reason=f"HIVED IS NOT HERE: {PROGRAM} is missing, so nothing is compared with it"
)


class PanicError(Exception):
    """HiveD has failed: what it would answer with status 500, or end by."""


class RefusedError(Exception):
    """A user error of HiveD."""


class HiveD:
    """One process, with one algorithm at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def ask(self, op: str, **fields: object) -> dict[str, Any]:
        """Raises `PanicError` and `RefusedError`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, **fields}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        if "panic" in answer:
            raise PanicError(answer["panic"])
        if "error" in answer:
            raise RefusedError(answer["error"])
        return answer

    def begin(self, configuration: dict[str, Any], nodes: list[str]) -> None:
        """Anew, with all nodes healthy."""
        self.ask("config", config=configuration)
        for name in nodes:
            self.ask("node", name=name, healthy=True)

    def schedule(self, pod: Pod, phase: str, nodes: list[str] | None = None) -> dict[str, Any]:
        """With `bind`, `victims` or `wait`. Without nodes, all are offered."""
        offered = {} if nodes is None else {"suggested": nodes}
        return self.ask("schedule", pod=_pod(pod), phase=phase, **offered)

    def add(self, pod: Pod, info: dict[str, Any]) -> None:
        self.ask("add", pod=_pod(pod), info=info)

    def delete(self, pod: Pod) -> None:
        self.ask("delete", pod=_pod(pod))

    def groups(self) -> list[dict[str, Any]]:
        """Its affinity groups, as it answers who inspects."""
        return self.ask("dump", what=["hived_groups"])["hived_groups"]["items"] or []

    def status(self) -> tuple[list[dict[str, Any]], dict[str, Any]]:
        """Its affinity groups, and its cells, as it answers who inspects. Costs a look at each cell."""
        return self.groups(), self.ask("dump", what=["hived_status"])["hived_status"]


def _pod(pod: Pod) -> dict[str, Any]:
    return {"uid": pod.uid, "name": pod.name, "namespace": pod.namespace, "spec": json.loads(annotation(pod))}


def bind_info(info: dict[str, Any]) -> BindInfo:
    """From HiveD's to ours."""
    members = [
        tuple(
            PodPlacement(x["PhysicalNode"], tuple(x["PhysicalLeafCellIndices"]), tuple(x["PreassignedCellTypes"]))
            for x in member["PodPlacements"]
        )
        for member in info["AffinityGroupBindInfo"]
    ]
    members.sort(key=lambda same: len(same[0].leaf_cells))
    return BindInfo(info["Node"], tuple(info["LeafCellIsolation"]), info["CellChain"], tuple(members))


def victims(answer: dict[str, Any]) -> set[str]:
    """The uids of the pods that an answer names, on all nodes."""
    return {uid for uids in answer.get("victims", {}).values() for uid in uids}


def to_hived(info: BindInfo) -> dict[str, Any]:
    """From ours to HiveD's."""
    return {
        "Node": info.node,
        "LeafCellIsolation": list(info.leaf_cells),
        "CellChain": info.chain,
        "AffinityGroupBindInfo": [
            {
                "PodPlacements": [
                    {
                        "PhysicalNode": place.node,
                        "PhysicalLeafCellIndices": list(place.leaf_cells),
                        "PreassignedCellTypes": list(place.preassigned_types),
                    }
                    for place in same
                ]
            }
            for same in info.gang
        ],
    }
