"""Gated gangs are admitted whole, whatever happens in between. Kubernetes 1.20 has no scheduling gates."""

from __future__ import annotations

import json
import os
import random
import time
from typing import Any

import pytest
from behind import GRACE, INFO, PODS, PREFIX, SPEC, Behind
from control_plane import until

pytestmark = pytest.mark.full(reason="takes minutes")

GATE = f"{PREFIX}gang"
KILLS = int(os.environ.get("GATE_KILLS", "6"))


@pytest.fixture(autouse=True)
def gates(behind: Behind) -> None:
    """Not on 1.20."""
    if behind.plane.name == "1.20":
        pytest.skip("Kubernetes 1.20 has no scheduling gates")


def gated(behind: Behind, name: str, **more: Any) -> dict[str, Any]:
    """Creates a pod with the gate; `more`: labels, annotations, and fields of its specification."""
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": more.pop("labels", {}), "annotations": more.pop("annotations", {})},
        "spec": {
            "terminationGracePeriodSeconds": GRACE,
            "schedulingGates": [{"name": GATE}],
            "schedulerName": "gangs",
            "containers": [{"name": "worker", "image": "none"}],
            **more,
        },
    }
    return dict(behind.plane.ask("POST", PODS, body))


def gated_gang(behind: Behind, name: str, tenant: str, priority: int, pods: int, devices: int) -> list[str]:
    """Creates all pods of a gated gang; answers their names."""
    names = [f"{name}-{n}" for n in range(pods)]
    for one in names:
        gated(behind, one, annotations=asks(name, tenant, priority, pods, devices))
    return names


def asks(name: str, tenant: str, priority: int, pods: int, devices: int) -> dict[str, str]:
    """The annotation of a pod of a gang."""
    group = {"name": f"default/{name}", "members": [{"podNumber": pods, "leafCellNumber": devices}]}
    asked = {"virtualCluster": tenant, "priority": priority, "leafCellNumber": devices, "affinityGroup": group}
    return {SPEC: json.dumps(asked)}


def gate_of(pod: dict[str, Any]) -> bool:
    """Whether a pod still has our gate."""
    return any(x["name"] == GATE for x in pod["spec"].get("schedulingGates") or ())


def test_gangs_of_both_ways_are_placed_whole(behind: Behind) -> None:
    """Gated gangs need no extender, no limit, and no scheduler of a certain name."""
    names = gated_gang(behind, "gated", "research", 1, 4, 8)
    others = behind.gang("extended", "research", 1, (4, 8))
    behind.await_bound(*names, *others, seconds=15)
    behind.settled()
    pods = behind.pods()
    assert not any(gate_of(pods[name]) for name in names)
    events = {x["kind"]: x for x in behind.allocator.get("/v2/inspect/events?gang=default/gated")["items"]}
    assert {"Submitted", "Placed", "Journaled", "Admitted"} <= events.keys()


def test_an_incomplete_gang_waits_and_its_pods_say_so(behind: Behind) -> None:
    notes = asks("partial", "research", 1, 3, 8)
    for number in range(2):
        gated(behind, f"partial-{number}", annotations=notes)
    until(lambda: "2 of 3 are there" in told(behind, "partial-0"), "the pod is told why it waits", 20)
    assert all(gate_of(pod) for pod in behind.pods().values())
    gated(behind, "partial-2", annotations=notes)
    behind.await_bound("partial-0", "partial-1", "partial-2")


def told(behind: Behind, name: str) -> str:
    """What the Events of a pod say."""
    events = behind.plane.ask("GET", "/apis/events.k8s.io/v1/namespaces/default/events")["items"]
    return " ".join(x["note"] for x in events if x["regarding"]["name"] == name and x["reason"] == "Waiting")


@pytest.mark.parametrize("kind", ["kueue", "jobset", "native"])
def test_a_gang_is_known_by_the_group_of_its_pods(behind: Behind, kind: str) -> None:
    """With a virtual cluster by its queue, and devices by the limits of its containers, if need be."""
    more: dict[str, Any] = {"annotations": {SPEC: json.dumps({"virtualCluster": "research", "priority": 1})}}
    match kind:
        case "kueue":
            labels = {"kueue.x-k8s.io/pod-group-name": "train", "kueue.x-k8s.io/queue-name": "research"}
            more = {"labels": labels, "annotations": {"kueue.x-k8s.io/pod-group-total-count": "3"}}
        case "jobset":
            more["labels"] = {"jobset.sigs.k8s.io/jobset-name": "train"}
            more["annotations"][f"{PREFIX}pod-group-total-count"] = "3"
        case _:
            more["schedulingGroup"] = {"podGroupName": "train"}
    names = [f"{kind}-{n}" for n in range(3)]
    for number, name in enumerate(names):
        limits = {"nvidia.com/gpu": str(4 if number else 8)}
        container = {"name": "worker", "image": "none", "resources": {"limits": limits}}
        gated(behind, name, **{**json.loads(json.dumps(more)), "containers": [container]})
    if kind == "native":
        path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/podgroups"
        group = {
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "PodGroup",
            "metadata": {"name": "train"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": 3}}},
        }
        until(lambda: "PodGroup default/train is not known" in told(behind, names[0]), "it waits for its group", 20)
        behind.plane.ask("POST", path, group)
    until(lambda: not any(gate_of(pod) for pod in behind.pods().values()), "all are admitted", 30)
    if kind == "native":
        behind.plane.ask("DELETE", f"{path}/train")
    placed = [json.loads(pod["metadata"]["annotations"][INFO]) for pod in behind.pods().values()]
    assert sorted(len(x["leafCellIsolation"]) for x in placed) == [4, 4, 8]
    assert len({json.dumps(x["affinityGroupBindInfo"]) for x in placed}) == 1


def test_a_stronger_gated_gang_displaces_a_weaker_one(behind: Behind) -> None:
    weak = gated_gang(behind, "weak", "research", -1, 16, 8)
    behind.await_bound(*weak)
    strong = gated_gang(behind, "strong", "product", 1, 16, 8)
    behind.await_bound(*strong)
    behind.settled()


def test_kills_between_two_gates_leave_no_gang_half_admitted(behind: Behind) -> None:
    """Whoever is started again opens the remaining gates, for the places of the first decision."""
    chance = random.Random(KILLS)
    for number in range(KILLS):
        name = f"killed-{number}"
        names = gated_gang(behind, name, "research", 1, 8, chance.choice((1, 2, 4)))
        ends = time.monotonic() + chance.choice((0.0, 0.02, 0.05, 0.1, 0.2))
        while time.monotonic() < ends and all(gate_of(x) for x in behind.pods().values()):
            pass
        behind.allocator.restart()
        until(lambda: not any(map(gate_of, behind.pods().values())), f"{name} is admitted", 60)
        written = [json.loads(behind.pods()[x]["metadata"]["annotations"][INFO]) for x in names]
        assert len({json.dumps(x["affinityGroupBindInfo"]) for x in written}) == 1
        assert len({(x["node"], n) for x in written for n in x["leafCellIsolation"]}) == sum(
            len(x["leafCellIsolation"]) for x in written
        )
        behind.await_bound(*names)
        behind.settled()
        behind.delete(*names, force=True)
