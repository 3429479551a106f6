"""The check of a history finds what it is for, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from behind import ISOLATION, SPEC
from changes import violations

Entry = tuple[float, str, dict[str, Any]]


def pod(
    name: str, gang: str, node: str = "", numbers: str = "", *, leaves: bool = False, phase: str = "Running"
) -> Any:
    """`numbers` are its devices."""
    metadata: dict[str, Any] = {"name": name, "namespace": "default", "uid": name}
    metadata["annotations"] = {SPEC: json.dumps({"affinityGroup": {"name": gang}}), ISOLATION: numbers}
    if leaves:
        metadata["deletionTimestamp"] = "now"
    place = {"nodeName": node} if node else {}
    return {"metadata": metadata, "spec": {"terminationGracePeriodSeconds": 5, **place}, "status": {"phase": phase}}


def check(folder: Path, *entries: Entry) -> list[str]:
    lines = [json.dumps({"time": at, "resource": "pods", "type": what, "object": thing}) for at, what, thing in entries]
    (folder / "changes").write_text("\n".join(lines))
    return list(violations(folder / "changes"))


A, B = pod("a", "g", "n", "0,1"), pod("b", "g", "n", "2")
A_LEAVES, B_LEAVES = pod("a", "g", "n", "0,1", leaves=True), pod("b", "g", "n", "2", leaves=True)


def test_a_device_with_two_pods(tmp_path: Path) -> None:
    other = pod("c", "h", "n", "1")
    (found,) = check(tmp_path, (0, "ADDED", A), (1, "ADDED", other))
    assert "('n', 1) is held by c and by a" in found
    assert not check(tmp_path, (0, "ADDED", A), (1, "DELETED", A), (1, "ADDED", other))
    assert not check(
        tmp_path, (0, "ADDED", A), (1, "MODIFIED", pod("a", "g", "n", "0,1", phase="Failed")), (1, "ADDED", other)
    )
    assert check(tmp_path, (0, "ADDED", A), (1, "MODIFIED", A_LEAVES), (1, "ADDED", other)), "it has not ended yet"


@pytest.mark.parametrize("after", [9.0, 11.0])
def test_a_gang_that_is_half_alive_for_too_long(tmp_path: Path, after: float) -> None:
    begun: list[Entry] = [(0, "ADDED", A), (0, "ADDED", B), (1, "MODIFIED", A_LEAVES), (6, "DELETED", A_LEAVES)]
    found = check(tmp_path, *begun, (1 + after, "MODIFIED", B_LEAVES))
    assert found == ([] if after == 9.0 else ["g was half alive for 11.0 s, with a grace of 5 s"])
    other = pod("c", "h", "m", "1")
    assert bool(check(tmp_path, *begun, (1 + after, "ADDED", other))) == (after == 11.0), "it is still half alive"


def test_a_gang_that_comes_again_is_another_one(tmp_path: Path) -> None:
    again = [pod("a2", "g", "n", "0"), pod("b2", "g", "n", "1")]
    gone: list[Entry] = [(1, "DELETED", A), (2, "DELETED", B)]
    assert not check(tmp_path, (0, "ADDED", A), (0, "ADDED", B), *gone, (3, "ADDED", again[0]), (30, "ADDED", again[1]))
